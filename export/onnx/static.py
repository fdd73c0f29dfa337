"""Activations with calibrated scales, by ONNX Runtime's static quantizer: the QDQ form, in which each value
passes through a QuantizeLinear and a DequantizeLinear.

`write`: int8 convolutions for the CPU, between which the rest stays in fp32. `write_fixed`: whole graphs for
NPUs, by the library's own settings for Qualcomm's: fixed shapes, a batch of one, nothing fused.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..components.export_module import ExportModule, Samples, Specs
from ..networks.encoder import MASKED
from ..quantize.calibration import in_fp32
from .graph import set_opset
from .tracing import trace

# What MASKED becomes: the grid of the scores reaches that far, and a softmax gives zero there as well.
_FAR = -128.0


def write(item: ExportModule, samples: Samples, path: Path, opset: int) -> None:
    """Writes int8 convolutions with a scale per channel, activations calibrated on `samples`."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        ready, quantized = _ready(item, Path(folder)), Path(folder) / "int8.onnx"
        quantize_static(
            str(ready),
            str(quantized),
            _reader(item, samples),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Add", "Clip"],
            nodes_to_exclude=_fp32_nodes(ready),
            extra_options={"ActivationSymmetric": False, "WeightSymmetric": True},
        )
        _save(quantized, path, opset)


def write_fixed(item: ExportModule, quant: str, samples: Samples, path: Path, opset: int) -> Specs:
    """Writes the whole graph with weights in 8 bits and activations in 8 or 16 (a8w8 | a16w8).

    Weights of convolutions have a scale per channel, other weights one, which is what Qualcomm's provider
    takes. Returns the tensor specs, whose shapes are those of the example.
    """
    from onnxruntime.quantization import QuantType, quantize
    from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config

    inputs, outputs = item.fixed_specs()
    item = replace(item, dynamic={}, inputs=inputs, outputs=outputs)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        ready, quantized = _ready(item, Path(folder)), Path(folder) / "qdq.onnx"
        _bring_masks_near(ready)
        config = get_qnn_qdq_config(
            str(ready),
            _reader(item, samples),
            activation_type=QuantType.QUInt8 if quant == "a8w8" else QuantType.QUInt16,
            weight_type=QuantType.QInt8,
            per_channel=True,
        )
        quantize(str(ready), str(quantized), config)
        _save(quantized, path, opset)
    return inputs, outputs


def _ready(item: ExportModule, folder: Path) -> Path:
    """The traced graph after the quantizer's pre-processing."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    # Hides the quantizer's advice to run its pre-processing, which is done here.
    logging.getLogger().setLevel(logging.ERROR)
    plain, ready = folder / "fp32.onnx", folder / "ready.onnx"
    trace(item, plain, weights=True)
    quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
    return ready


def _reader(item: ExportModule, samples: Samples) -> Any:
    from onnxruntime.quantization.calibrate import CalibrationDataReader

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

    return Reader()


def _bring_masks_near(path: Path) -> None:
    """Replaces MASKED in the graph's constants: with it, one step of a score's grid would be 0.15."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(str(path))
    attributes = (a for node in model.graph.node if node.op_type == "Constant" for a in node.attribute)
    for tensor in (*model.graph.initializer, *(a.t for a in attributes if a.name == "value")):
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and (values <= MASKED).any():
            near = np.where(values <= MASKED, np.float32(_FAR), values)
            tensor.CopyFrom(numpy_helper.from_array(near, tensor.name))
    onnx.save(model, str(path))


def _save(quantized: Path, path: Path, opset: int) -> None:
    import onnx

    model = onnx.load(str(quantized))
    set_opset(model, opset)
    onnx.save(model, str(path))


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
