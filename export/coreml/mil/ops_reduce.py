"""Operations along an axis: reductions, top-k, sorting, cumulative sums, gather and scatter."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .arguments import Arguments, Function, axis_of, rows, same_kind

Reduction = Callable[[Tensor, list[int], bool], Tensor]


def _reduce(compute: Reduction) -> Function:
    def run(a: Arguments) -> Tensor:
        x = a.wide("x")
        axes = sorted({axis_of(axis, x.dim()) for axis in a.ints("axes", range(x.dim()))})
        return compute(x, axes, a.flag("keep_dims", False))

    return run


def _sum(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    return x.sum(axes, keepdim=keep, dtype=x.dtype) if axes else x


def _prod(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    for axis in reversed(axes):
        x = x.prod(axis, keepdim=keep, dtype=x.dtype)
    return x


def _arg(pick: Callable[..., Tensor]) -> Function:
    def run(a: Arguments) -> Tensor:
        return pick(a.wide("x"), a.int_("axis", -1), keepdim=a.flag("keep_dims", False))

    return run


def _topk(a: Arguments) -> tuple[Tensor, ...]:
    """The k largest (or smallest) values along an axis, sorted, and their indices; ties in order of index."""
    x = a.wide("x")
    axis = axis_of(a.int_("axis", -1), x.dim())
    k = a.int_("k", 1)
    values, indices = torch.sort(x, dim=axis, descending=not a.flag("ascending", False), stable=True)
    size = x.shape[axis] if k == -1 else k
    if not 0 <= size <= x.shape[axis]:
        raise ValueError(f"k {k} of {x.shape[axis]} elements")
    top = values.narrow(axis, 0, size), indices.narrow(axis, 0, size)
    return top if a.flag("return_indices", True) else top[:1]


def _argsort(a: Arguments) -> Tensor:
    return torch.argsort(
        a.wide("x"), dim=a.int_("axis", -1), descending=not a.flag("ascending", False), stable=True
    )


def _cumsum(a: Arguments) -> Tensor:
    x, axis = a.wide("x"), a.int_("axis", 0)
    ordered = x.flip(axis) if a.flag("reverse", False) else x
    total = ordered.cumsum(axis, dtype=x.dtype)
    if a.flag("exclusive", False):
        total = total - ordered
    return total.flip(axis) if a.flag("reverse", False) else total


def _checked_indices(indices: Tensor, size: int) -> Tensor:
    """int64 indices. Raises ValueError unless all are in 0..size - 1; Core ML leaves others undefined."""
    checked = rows(indices)
    if checked.numel() and not 0 <= int(checked.min()) <= int(checked.max()) < size:
        raise ValueError(f"an index lies outside 0..{size - 1}")
    return checked


def _gather(a: Arguments) -> Tensor:
    x, indices, batch = a.tensor("x"), a.tensor("indices"), a.int_("batch_dims", 0)
    axis = axis_of(a.int_("axis", 0), x.dim())
    checked = _checked_indices(indices, x.shape[axis])
    if batch == 0:
        a.expect([*x.shape[:axis], *checked.shape, *x.shape[axis + 1 :]])
        return x.index_select(axis, checked.reshape(-1)).reshape(
            [*x.shape[:axis], *checked.shape, *x.shape[axis + 1 :]]
        )
    if not 0 < batch <= min(axis, checked.dim()) or x.shape[:batch] != checked.shape[:batch]:
        raise ValueError(f"batch_dims {batch} of shapes {list(x.shape)} and {list(checked.shape)}")
    flattened = x.reshape(-1, *x.shape[batch:]), checked.reshape(math.prod(checked.shape[:batch]), -1)
    out = torch.stack([row.index_select(axis - batch, at) for row, at in zip(*flattened, strict=True)])
    return out.reshape([*x.shape[:axis], *checked.shape[batch:], *x.shape[axis + 1 :]])


def _gather_along_axis(a: Arguments) -> Tensor:
    x = a.tensor("x")
    axis = axis_of(a.int_("axis", 0), x.dim())
    return torch.gather(x, axis, _checked_indices(a.tensor("indices"), x.shape[axis]))


def _indices_by_axis(indices: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, ...]:
    """Splits indices [..., n] into an index tensor [...] for each of the first n axes, and checks them."""
    return tuple(_checked_indices(part, shape[axis]) for axis, part in enumerate(indices.unbind(-1)))


def _gather_nd(a: Arguments) -> Tensor:
    if a.int_("batch_dims", 0):
        raise ValueError("batch_dims is not known")
    x = a.tensor("x")
    return x[_indices_by_axis(a.tensor("indices"), tuple(x.shape))]


MODES: dict[str, str] = {"add": "sum", "mul": "prod", "min": "amin", "max": "amax"}


def _scatter_along_axis(a: Arguments) -> Tensor:
    data, updates = a.tensor("data").clone(), a.tensor("updates")
    same_kind(data, updates)
    axis, mode = axis_of(a.int_("axis", 0), data.dim()), a.text("mode", "add")
    indices = _checked_indices(a.tensor("indices"), data.shape[axis])
    if mode == "update":
        return data.scatter(axis, indices, updates)
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is not known")
    return data.scatter_reduce(axis, indices, updates, MODES[mode])


def _scatter_nd(a: Arguments) -> Tensor:
    data, updates, mode = a.tensor("data").clone(), a.tensor("updates"), a.text("mode", "add")
    same_kind(data, updates)
    if mode not in ("add", "update"):
        raise ValueError(f"mode {mode!r} is not known")
    return data.index_put_(
        _indices_by_axis(a.tensor("indices"), tuple(data.shape)), updates, accumulate=mode == "add"
    )


OPS: dict[str, tuple[Function, str]] = {
    "reduce_sum": (_reduce(_sum), "x axes keep_dims"),
    "reduce_mean": (_reduce(lambda x, axes, keep: x.mean(axes, keepdim=keep)), "x axes keep_dims"),
    "reduce_max": (_reduce(lambda x, axes, keep: x.amax(axes, keepdim=keep)), "x axes keep_dims"),
    "reduce_min": (_reduce(lambda x, axes, keep: x.amin(axes, keepdim=keep)), "x axes keep_dims"),
    "reduce_prod": (_reduce(_prod), "x axes keep_dims"),
    "reduce_l1_norm": (_reduce(lambda x, axes, keep: _sum(x.abs(), axes, keep)), "x axes keep_dims"),
    "reduce_l2_norm": (_reduce(lambda x, axes, keep: _sum(x * x, axes, keep).sqrt()), "x axes keep_dims"),
    "reduce_sum_square": (_reduce(lambda x, axes, keep: _sum(x * x, axes, keep)), "x axes keep_dims"),
    "reduce_log_sum_exp": (
        _reduce(lambda x, axes, keep: x.logsumexp(axes, keepdim=keep)),
        "x axes keep_dims",
    ),
    "reduce_argmax": (_arg(torch.argmax), "x axis keep_dims output_dtype"),
    "reduce_argmin": (_arg(torch.argmin), "x axis keep_dims output_dtype"),
    "topk": (_topk, "x k axis ascending sort return_indices output_indices_dtype"),
    "argsort": (_argsort, "x axis ascending"),
    "cumsum": (_cumsum, "x axis exclusive reverse"),
    "gather": (_gather, "x indices axis batch_dims validate_indices"),
    "gather_along_axis": (_gather_along_axis, "x indices axis validate_indices"),
    "gather_nd": (_gather_nd, "x indices batch_dims validate_indices"),
    "scatter_along_axis": (_scatter_along_axis, "data indices updates axis mode validate_indices"),
    "scatter_nd": (_scatter_nd, "data indices updates mode validate_indices"),
}
