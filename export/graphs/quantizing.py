"""Writes a graph of optimum's as it is, or quantized by ONNX Runtime's own tools."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import Any

from gamer.runtime.telemetry import load_onnxruntime

from .module import OnnxGraph

# Operators with weights; convolutions would need calibrated activations.
_QUANTIZED = ["MatMul", "Gemm", "Gather"]


def write(graph: OnnxGraph, quant: str, group: int, path: Path) -> None:
    """Writes `graph` to `path` in fp32, fp16, int8 or int4; a variant that its directory has, as it is.

    int8: a scale per output channel, activations quantized dynamically. int4: blocks of `group` weights with
    a scale and a zero point each.
    """
    import onnx

    load_onnxruntime()
    logging.getLogger().setLevel(logging.ERROR)  # hides the quantizers' advice
    if quant in graph.variants or quant == "fp32":
        onnx.save(graph.variants.get(quant, graph.model), str(path))
    elif quant == "fp16":
        onnx.save(_in_half(graph.model), str(path))
    elif quant == "int4":
        onnx.save(_in_blocks(graph.model, group), str(path))
    else:
        _in_bytes(graph.model, path)


def _in_half(model: Any) -> Any:
    from onnxruntime.transformers.float16 import convert_float_to_float16

    return convert_float_to_float16(_copy(model), keep_io_types=True)


def _in_blocks(model: Any, group: int) -> Any:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    quantizer = MatMulNBitsQuantizer(_copy(model), block_size=group, is_symmetric=False, accuracy_level=4)
    quantizer.process()
    return quantizer.model.model


def _in_bytes(model: Any, path: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        plain = Path(folder) / "fp32.onnx"
        onnx.save(model, str(plain))
        quantize_dynamic(
            plain,
            path,
            op_types_to_quantize=_QUANTIZED,
            per_channel=True,
            weight_type=QuantType.QInt8,
            extra_options={"MatMulConstBOnly": True},
        )


def _copy(model: Any) -> Any:
    copy = type(model)()
    copy.CopyFrom(model)
    return copy
