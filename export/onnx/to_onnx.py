"""ONNX: `write` traces, fuses, lowers and quantizes a component. export/parity checks the result.

Networks are traced by torch's TorchScript exporter: on these graphs it gives the same operators as the dynamo
exporter in a twentieth of the time. It exports the graph without weights; they are added afterwards,
quantized one at a time (lower.py). What has calibrated activations is quantized by ONNX Runtime's static
quantizer (static.py). Language models are not traced but written node by node (llm_graph.py).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch

from gamer.runtime.bundle.manifest import Language

from ..components.export_module import ExportModule, Samples, Specs
from ..errors import ExportError
from ..graphs import quantizing
from ..graphs.module import OnnxGraph
from ..quantize.calibration import convolves
from ..quantize.quantization_policy import QuantizationPolicy
from ..recipe import LLM_ROLES, STATIC
from ..target_options import DEFAULT, TargetOptions
from . import llm_graph, preprocess_graph, static
from .fusion import fuse_attention
from .graph import GraphWriter, Scheme
from .lower import QUANTS, Lowering
from .tracing import trace

SUFFIX = ".onnx"


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: Samples,
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """Writes `item` to `path` in `quant` (fp32 | fp16 | int8 | int4 | a8w8 | a16w8).

    Returns the artifact's tensor specs.

    Writes one file, or a directory if the weights are too large for one file. `samples`: inputs that
    calibrate activations. Raises ExportError.
    """
    if item.role in LLM_ROLES:
        return llm_graph.write(
            item.module,
            language,
            Scheme(quant, options.group, options.keep, options.opset, options.given, bool(options.adapters)),
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
        static.write(item, samples, path, options.opset)
        return item.inputs, item.outputs
    if quant in STATIC:
        return static.write_fixed(item, quant, samples, path, options.opset)
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
        trace(item, file, weights=False)
        model = onnx.load(str(file))
    return model, {**dict(item.module.named_parameters()), **dict(item.module.named_buffers())}
