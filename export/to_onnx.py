"""ONNX: one file per component, weights inside. `write` lowers and quantizes; it proves nothing (see parity.py).

Small networks go through torch's TorchScript exporter: on these graphs it gives the same operators as the dynamo exporter in a twentieth
of the time, without the stale value_info that breaks ONNX Runtime's quantizer. The decoder is written directly (onnx_llm.py).
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
from gamer.runtime.manifest import Language, TensorSpec
from numpy.typing import NDArray

from . import onnx_llm
from .components import ExportModule
from .onnx_graph import Scheme

OPSET = 17
SUFFIX = ".onnx"
# The stem and the first block see raw contrast: in int8 they cost the worst fixture 0.024 of its cosine, in fp32 nothing measurable in time.
FP32_CONVOLUTIONS = 3
Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def write(item: ExportModule, quant: str, language: Language, samples: list[tuple[NDArray[Any], ...]], path: Path) -> Specs:
    """Writes `item` to `path` in `quant` (fp32 | int8). `samples` calibrate static int8. Returns the artifact's tensor specs."""
    if item.role in onnx_llm.ROLES:
        return onnx_llm.write(item.module, language, Scheme(quant), path)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        plain = Path(folder) / "fp32.onnx"
        _trace(item, plain)
        if quant == "int8" and item.role != "llm_embed":
            _quantize(item, samples, plain, path)
        else:
            plain.replace(path)
    return item.inputs, item.outputs


def _trace(item: ExportModule, path: Path) -> None:
    axes = {item.inputs[i].name: names for i, names in item.dynamic.items()}
    axes |= {out.name: {d: n for d, n in enumerate(out.shape) if isinstance(n, str)} for out in item.outputs}
    # Two rows where the batch may vary: a batch of one would be traced as a constant.
    example = tuple(x.repeat(2, *[1] * (x.dim() - 1)) if "batch" in item.dynamic.get(i, {}).values() else x for i, x in enumerate(item.example))
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            item.module,
            example,
            str(path),
            dynamo=False,
            opset_version=OPSET,
            input_names=[t.name for t in item.inputs],
            output_names=[t.name for t in item.outputs],
            dynamic_axes={k: v for k, v in axes.items() if v},
        )


def _first_convolutions(path: Path, count: int) -> list[str]:
    import onnx

    return [node.name for node in onnx.load(str(path), load_external_data=False).graph.node if node.op_type == "Conv"][:count]


def _quantize(item: ExportModule, samples: list[tuple[NDArray[Any], ...]], plain: Path, path: Path) -> None:
    """int8: convolutions statically (per channel, calibrated on `samples`), matrix products dynamically."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.calibrate import CalibrationDataReader
    from onnxruntime.quantization.shape_inference import quant_pre_process

    logging.getLogger().setLevel(logging.ERROR)  # the quantizer recommends its own pre-processing, which is done here
    ready = plain.with_name("ready.onnx")
    quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
    if item.role != "image_tower":
        quantize_dynamic(str(ready), str(path), per_channel=True, weight_type=QuantType.QInt8, op_types_to_quantize=["MatMul", "Gemm", "Gather"])
        return

    class Reader(CalibrationDataReader):
        def __init__(self) -> None:
            self._rows: Iterator[tuple[NDArray[Any], ...]] = iter(samples)

        def get_next(self) -> dict[str, NDArray[np.generic]] | None:
            row = next(self._rows, None)
            return None if row is None else {spec.name: value for spec, value in zip(item.inputs, row, strict=True)}

    quantize_static(
        str(ready),
        str(path),
        Reader(),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["Conv", "Add", "Clip"],
        nodes_to_exclude=_first_convolutions(ready, FP32_CONVOLUTIONS),
        extra_options={"ActivationSymmetric": False, "WeightSymmetric": True},
    )
