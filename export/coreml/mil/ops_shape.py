"""Operations without arithmetic: reshape, transpose, slices, concatenation, padding, fill, bands, one-hot."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from .arguments import Arguments, Function, axis_of, rows, same_kind

PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


def _reshape(a: Arguments) -> Tensor:
    """A 0 in `shape` means the size of x's axis, counted from the last axis; 1 if x has no such axis."""
    x, target = a.tensor("x"), a.ints("shape")
    extra = x.dim() - len(target)
    return x.reshape([n or (x.shape[i + extra] if i + extra >= 0 else 1) for i, n in enumerate(target)])


def _transpose(a: Arguments) -> Tensor:
    return a.tensor("x").permute(a.ints("perm"))


def _expand_dims(a: Arguments) -> Tensor:
    x, axes = a.tensor("x"), a.ints("axes")
    for axis in sorted(axis_of(axis, x.dim() + len(axes)) for axis in axes):
        x = x.unsqueeze(axis)
    return x


def _squeeze(a: Arguments) -> Tensor:
    x = a.tensor("x")
    axes = {axis_of(axis, x.dim()) for axis in a.ints("axes", [i for i, n in enumerate(x.shape) if n == 1])}
    if any(x.shape[axis] != 1 for axis in axes):
        raise ValueError(f"axes {sorted(axes)} of shape {list(x.shape)} are not all 1")
    return x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _flatten2d(a: Arguments) -> Tensor:
    x = a.tensor("x")
    axis = a.int_("axis", 1)
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


def _concat(a: Arguments) -> Tensor:
    if a.flag("interleave", False):
        raise ValueError("interleave is not known")
    parts = a.tensors("values")
    for part in parts[1:]:
        same_kind(parts[0], part)
    return torch.cat(parts, a.int_("axis"))


def _stack(a: Arguments) -> Tensor:
    return torch.stack(a.tensors("values"), a.int_("axis"))


