"""GPTQ: 4-bit codes of a matrix that keep its products on calibration inputs, column by column.

After Frantar, Ashkboos, Hoefler, Alistarh, "GPTQ: Accurate Post-Training Quantization for Generative
Pre-trained Transformers" (2022): what rounding a column loses is made up for by the columns that are not
rounded yet, by the inverse of the inputs' second moments. Columns are taken by descending moment, in grids
that are fitted beforehand: the scale and the zero point (or the minimum) of each block are searched for the
least error weighted by the moments, which alone is better than a grid between a block's extremes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .block_codes import Blocks4

DAMPING = 0.01  # of the mean moment, added to each
AT_ONCE = 128  # columns between two updates of all that follow
WEIGHTS = 1 << 18  # whose grids are fitted together, so that they stay in the processor's cache
SHRINKS = (0.76, 0.88, 0.96, 1.0)  # factors of a block's range that are tried
LEVELS = 15
KINDS = ("affine", "integer", "symmetric")


@dataclass(frozen=True)
class Grid:
    """The grids that a target has for a block.

    `kind`: "affine" (a scale and a real minimum), "integer" (a scale and a zero point in 0..15) or
    "symmetric" (a scale; the zero point is 8). `scales`: the type in which the target keeps them.
    """

    kind: str
    scales: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"grid {self.kind!r}: choose one of: {', '.join(KINDS)}")


def quantize(matrix: Tensor, moments: Tensor, grid: Grid, size: int) -> Blocks4:
    """Blocks of `size` columns of the float32 `matrix` [N, K].

    `moments`: float32 [K, K], the sum of x xᵀ over the calibration inputs x. Raises ValueError if `size` does
    not divide K.
    """
    importance = moments.diagonal()
    scales, lows = fit(matrix, importance, grid, size)
    order = torch.argsort(importance, descending=True, stable=True)
    root, work = _inverse_root(moments[order][:, order]), matrix[:, order].clone()
    codes, block_of = torch.empty_like(matrix), order // size
    for begin in range(0, len(order), AT_ONCE):
        end = min(begin + AT_ONCE, len(order))
        errors = torch.empty(len(matrix), end - begin)
        for at in range(begin, end):
            scale, low = scales[:, block_of[at]], lows[:, block_of[at]]
            code = torch.clamp(torch.round((work[:, at] - low) / scale), 0, LEVELS)
            errors[:, at - begin] = error = (work[:, at] - (code * scale + low)) / root[at, at]
            work[:, at:end] -= error[:, None] * root[at, at:end]
            codes[:, order[at]] = code
        work[:, end:] -= errors @ root[begin:end, end:]
    return _blocks(codes, scales, lows, size)


def nearest(matrix: Tensor, importance: Tensor, grid: Grid, size: int) -> Blocks4:
    """As `quantize`, each value rounded to the nearest of its grid.

    `importance`: float32 [K], the weight of each column's error in the search for the grids.
    """
    scales, lows = fit(matrix, importance, grid, size)
    codes = _codes(matrix.unflatten(1, (-1, size)), scales, lows).flatten(1)
    return _blocks(codes, scales, lows, size)


def fit(matrix: Tensor, importance: Tensor, grid: Grid, size: int) -> tuple[Tensor, Tensor]:
    """Scales and lows [N, K / size] of the grids low + scale · (0..15) with the least weighted error."""
    if matrix.shape[1] % size:
        raise ValueError(f"{matrix.shape[1]} columns in blocks of {size}: a divisor is wanted")
    # No column is without weight: a grid that ignores it would be far from its values.
    weights = (importance / importance.mean().clamp(min=1e-30) + 1e-3).unflatten(0, (-1, size))
    parts = matrix.unflatten(1, (-1, size)).split(max(1, WEIGHTS // matrix.shape[1]))
    fitted = [_fit(blocks, weights, grid) for blocks in parts]
    return torch.cat([scales for scales, _ in fitted]), torch.cat([lows for _, lows in fitted])


def _fit(blocks: Tensor, weights: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
    best = torch.full(blocks.shape[:2], torch.inf)
    scales, lows = torch.ones_like(best), torch.zeros_like(best)
    for scale, zero in _starts(blocks, grid):
        for _ in range(2):  # the second time with the grid fitted to the first codes
            low = zero if grid.kind == "affine" else -zero * scale
            codes = _codes(blocks, scale, low)
            scale, zero = _fitted(blocks, codes, weights, scale, zero, grid)
        scale = scale.to(grid.scales).float()
        low = zero if grid.kind == "affine" else -zero * scale
        rounded = _codes(blocks, scale, low) * scale[..., None] + low[..., None]
        error = ((blocks - rounded) ** 2 * weights).sum(-1)
        better = error < best
        best = torch.where(better, error, best)
        scales, lows = torch.where(better, scale, scales), torch.where(better, low, lows)
    return scales, lows


def _starts(blocks: Tensor, grid: Grid) -> Iterator[tuple[Tensor, Tensor]]:
    """(scale, zero point) of the grids that are tried; of affine grids (scale, minimum)."""
    low, high = blocks.amin(-1), blocks.amax(-1)
    for shrink in SHRINKS:
        if grid.kind == "affine":
            scale = (high - low).clamp(min=1e-10) * (shrink / LEVELS)
            yield scale, (low + high - scale * LEVELS) / 2
        elif grid.kind == "symmetric":
            scale = torch.maximum(-low / 8, high / 7).clamp(min=1e-10) * shrink
            yield scale, torch.full_like(scale, 8.0)
        else:
            reach = (high.clamp(min=0) - low.clamp(max=0)).clamp(min=1e-10)
            exact = -low.clamp(max=0) / reach * LEVELS
            for nudge in (0.0, 1.0):
                yield reach * (shrink / LEVELS), (torch.floor(exact) + nudge).clamp(0, LEVELS)


def _codes(blocks: Tensor, scales: Tensor, lows: Tensor) -> Tensor:
    return torch.clamp(torch.round((blocks - lows[..., None]) / scales[..., None]), 0, LEVELS)


def _fitted(
    blocks: Tensor, codes: Tensor, weights: Tensor, scale: Tensor, zero: Tensor, grid: Grid
) -> tuple[Tensor, Tensor]:
    """The scale, and of affine grids the minimum, with the least weighted squared error for these codes."""
    if grid.kind != "affine":
        steps = codes - zero[..., None]
        dot, norm = (weights * steps * blocks).sum(-1), (weights * steps * steps).sum(-1)
        return torch.where(dot > 0, dot / norm.clamp(min=1e-12), scale), zero
    share = weights / weights.sum(-1, keepdim=True)
    mean, middle = (share * codes).sum(-1), (share * blocks).sum(-1)
    spread = (share * codes * codes).sum(-1) - mean * mean
    slope = ((share * codes * blocks).sum(-1) - mean * middle) / spread.clamp(min=1e-6)
    fits = (spread > 1e-6) & (slope > 0)
    return torch.where(fits, slope, scale), torch.where(fits, middle - slope * mean, zero)


def _inverse_root(moments: Tensor) -> Tensor:
    """The upper Cholesky factor of the inverse of the damped moments [K, K]."""
    damped = moments.double()
    mean = damped.diagonal().mean().clamp(min=1e-30)
    damped = damped + torch.eye(len(damped), dtype=torch.float64) * (DAMPING * mean)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(damped))
    return torch.linalg.cholesky(inverse, upper=True).float()


def _blocks(codes: Tensor, scales: Tensor, lows: Tensor, size: int) -> Blocks4:
    zeros = torch.clamp(torch.round(-lows / scales), 0, LEVELS)
    rest = lows + scales * zeros
    return Blocks4(
        codes.unflatten(1, (-1, size)).numpy().astype(np.uint8),
        scales.numpy(),
        zeros.numpy().astype(np.uint8),
        torch.where(rest.abs() < 1e-6 * scales, 0.0, rest).numpy(),
    )
