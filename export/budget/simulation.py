"""A matrix as a target will compute with it, in torch: its codes and scales, and its rounding of activations.

No export is needed to know what a quantization costs. The codes come from the functions that the writers use.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gamer.index.records import FloatArray

from ..coreml.to_coreml import PALETTE_CHANNELS
from ..executorch.to_executorch import quantize_linear
from ..onnx.graph import corrected_blocks, sum_columns
from ..onnx.lower import by_row
from ..quantize.block_codes import nearest_blocks, quantize_blocks
from ..quantize.palette import palette
from ..quantize.quantization_policy import split
from ..recipe import LLM_ROLES

Round = Callable[[Tensor], Tensor]


class _Product(nn.Module):
    """x · weightᵀ + bias, with x rounded by `rounds`."""

    def __init__(self, weight: FloatArray, bias: Tensor | None, rounds: Round | None = None) -> None:
        super().__init__()
        self.weight = torch.from_numpy(np.ascontiguousarray(weight, np.float32))
        self.bias, self.rounds = bias, rounds

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x if self.rounds is None else self.rounds(x), self.weight, self.bias)


class _Table(nn.Module):
    def __init__(self, rows: FloatArray) -> None:
        super().__init__()
        self.rows = torch.from_numpy(np.ascontiguousarray(rows, np.float32))

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.rows)


def simulated(
    part: nn.Linear | nn.Embedding, name: str, role: str, target: str, quant: str, group: int
) -> nn.Module:
    """What stands for `part`, called `name`, in `quant` ("int4/64"); `group`: where `quant` names none.

    Raises ExportError for a group size that does not fit.
    """
    kind, size = split(quant, group)
    named = "/" in quant
    matrix = part.weight.detach().numpy()
    if isinstance(part, nn.Embedding):
        return _Table(matrix if kind == "fp32" else _weights(matrix, target, kind, size))
    if target == "executorch" and kind != "fp32":
        linear = copy.deepcopy(part)
        quantize_linear(linear, name, kind, size)
        return linear
    if target == "onnx" and kind in ("int8", "int4"):
        if kind == "int8" and role not in LLM_ROLES and not named:
            return _Product(_weights(matrix, target, kind, size), part.bias, rounded_as_a_whole)
        return _onnx(matrix, part.bias, name, role, kind, size)
    return _Product(matrix if kind == "fp32" else _weights(matrix, target, kind, size), part.bias)


def _onnx(matrix: FloatArray, bias: Tensor | None, name: str, role: str, kind: str, group: int) -> nn.Module:
    if kind == "int4" and role not in LLM_ROLES:
        return _Product(nearest_blocks(matrix, group).dequantize(), bias, _by_blocks(group))
    if kind == "int8":
        codes, scales = quantize_blocks(matrix, group)
        weight = ((codes.astype(np.float32) - 128) * scales[..., None]).reshape(matrix.shape)
        # The head gets what rounding leaves of its activations, too (decoder_graph.head).
        return _Product(weight, bias, None if name == "head" else _by_blocks(group))
    parts = [_plain(part) for part in corrected_blocks(matrix, group)]
    rounds = _by_blocks(group)
    return _Product(
        np.concatenate(parts, axis=1), bias, lambda x: rounds(_with_sums(x, matrix.shape[1], group))
    )


def _plain(blocks: object) -> FloatArray:
    """Blocks without their `rest`, for which the graph has further columns."""
    from ..quantize.block_codes import Blocks4

    assert isinstance(blocks, Blocks4)
    return blocks._replace(rest=np.zeros_like(blocks.rest)).dequantize()


def _with_sums(x: Tensor, width: int, group: int) -> Tensor:
    sums = x.unflatten(-1, (-1, group)).sum(-1)
    sums = F.pad(sums, (0, sum_columns(width, group) - sums.shape[-1]))
    return torch.cat([x, sums, sums], dim=-1)


def _weights(matrix: FloatArray, target: str, kind: str, group: int) -> FloatArray:
    """The values that a target's weights have, [N, K], as Core ML and ONNX round them."""
    if kind == "fp16":
        return matrix.astype(np.float16).astype(np.float32)
    if kind == "int8":
        codes, scales = by_row(matrix)
        return codes * (scales.astype(np.float16) if target == "coreml" else scales)[:, None]
    if kind == "int4":
        blocks = nearest_blocks(matrix, group)
        return blocks._replace(scales=blocks.scales.astype(np.float16).astype(np.float32)).dequantize()
    bits, out = int(kind.removeprefix("pal")), np.empty_like(matrix)
    for at in range(0, len(matrix), PALETTE_CHANNELS):
        rows = matrix[at : at + PALETTE_CHANNELS]
        values, index = palette(rows.astype(np.float16), bits)
        out[at : at + PALETTE_CHANNELS] = values[index].reshape(rows.shape)
    return out


def rounded_as_a_whole(x: Tensor) -> Tensor:
    """ONNX's DynamicQuantizeLinear: one scale and zero point in 8 bits for all of x, zero included."""
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    scale = max((high - low) / 255, 1e-12)
    zero = round(-low / scale)
    return (torch.clamp(torch.round(x / scale) + zero, 0, 255) - zero) * scale


def _by_blocks(group: int) -> Round:
    """MatMulNBits with accuracy level 4: a symmetric 8-bit scale for each `group` activations of a row."""

    def rounds(x: Tensor) -> Tensor:
        blocks = x.unflatten(-1, (-1, group))
        scale = blocks.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
        return (torch.round(blocks / scale) * scale).flatten(-2)

    return rounds