def _split(a: Arguments) -> tuple[Tensor, ...]:
    x = a.tensor("x")
    axis = axis_of(a.int_("axis"), x.dim())
    count = a.int_("num_splits", len(a.outputs))
    sizes = a.ints("split_sizes", [x.shape[axis] // max(count, 1)] * min(count, x.shape[axis]))
    return tuple(torch.split(x, sizes, axis))


def _slice_ranges(x: Tensor, a: Arguments) -> tuple[list[range], list[bool]]:
    """The indices that a slice selects along each axis, and whether it drops the axis (squeeze_mask)."""
    rank = x.dim()
    begin, end, stride = a.ints("begin"), a.ints("end"), a.ints("stride", [1] * rank)
    open_begin, open_end = a.flags("begin_mask", [False] * rank), a.flags("end_mask", [False] * rank)
    dropped = a.flags("squeeze_mask", [False] * rank)
    if any(len(p) != rank for p in (begin, end, stride, open_begin, open_end, dropped)):
        raise ValueError(f"slice parameters do not all have {rank} elements")
    ranges = []
    for i, size in enumerate(x.shape):
        if dropped[i]:
            first = 0 if open_begin[i] else begin[i]
            ranges.append(range(axis_of(first, size), axis_of(first, size) + 1))
        else:
            piece = slice(None if open_begin[i] else begin[i], None if open_end[i] else end[i], stride[i])
            ranges.append(range(*piece.indices(size)))
    return ranges, dropped


def _select(x: Tensor, ranges: list[range]) -> Tensor:
    """The elements at these indices: a view if all strides are positive, as torch requires, else a copy."""
    if all(r.step > 0 for r in ranges):
        return x[tuple(slice(r.start, r.stop, r.step) for r in ranges)]
    for axis, r in enumerate(ranges):
        x = x.index_select(axis, torch.tensor(list(r), dtype=torch.long))
    return x


def _slice_by_index(a: Arguments) -> Tensor:
    x = a.tensor("x")
    ranges, dropped = _slice_ranges(x, a)
    return _select(x, ranges).reshape([len(r) for r, drop in zip(ranges, dropped, strict=True) if not drop])


def _slice_by_size(a: Arguments) -> Tensor:
    """A size of -1 means up to the end of the axis."""
    x, begin, size = a.tensor("x"), a.ints("begin"), a.ints("size")
    if len(begin) != x.dim() or len(size) != x.dim():
        raise ValueError(f"begin and size do not have {x.dim()} elements")
    slices = []
    for length, first, n in zip(x.shape, begin, size, strict=True):
        first = axis_of(first, length) if length else 0
        last = length if n == -1 else first + n
        if not first <= last <= length:
            raise ValueError(f"{n} elements from {first} of {length}")
        slices.append(slice(first, last))
    return x[tuple(slices)]


def _slice_update(a: Arguments) -> Tensor:
    x, update = a.tensor("x").clone(), a.tensor("update")
    same_kind(x, update)
    ranges, _ = _slice_ranges(x, a)
    x[np.ix_(*[list(r) for r in ranges])] = update.reshape([len(r) for r in ranges])
    return x


def _tile(a: Arguments) -> Tensor:
    x, reps = a.tensor("x"), a.ints("reps")
    if len(reps) != x.dim():
        raise ValueError(f"{len(reps)} repetitions of {x.dim()} axes")
    a.expect([n * r for n, r in zip(x.shape, reps, strict=True)])
    return x.repeat(reps)


def _fill(a: Arguments) -> Tensor:
    return torch.full(a.expect(a.ints("shape")), a.number("value", 0.0)).to(a.outputs[0].type.dtype.held)


def _fill_like(a: Arguments) -> Tensor:
    return torch.full(tuple(a.tensor("ref_tensor").shape), a.number("value", 0.0)).to(
        a.outputs[0].type.dtype.held
    )


def _range_1d(a: Arguments) -> Tensor:
    start, end, step = a.number("start"), a.number("end"), a.number("step")
    a.expect([max(0, math.ceil((end - start) / step))])
    return torch.arange(start, end, step, dtype=torch.float64).to(a.outputs[0].type.dtype.held)


def _pad(a: Arguments) -> Tensor:
    """`pad` holds (before, after) pairs for the last axes."""
    x, pad, mode = a.tensor("x"), a.ints("pad"), a.text("mode", "constant")
    if mode not in PAD_MODES or len(pad) % 2 or len(pad) > 2 * x.dim():
        raise ValueError(f"mode {mode!r} with {len(pad)} paddings is not known")
    widths = [(0, 0)] * (x.dim() - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))
    a.expect([n + before + after for n, (before, after) in zip(x.shape, widths, strict=True)])
    if mode == "constant":
        return torch.from_numpy(np.pad(x.numpy(), widths, constant_values=a.number("constant_val", 0.0)))
    return torch.from_numpy(np.pad(x.numpy(), widths, mode="edge" if mode == "replicate" else "reflect"))


def _band_part(a: Arguments) -> Tensor:
    """x with zeros at [..., m, n] unless m - n ≤ lower and n - m ≤ upper; a negative bound allows all."""
    x, lower, upper = a.tensor("x"), a.int_("lower", -1), a.int_("upper", -1)
    m, n = torch.arange(x.shape[-2])[:, None], torch.arange(x.shape[-1])[None]
    inside = ((m - n <= lower) | (lower < 0)) & ((n - m <= upper) | (upper < 0))
    return torch.where(inside, x, torch.zeros((), dtype=x.dtype))


def _reverse(a: Arguments) -> Tensor:
    x = a.tensor("x")
    return x.flip(a.ints("axes", range(x.dim())))


def _one_hot(a: Arguments) -> Tensor:
    indices, size = rows(a.tensor("indices")), a.int_("one_hot_vector_size")
    axis = axis_of(a.int_("axis", -1), indices.dim() + 1)
    a.expect([*indices.shape[:axis], size, *indices.shape[axis:]])
    hot = indices.unsqueeze(axis) == torch.arange(size).reshape([size] + [1] * (indices.dim() - axis))
    on, off = (torch.tensor(a.number(n, d)) for n, d in (("on_value", 1.0), ("off_value", 0.0)))
    return torch.where(hot, on, off).to(a.outputs[0].type.dtype.held)


def _shape(a: Arguments) -> Tensor:
    return torch.tensor(list(a.tensor("x").shape), dtype=torch.int32)


OPS: dict[str, tuple[Function, str]] = {
    "reshape": (_reshape, "x shape"),
    "transpose": (_transpose, "x perm"),
    "expand_dims": (_expand_dims, "x axes"),
    "squeeze": (_squeeze, "x axes"),
    "flatten2d": (_flatten2d, "x axis"),
    "concat": (_concat, "values axis interleave"),
    "stack": (_stack, "values axis"),
    "split": (_split, "x num_splits split_sizes axis"),
    "slice_by_index": (_slice_by_index, "x begin end stride begin_mask end_mask squeeze_mask"),
    "slice_by_size": (_slice_by_size, "x begin size"),
    "slice_update": (_slice_update, "x update begin end stride begin_mask end_mask squeeze_mask"),
    "tile": (_tile, "x reps"),
    "fill": (_fill, "shape value"),
    "fill_like": (_fill_like, "ref_tensor value"),
    "range_1d": (_range_1d, "start end step"),
    "pad": (_pad, "x pad mode constant_val"),
    "band_part": (_band_part, "x lower upper"),
    "reverse": (_reverse, "x axes"),
    "one_hot": (_one_hot, "indices one_hot_vector_size axis on_value off_value"),
    "shape": (_shape, "x"),
}
