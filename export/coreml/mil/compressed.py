"""Compressed constants (`constexpr_*`), decompressed to the tensors that Core ML computes with.

Scales, tables and products are in fp32; the caller rounds to the declared type, as Core ML's decompression
does.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .arguments import Arguments, Function
from .blob import unpack
from .dtypes import DType


def _repeat_blocks(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Repeats each element of `x` over its block, up to `shape`. Axes of size 1 are left to broadcast.

    Raises ValueError if the blocks do not divide `shape`.
    """
    if x.dim() != len(shape) or any(n == 0 or size % n for n, size in zip(x.shape, shape, strict=True)):
        raise ValueError(f"blocks of {list(x.shape)} do not divide {list(shape)}")
    for axis, (n, size) in enumerate(zip(x.shape, shape, strict=True)):
        if n not in (1, size):
            x = x.repeat_interleave(size // n, axis)
    return x


def _shift_scale(data: Tensor, scale: Tensor, offset: Tensor | None) -> Tensor:
    """scale × (data − offset), float32; scale and offset have an element per block."""
    shape, out = tuple(data.shape), data.float()
    if offset is not None:
        out -= _repeat_blocks(offset.float(), shape)
    out *= _repeat_blocks(scale.float(), shape)
    return out


def _blockwise(a: Arguments) -> Tensor:
    return _shift_scale(a.tensor("data"), a.tensor("scale"), a.tensor("offset") if a.has("offset") else None)


def _affine(a: Arguments) -> Tensor:
    """iOS 16's form: scale and zero point are scalars, or vectors along `axis`."""
    data, axis = a.tensor("quantized_data"), a.int_("axis")
    parameters = []
    for name in ("scale", "zero_point"):
        parameter = a.tensor(name)
        parameters.append(
            parameter.reshape([-1 if i == axis % data.dim() else 1 for i in range(data.dim())])
            if parameter.dim()
            else parameter.reshape([1] * data.dim())
        )
    return _shift_scale(data, parameters[0], parameters[1])


def _look_up(indices: Tensor, lut: Tensor, axis: int) -> Tensor:
    """The palette entries that indices [...] select from lut [blocks..., palette, vector].

    The elements of a vector are placed next to each other along `axis`. Raises ValueError for an index that
    the table does not have.
    """
    rank, (palette, vector) = indices.dim(), lut.shape[-2:]
    if lut.dim() != rank + 2 or palette == 0 or (indices.numel() and int(indices.max()) >= palette):
        raise ValueError(f"table {list(lut.shape)} does not fit indices of shape {list(indices.shape)}")
    blocks = torch.arange(math.prod(lut.shape[:-2])).reshape(lut.shape[:-2])
    entry_index = indices.long() + _repeat_blocks(blocks, tuple(indices.shape)) * palette
    entries = lut.reshape(-1, vector)[entry_index]
    if vector == 1:
        return entries.squeeze(-1)
    axis %= rank
    shape = [n * vector if i == axis else n for i, n in enumerate(indices.shape)]
    return entries.movedim(-1, axis + 1).reshape(shape)


def _lut_to_dense(a: Arguments) -> Tensor:
    if not a.has("shape"):
        return _look_up(a.tensor("indices"), a.tensor("lut"), a.int_("vector_axis", 0))
    # iOS 16's form: a single table, and indices packed into bytes.
    lut, shape = a.tensor("lut"), a.expect(a.ints("shape"))
    indices = _unpack_bits(a.tensor("indices"), int(math.log2(max(lut.numel(), 2))), math.prod(shape))
    return lut[indices.long()].reshape(shape)


def _unpack_bits(packed: Tensor, width: int, count: int) -> Tensor:
    if packed.dim() != 1 or packed.numel() != (count * width + 7) // 8:
        raise ValueError(f"{packed.numel()} bytes are not {count} elements of {width} bits")
    return unpack(packed.numpy(), DType(f"UINT{width}", torch.uint8, width, 0, False), count)


def _dense(values: Tensor, mask: Tensor) -> Tensor:
    """A tensor of the mask's shape: `values` in order where the mask is set, zeros elsewhere."""
    positions = mask.reshape(-1).bool()
    if int(positions.sum()) != values.numel():
        raise ValueError(f"{values.numel()} values for a mask of {int(positions.sum())}")
    out = torch.zeros(mask.numel(), dtype=values.dtype)
    out[positions] = values.reshape(-1)
    return out.reshape(mask.shape)


def _sparse_to_dense(a: Arguments) -> Tensor:
    mask = a.tensor("mask")
    if a.has("shape"):
        shape = a.expect(a.ints("shape"))
        mask = _unpack_bits(mask, 1, math.prod(shape)).reshape(shape)
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
