"""ONNX: `write` traces, fuses, lowers and quantizes a component. export/parity checks the result.

Networks are traced by torch's TorchScript exporter: on these graphs it gives the same operators as the dynamo
exporter in a twentieth of the time. It exports the graph without weights; they are added afterwards,
quantized one at a time (lower.py). int8 convolutions are quantized by ONNX Runtime's static quantizer,
calibrated on photographs. Language models are not traced but written node by node (llm_graph.py).
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gamer.runtime.bundle.manifest import Language

from ..components.export_module import ExportModule, Samples, Specs
from ..errors import ExportError
from ..graphs import quantizing
from ..graphs.module import OnnxGraph
from ..quantize.calibration import convolves, in_fp32
from ..quantize.quantization_policy import QuantizationPolicy
from ..recipe import LLM_ROLES
from ..target_options import DEFAULT, TargetOptions
from . import llm_graph, preprocess_graph
from .fusion import fuse_attention
from .graph import OPSET, GraphWriter, Scheme, set_opset
from .lower import QUANTS, Lowering

SUFFIX = ".onnx"


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: Samples,
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """Writes `item` to `path` in `quant` (fp32 | fp16 | int8 | int4) and returns the artifact's tensor specs.

    Writes one file, or a directory if the weights are too large for one file. `samples`: inputs that
    calibrate int8 convolutions. Raises ExportError.
    """
    if item.role in LLM_ROLES:
        return llm_graph.write(
            item.module,
            language,
            Scheme(quant, options.group, options.keep, options.opset, options.given, options.adapters),
            path,
        )
    if isinstance(item.module, OnnxGraph):
        quantizing.write(item.module, quant, options.group, path)
        return item.inputs, item.outputs
    resize = options.resize if item.role == "image_tower" else None
    # Convolutions cannot be calibrated without samples: a text tower's few stay in fp32.
    if quant == "int8" and samples and convolves(item.module):
        if resize is not None:
            raise ExportError(
                "int8 convolutions take prepared pixels only: leave out --image-input any, or choose "
                "another --quant"
            )
        _static(item, samples, path, options.opset)
        return item.inputs, item.outputs
    # The token table is already quantized in its module.
    policy = QuantizationPolicy(
        "ONNX", QUANTS, "fp32" if item.role == "llm_embed" else quant, options.keep, options.group
    )
    model, tensors = _traced(item, path)
    fuse_attention(model)
    inputs, outputs = (item.inputs, item.outputs) if resize is None else preprocess_graph.specs(item.outputs)
    with GraphWriter(Scheme("fp32", opset=options.opset), path) as graph:
        if resize is not None:
            preprocess_graph.write(graph, resize, item.inputs[0].name)
        Lowering(graph, tensors, policy).run(
            model, [t.name for t in item.inputs], [t.name for t in item.outputs]
        )
        graph.save(inputs, outputs)
    return inputs, outputs


def _traced(item: ExportModule, path: Path) -> tuple[Any, dict[str, torch.Tensor]]:
    """The traced graph, which takes its weights as further inputs, and these weights by name."""
    import onnx

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        file = Path(folder) / "graph.onnx"
        _trace(item, file, weights=False)
        model = onnx.load(str(file))
    return model, {**dict(item.module.named_parameters()), **dict(item.module.named_buffers())}


def _trace(item: ExportModule, path: Path, weights: bool) -> None:
    axes = {item.inputs[i].name: names for i, names in item.dynamic.items()}
    axes |= {out.name: {d: n for d, n in enumerate(out.shape) if isinstance(n, str)} for out in item.outputs}
    # Where the batch is dynamic, the example has two rows: a batch of one would be traced as a constant.
    example = tuple(
        x.repeat(2, *[1] * (x.dim() - 1)) if "batch" in item.dynamic.get(i, {}).values() else x
        for i, x in enumerate(item.example)
    )
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            item.module,
            example,
            str(path),
            dynamo=False,
            opset_version=OPSET,
            export_params=weights,
            do_constant_folding=weights,
            input_names=[t.name for t in item.inputs],
            output_names=[t.name for t in item.outputs],
            dynamic_axes={k: v for k, v in axes.items() if v},
        )


def _fp32_nodes(path: Path) -> list[str]:
    """Names of the nodes that stay in fp32.

    These are the first convolutions and, in a network with GELU, whose values are unbounded, additions and
    depthwise convolutions, so that the residual stream stays in fp32 (FastViT with random weights and norms
    fitted to photographs: worst cosine 0.999 instead of 0.964, in half the time).
    """
    import onnx

    nodes = onnx.load(str(path), load_external_data=False).graph.node
    convolutions = [node.name for node in nodes if node.op_type == "Conv"]
    first = convolutions[: in_fp32(len(convolutions))]
    if all(node.op_type != "Gelu" for node in nodes):
        return first
    return first + [
        node.name
        for node in nodes
        if node.op_type == "Add" or any(a.name == "group" and a.i > 1 for a in node.attribute)
    ]


def _static(item: ExportModule, samples: Samples, path: Path, opset: int) -> None:
    """Writes int8 convolutions with a scale per channel, activations calibrated on `samples`."""
    import onnx
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.calibrate import CalibrationDataReader
    from onnxruntime.quantization.shape_inference import quant_pre_process

    # Hides the quantizer's advice to run its pre-processing, which is done here.
    logging.getLogger().setLevel(logging.ERROR)

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self._rows: Iterator[tuple[NDArray[Any], ...]] = iter(samples)

        def get_next(self) -> dict[str, NDArray[np.generic]] | None:
            row = next(self._rows, None)
            return (
                None
                if row is None
                else {spec.name: value for spec, value in zip(item.inputs, row, strict=True)}
            )

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        plain, preprocessed, quantized = (Path(folder) / f"{name}.onnx" for name in ("fp32", "ready", "int8"))
        _trace(item, plain, weights=True)
        quant_pre_process(str(plain), str(preprocessed), skip_symbolic_shape=True)
        quantize_static(
            str(preprocessed),
            str(quantized),
            Reader(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Add", "Clip"],
            nodes_to_exclude=_fp32_nodes(preprocessed),
            extra_options={"ActivationSymmetric": False, "WeightSymmetric": True},
        )
        model = onnx.load(str(quantized))
        set_opset(model, opset)
        onnx.save(model, str(path))
