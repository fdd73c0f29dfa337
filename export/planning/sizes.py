"""Predicts the bytes of an artifact from its network's names and shapes, by the rules of each target.

The rules repeat what onnx/, executorch/ and coreml/ write; the graph around the weights is an estimate.
tests/export/planning/test_plan.py compares the result with the files of real exports.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from ..recipe import LLM_ROLES, STATIC
from ..settings import Settings

# Bytes of the nodes around each matrix and convolution.
NODES = {"onnx": 3_600, "executorch": 2_000, "coreml": 5_000}
# Tables of a sentence encoder that are not looked up in, so that they stay as they are in ONNX.
SLICED = ("positions", "types")
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
    weights = sum(of_tensors(settings, role, target, quant, network).values())
    if target == "onnx" and role in LLM_ROLES:
        weights += _sums(_scheme(settings, role, quant), tensors)
    return int(weights + NODES[target] * sum(t.kind not in ("other", "buffer") for t in tensors))


def of_tensors(
    settings: Settings, role: str, target: str, quant: str, network: nn.Module
) -> dict[str, float]:
    """Bytes of each tensor by its name, without what the graph needs around them. Raises ExportError."""
    tensors = tuple(_tensors(network))
    if isinstance(network, Embedding):
        sizes = [_embedding(tensors[0], target, quant)]
    elif target == "onnx":
        sizes = _onnx(settings, role, quant, network, tensors)
    elif target == "executorch" and settings.executorch_backend != "coreml":
        sizes = _executorch(settings, role, quant, network, tensors)
    else:
        sizes = _coreml(settings, role, target, quant, tensors)
    return dict(zip((t.name for t in tensors), sizes, strict=True))


def _tensors(network: nn.Module) -> Iterator[_Tensor]:
    kinds: dict[str, str] = {}
    for path, module in network.named_modules():
        if path in SLICED:
            continue
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
) -> list[float]:
    if role in LLM_ROLES:
        scheme = _scheme(settings, role, quant)
        return [_onnx_llm(t, scheme) for t in tensors]
    if quant == "int8" and convolves(network) and role == "image_tower":
        return [t.numbers * (1 if t.kind in _calibrated(network) else 4) for t in tensors]
    if quant in STATIC:
        return [t.numbers * _static(t, quant) for t in tensors]
    keep = settings.overrides_of(role, "onnx")
    policy = QuantizationPolicy("ONNX", lower.QUANTS, quant, keep, settings.group_size)
    return [_onnx_traced(t, policy) for t in tensors]


def _static(tensor: _Tensor, quant: str) -> int:
    """Bytes of a number: a table is looked up as activations are, biases have 32 bits."""
    if tensor.kind in ("matrix", "convolution", "grouped"):
        return 1
    return {"a8w8": 1, "a16w8": 2}[quant] if tensor.kind == "table" else 4


def _scheme(settings: Settings, role: str, quant: str) -> Scheme:
    return Scheme(quant, settings.group_size, settings.overrides_of(role, "onnx"), settings.opset)


def _sums(scheme: Scheme, tensors: tuple[_Tensor, ...]) -> int:
    """What places the block sums that int4 adds (onnx/graph.py): once for each width and size of blocks."""
    widths = {
        (t.shape[1], scheme.group_of(name))
        for t in tensors
        for name in [t.name.removesuffix(".weight")]
        if t.kind == "matrix" and scheme.of(name) == "int4"
    }
    return sum(width // group * 2 * sum_columns(width, group) * 4 for width, group in widths)


def _calibrated(network: nn.Module) -> tuple[str, ...]:
    """What static int8 quantizes: in a network with GELU, grouped convolutions stay in fp32."""
    return ("convolution", "grouped") if isinstance(network, ConseTower) else ("convolution",)


def _onnx_llm(tensor: _Tensor, scheme: Scheme) -> float:
    if tensor.kind != "matrix":  # buffers are part of the fused operators
        return tensor.numbers * 4 if tensor.kind == "other" else 0
    rows, columns = tensor.shape
    name = tensor.name.removesuffix(".weight")
    quant, group = scheme.of(name), scheme.group_of(name)
    if quant in ("fp32", "fp16"):
        return tensor.numbers * _plain(quant)
    if quant == "int8":
        return tensor.numbers + rows * columns / group * 4
    columns += 2 * sum_columns(columns, group)
    return rows * columns / 2 + rows * columns / group * 4.5


def _onnx_traced(tensor: _Tensor, policy: QuantizationPolicy) -> float:
    if tensor.kind not in ("matrix", "table"):
        return tensor.numbers * _plain(policy.quant)
    chosen = policy.of(tensor.name)
    if chosen in ("fp32", "fp16"):
        return tensor.numbers * _plain(chosen)
    if chosen == "int8" or tensor.kind == "table":
        scales = tensor.numbers / size if (size := policy.size_of(tensor.name)) else tensor.shape[0]
        return tensor.numbers + scales * 4
    return tensor.numbers / 2 + tensor.numbers / policy.group_of(tensor.name) * 4.5


def _executorch(
    settings: Settings, role: str, quant: str, network: nn.Module, tensors: tuple[_Tensor, ...]
) -> list[float]:
    if quant in ("fp32", "fp16"):
        return [t.numbers * _plain(quant) for t in tensors]
    if convolves(network) and role == "image_tower":
        # PT2E quantizes the matrices of such a network too.
        small = {*_calibrated(network), *(("matrix",) if isinstance(network, ConseTower) else ())}
        return [t.numbers * (1 if t.kind in small else 4) for t in tensors]
    backend = settings.executorch_backend
    head = ("head", "int8" if backend == "xnnpack" else "fp32")
    asked = settings.overrides_of(role, "executorch")
    keep = (*asked, head) if role in LLM_ROLES else asked
    has = (*to_executorch.QUANTS[backend], "int8")
    policy = QuantizationPolicy("ExecuTorch", has, quant, keep, settings.group_size)
    return [_executorch_one(t, policy) for t in tensors]


def _executorch_one(tensor: _Tensor, policy: QuantizationPolicy) -> float:
    chosen = policy.of(tensor.name) if tensor.kind == "matrix" else "fp32"
    if chosen == "8da4w":
        return tensor.numbers / 2 + tensor.numbers / policy.group_of(tensor.name) * 2
    return tensor.numbers + tensor.shape[0] * 4 if chosen == "int8" else tensor.numbers * 4


def _coreml(
    settings: Settings, role: str, target: str, quant: str, tensors: tuple[_Tensor, ...]
) -> list[float]:
    keep, group = settings.overrides_of(role, target), settings.group_size
    policy = QuantizationPolicy("Core ML", to_coreml.QUANTS, quant, keep, group)
    return [_coreml_one(t, policy) for t in tensors]


def _coreml_one(tensor: _Tensor, policy: QuantizationPolicy) -> float:
    numbers, chosen, quant = tensor.numbers, policy.of(tensor.name), policy.quant
    if chosen == "int4" and tensor.kind == "table":
        chosen = "int8"
    if numbers <= UNCOMPRESSED or chosen in ("fp32", "fp16"):
        return numbers * _plain(quant if quant == "fp32" else "fp16")  # what it computes in
    if chosen in ("int8", *STATIC):
        return numbers + tensor.shape[0] * 2
    if chosen == "int4":
        return numbers / 2 + numbers / policy.group_of(tensor.name) * 2.5
    bits = 6 if chosen == "pal6" else 4
    palettes = -(-tensor.shape[0] // to_coreml.PALETTE_CHANNELS)
    return numbers * bits / 8 + palettes * (1 << bits) * 2
