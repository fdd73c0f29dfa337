"""Compressed constants (`constexpr_*`): from the stored bytes to the tensor that Core ML computes with.

Scales, tables and products are computed in fp32; the caller rounds to the declared type, as Core ML's own
decompression does.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .arguments import Arguments, Function
from .blob import unpack
from .dtypes import DType


def _spread(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`x` with each element repeated over its block, so that it has `shape`; axes that have one element are
    left to broadcast.
    """
    if x.dim() != len(shape) or any(n == 0 or whole % n for n, whole in zip(x.shape, shape, strict=True)):
        raise ValueError(f"blocks of {list(x.shape)} do not divide {list(shape)}")
    for axis, (n, whole) in enumerate(zip(x.shape, shape, strict=True)):
        if n not in (1, whole):
            x = x.repeat_interleave(whole // n, axis)
    return x


def _shift_scale(data: Tensor, scale: Tensor, offset: Tensor | None) -> Tensor:
    """scale × (data − offset), by blocks."""
    shape, out = tuple(data.shape), data.float()
    if offset is not None:
        out -= _spread(offset.float(), shape)
    out *= _spread(scale.float(), shape)
    return out


def _blockwise(a: Arguments) -> Tensor:
    return _shift_scale(a.tensor("data"), a.tensor("scale"), a.tensor("offset") if a.has("offset") else None)


def _affine(a: Arguments) -> Tensor:
    """iOS 16: scale and zero point are scalars, or vectors along `axis`."""
    data, axis = a.tensor("quantized_data"), a.int_("axis")
    sides = []
    for name in ("scale", "zero_point"):
        side = a.tensor(name)
        sides.append(
            side.reshape([-1 if i == axis % data.dim() else 1 for i in range(data.dim())])
            if side.dim()
            else side.reshape([1] * data.dim())
        )
    return _shift_scale(data, sides[0], sides[1])


def _look_up(indices: Tensor, lut: Tensor, axis: int) -> Tensor:
    """indices [...], lut [blocks..., palette, vector] → values; a vector's elements lie side by side along
    `axis`.
    """
    rank, (palette, vector) = indices.dim(), lut.shape[-2:]
    if lut.dim() != rank + 2 or palette == 0 or (indices.numel() and int(indices.max()) >= palette):
        raise ValueError(f"table {list(lut.shape)} does not fit indices of shape {list(indices.shape)}")
    blocks = torch.arange(math.prod(lut.shape[:-2])).reshape(lut.shape[:-2])
    at = indices.long() + _spread(blocks, tuple(indices.shape)) * palette
    found = lut.reshape(-1, vector)[at]
    if vector == 1:
        return found.squeeze(-1)
    axis %= rank
    shape = [n * vector if i == axis else n for i, n in enumerate(indices.shape)]
    return found.movedim(-1, axis + 1).reshape(shape)


def _lut_to_dense(a: Arguments) -> Tensor:
    if not a.has("shape"):
        return _look_up(a.tensor("indices"), a.tensor("lut"), a.int_("vector_axis", 0))
    # iOS 16: one table, indices packed into bytes
    lut, shape = a.tensor("lut"), a.expect(a.ints("shape"))
    indices = _bits(a.tensor("indices"), int(math.log2(max(lut.numel(), 2))), math.prod(shape))
    return lut[indices.long()].reshape(shape)


def _bits(packed: Tensor, width: int, count: int) -> Tensor:
    if packed.dim() != 1 or packed.numel() != (count * width + 7) // 8:
        raise ValueError(f"{packed.numel()} bytes are not {count} elements of {width} bits")
    return unpack(packed.numpy(), DType(f"UINT{width}", torch.uint8, width, 0, False), count)


def _dense(values: Tensor, mask: Tensor) -> Tensor:
    """`values` in the places where `mask` is set, zeros elsewhere."""
    places = mask.reshape(-1).bool()
    if int(places.sum()) != values.numel():
        raise ValueError(f"{values.numel()} values for a mask of {int(places.sum())}")
    out = torch.zeros(mask.numel(), dtype=values.dtype)
    out[places] = values.reshape(-1)
    return out.reshape(mask.shape)


def _sparse_to_dense(a: Arguments) -> Tensor:
    mask = a.tensor("mask")
    if a.has("shape"):
        shape = a.expect(a.ints("shape"))
        mask = _bits(mask, 1, math.prod(shape)).reshape(shape)
    return _dense(a.tensor("nonzero_data"), mask)


def _lut_to_sparse(a: Arguments) -> tuple[Tensor, ...]:
    mask, lut = a.tensor("indices_mask"), a.tensor("lut")
    axis = a.int_("vector_axis", 0) % mask.dim()
    dense = _look_up(_dense(a.tensor("indices_nonzero_data"), mask), lut, axis)
    wide = mask.repeat_interleave(int(lut.shape[-1]), axis)
    return wide, dense[wide.bool()]


def _sparse_shift_scale(a: Arguments) -> tuple[Tensor, ...]:
    mask = a.tensor("data_mask")
    dense = _dense(a.tensor("nonzero_data"), mask)
    return mask, _shift_scale(dense, a.tensor("scale"), a.tensor("offset") if a.has("offset") else None)[
        mask.bool()
    ]


OPS: dict[str, tuple[Function, str]] = {
    "constexpr_affine_dequantize": (_affine, "quantized_data zero_point scale axis"),
    "constexpr_blockwise_shift_scale": (_blockwise, "data scale offset"),
    "constexpr_lut_to_dense": (_lut_to_dense, "indices lut vector_axis shape"),
    "constexpr_sparse_to_dense": (_sparse_to_dense, "nonzero_data mask shape"),
    "constexpr_lut_to_sparse": (_lut_to_sparse, "indices_mask indices_nonzero_data lut vector_axis"),
    "constexpr_sparse_blockwise_shift_scale": (_sparse_shift_scale, "data_mask nonzero_data scale offset"),
    "constexpr_cast": (lambda a: a.tensor("source_val").float(), "source_val output_dtype"),
}
