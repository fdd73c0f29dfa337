"""Predicts the bytes of an artifact from its network's names and shapes, by the rules of each target.

The rules repeat what onnx/, executorch/ and coreml/ write; the graph around the weights is an estimate.
tests/export/planning/test_plan.py compares the result with the files of real exports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import nn

from ..coreml import to_coreml
from ..executorch import to_executorch
from ..networks.decoder import Embedding
from ..networks.efficientnet_lite import ConseTower
from ..onnx import lower
from ..onnx.graph import Scheme, sum_columns
from ..quantize.calibration import convolves
from ..quantize.quantization_policy import QuantizationPolicy
from ..recipe import LLM_ROLES
from ..settings import Settings

Of = Callable[[str], str]  # a tensor's name → its quantization
# Bytes of the nodes around each matrix and convolution.
NODES = {"onnx": 3_600, "executorch": 2_000, "coreml": 5_000}
UNCOMPRESSED = 2048  # numbers of a tensor up to which Core ML does not quantize it


@dataclass(frozen=True)
class _Tensor:
    """`kind`: matrix, table, convolution, grouped (convolution), buffer, or other parameters."""

    name: str
    shape: tuple[int, ...]
    kind: str

    @property
    def numbers(self) -> int:
        count = 1
        for length in self.shape:
            count *= length
        return count


def predict(settings: Settings, role: str, target: str, quant: str, network: nn.Module) -> int:
    """Bytes of the artifact of `role`. Raises ExportError for a --keep that the target does not have."""
    tensors = tuple(_tensors(network))
    if isinstance(network, Embedding):
        weights = _embedding(tensors[0], target, quant)
    elif target == "onnx":
        weights = _onnx(settings, role, quant, network, tensors)
    elif target == "executorch" and settings.executorch_backend != "coreml":
        weights = _executorch(settings, role, quant, network, tensors)
    else:
        weights = _coreml(settings, quant, tensors)
    return int(weights + NODES[target] * sum(t.kind not in ("other", "buffer") for t in tensors))


def _tensors(network: nn.Module) -> Iterator[_Tensor]:
    kinds: dict[str, str] = {}
    for path, module in network.named_modules():
        if isinstance(module, nn.Conv2d):
            kinds[f"{path}.weight"] = "convolution" if module.groups == 1 else "grouped"
        elif isinstance(module, (nn.Linear, nn.Embedding)):
            kinds[f"{path}.weight"] = "matrix" if isinstance(module, nn.Linear) else "table"
    for name, parameter in network.named_parameters():
        yield _Tensor(name, tuple(parameter.shape), kinds.get(name, "other"))
    for name, buffer in network.named_buffers():
        yield _Tensor(name, tuple(buffer.shape), "buffer")


def _embedding(rows: _Tensor, target: str, quant: str) -> float:
    """A token table, whose int8 has a scale for each row."""
    if quant in ("fp32", "fp16"):
        return rows.numbers * _plain(quant)
    return rows.numbers + rows.shape[0] * (2 if target == "coreml" else 4)


def _plain(quant: str) -> int:
    return 2 if quant == "fp16" else 4


def _onnx(
    settings: Settings, role: str, quant: str, network: nn.Module, tensors: tuple[_Tensor, ...]
) -> float:
    group, keep = settings.group_size, settings.overrides
    if role in LLM_ROLES:
        scheme = Scheme(quant, group, keep, settings.opset)
        # The columns of block sums that int4 adds (onnx/graph.py): once for each width of matrices.
        widths = {
            t.shape[1]
            for t in tensors
            if t.kind == "matrix" and scheme.of(t.name.removesuffix(".weight")) == "int4"
        }
        sums = sum(width * 2 * sum_columns(width, group) * 4 for width in widths)
        return sums + sum(_onnx_llm(t, scheme, group) for t in tensors)
    if quant == "int8" and convolves(network) and role == "image_tower":
        return sum(t.numbers * (1 if t.kind in _calibrated(network) else 4) for t in tensors)
    of = QuantizationPolicy("ONNX", lower.QUANTS, quant, keep, group).of
    return sum(_onnx_traced(t, of, quant, group) for t in tensors)


def _calibrated(network: nn.Module) -> tuple[str, ...]:
    """What static int8 quantizes: in a network with GELU, grouped convolutions stay in fp32."""
    return ("convolution", "grouped") if isinstance(network, ConseTower) else ("convolution",)


def _onnx_llm(tensor: _Tensor, scheme: Scheme, group: int) -> float:
    if tensor.kind != "matrix":  # buffers are part of the fused operators
        return tensor.numbers * 4 if tensor.kind == "other" else 0
    rows, columns = tensor.shape
    quant = scheme.of(tensor.name.removesuffix(".weight"))
    if quant in ("fp32", "fp16"):
        return tensor.numbers * _plain(quant)
    if quant == "int8":
        return tensor.numbers + rows * columns / group * 4
    columns += 2 * sum_columns(columns, group)
    return rows * columns / 2 + rows * columns / group * 4.5


def _onnx_traced(tensor: _Tensor, of: Of, quant: str, group: int) -> float:
    if tensor.kind not in ("matrix", "table"):
        return tensor.numbers * _plain(quant)
    chosen = of(tensor.name)
    if chosen in ("fp32", "fp16"):
        return tensor.numbers * _plain(chosen)
    if chosen == "int8" or tensor.kind == "table":
        return tensor.numbers + tensor.shape[0] * 4
    return tensor.numbers / 2 + tensor.numbers / group * 4.5


def _executorch(
    settings: Settings, role: str, quant: str, network: nn.Module, tensors: tuple[_Tensor, ...]
) -> float:
    if quant in ("fp32", "fp16"):
        return sum(t.numbers * _plain(quant) for t in tensors)
    if convolves(network) and role == "image_tower":
        # PT2E quantizes the matrices of such a network too.
        small = {*_calibrated(network), *(("matrix",) if isinstance(network, ConseTower) else ())}
        return sum(t.numbers * (1 if t.kind in small else 4) for t in tensors)
    backend = settings.executorch_backend
    head = ("head", "int8" if backend == "xnnpack" else "fp32")
    keep = (*settings.overrides, head) if role in LLM_ROLES else settings.overrides
    has = (*to_executorch.QUANTS[backend], "int8")
    of = QuantizationPolicy("ExecuTorch", has, quant, keep, settings.group_size).of
    return sum(_executorch_one(t, of, settings.group_size) for t in tensors)


def _executorch_one(tensor: _Tensor, of: Of, group: int) -> float:
    chosen = of(tensor.name) if tensor.kind == "matrix" else "fp32"
    if chosen == "8da4w":
        return tensor.numbers / 2 + tensor.numbers / group * 2
    return tensor.numbers + tensor.shape[0] * 4 if chosen == "int8" else tensor.numbers * 4


def _coreml(settings: Settings, quant: str, tensors: tuple[_Tensor, ...]) -> float:
    group = settings.group_size
    of = QuantizationPolicy("Core ML", to_coreml.QUANTS, quant, settings.overrides, group).of
    return sum(_coreml_one(t, of, quant, group) for t in tensors)


def _coreml_one(tensor: _Tensor, of: Of, quant: str, group: int) -> float:
    numbers, chosen = tensor.numbers, of(tensor.name)
    if chosen == "int4" and tensor.kind == "table":
        chosen = "int8"
    if numbers <= UNCOMPRESSED or chosen in ("fp32", "fp16"):
        return numbers * _plain(quant if quant == "fp32" else "fp16")  # what it computes in
    if chosen == "int8":
        return numbers + tensor.shape[0] * 2
    if chosen == "int4":
        return numbers / 2 + numbers / group * 2.5
    bits = 6 if chosen == "pal6" else 4
    palettes = -(-tensor.shape[0] // to_coreml.PALETTE_CHANNELS)
    return numbers * bits / 8 + palettes * (1 << bits) * 2
