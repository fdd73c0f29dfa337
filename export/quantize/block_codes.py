"""Block quantization of a matrix [N, K] for MatMulNBits: codes, and a scale and zero point for each block.

A block is BLOCK values of a row by default.

For a matrix that was dequantized from 4-bit min-max blocks (GGUF's Q4_1: scale · code + minimum),
`affine_blocks` recovers the original codes, because a block's extremes are the ends of its grid. So no second
quantization error is added.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

BLOCK = 32
AT_ONCE = 1 << 18  # weights that are fitted together
_SHRINKS = (
    0.88,
    0.96,
    1.04,
)  # factors of a block's range; with a scale fitted twice, as accurate as twelve factors without fitting
Codes = NDArray[np.uint8]


class Blocks4(NamedTuple):
    """A matrix as weight = scale · (code - zero) + rest.

    codes uint8 [N, blocks, size] and zeros uint8 [N, blocks], both in 0..15; scales and rest float32
    [N, blocks].
    """

    codes: Codes
    scales: FloatArray
    zeros: Codes
    rest: FloatArray

    def dequantize(self) -> FloatArray:
        """The dequantized matrix, float32 [N, K]."""
        blocks = (
            self.scales[..., None] * (self.codes.astype(np.float32) - self.zeros[..., None])
            + self.rest[..., None]
        )
        return np.asarray(blocks.reshape(len(blocks), -1), np.float32)


def quantize_blocks(matrix: FloatArray, size: int = BLOCK) -> tuple[Codes, FloatArray]:
    """[N, K] → (codes uint8 [N, K/size, size] with zero point 128, scales float32 [N, K/size]).

    This is the form that MatMulNBits reads with bits=8.
    """
    blocks = _split(matrix, size)
    scales = np.maximum(np.abs(blocks).max(axis=2), 1e-10) / 127.0
    codes = np.clip(np.rint(blocks / scales[..., None]), -127, 127) + 128
    return codes.astype(np.uint8), scales.astype(np.float32)


def affine_blocks(matrix: FloatArray, size: int = BLOCK) -> Blocks4:
    """[N, K] → 4-bit codes on a grid between each block's extremes.

    Scale and minimum are fitted to the codes by least squares; a block that lies on such a grid keeps it.
    `rest` is the difference between the minimum and its representation by an integer zero point: at most half
    a scale if the block spans zero.
    """
    return _by_rows(_affine, matrix, size)


def nearest_blocks(matrix: FloatArray, size: int = BLOCK) -> Blocks4:
    """[N, K] → 4-bit codes, with scale and integer zero point searched for the least squared error.

    `rest` is zero.
    """
    return _by_rows(_nearest, matrix, size)


def _by_rows(fit: Callable[[FloatArray], Blocks4], matrix: FloatArray, size: int) -> Blocks4:
    """Applies `fit` to a few rows [n, blocks, size] at a time.

    The working set then stays in the processor's cache, which makes it two to three times as fast.
    """
    blocks = _split(matrix, size)
    rows = max(1, AT_ONCE // matrix.shape[1])
    parts = [fit(blocks[at : at + rows]) for at in range(0, len(blocks), rows)]
    return (
        parts[0]
        if len(parts) == 1
        else Blocks4(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    )


def _affine(blocks: FloatArray) -> Blocks4:
    low = blocks.min(axis=2)
    scales = np.maximum((blocks.max(axis=2) - low) / np.float32(15.0), np.float32(1e-12))
    codes = _codes(blocks, low, scales)
    low, scales = _fitted(blocks, codes, low, scales)
    codes = _codes(blocks, low, scales)
    low, scales = _fitted(blocks, codes, low, scales)
    zeros = np.clip(np.rint(-low / scales), 0, 15)
    return Blocks4(codes.astype(np.uint8), scales, zeros.astype(np.uint8), low + scales * zeros)


def _codes(blocks: FloatArray, low: FloatArray, scales: FloatArray) -> FloatArray:
    codes = blocks - low[..., None]
    codes *= (np.float32(1.0) / scales)[..., None]
    np.rint(codes, out=codes)
    return np.clip(codes, 0.0, 15.0, out=codes)


def _fitted(
    blocks: FloatArray, codes: FloatArray, low: FloatArray, scales: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The (minimum, scale) with the least squared error for these codes.

    Blocks whose codes are all equal keep their scale, and those whose fitted scale would not be positive keep
    both.
    """
    mean = codes.mean(axis=2)
    spread = np.einsum("nbk,nbk->nb", codes, codes) / codes.shape[2] - mean * mean
    # The fit is to the differences from the old grid, not to the weights: a block that lies on the grid has
    # differences of zero and stays unchanged.
    residual = codes * scales[..., None]
    np.subtract(blocks - low[..., None], residual, out=residual)
    mean_residual = residual.mean(axis=2)
    slope = np.einsum("nbk,nbk->nb", codes, residual) / codes.shape[2] - mean * mean_residual
    slope = np.where(spread > 1e-6, slope / np.maximum(spread, 1e-6), 0.0).astype(np.float32)
    positive = scales + slope > 0
    return np.where(positive, low + mean_residual - slope * mean, low), np.where(
        positive, scales + slope, scales
    )


def _nearest(blocks: FloatArray) -> Blocks4:
    low, high = np.minimum(blocks.min(axis=2), 0.0), np.maximum(blocks.max(axis=2), 0.0)
    block_squares = np.einsum("nbk,nbk->nb", blocks, blocks)
    least_error = np.full(low.shape, np.inf, np.float32)
    best = Blocks4(
        np.zeros(blocks.shape, np.uint8), np.ones_like(low), np.zeros(low.shape, np.uint8), np.zeros_like(low)
    )
    for shrink, nudge in itertools.product(_SHRINKS, (0.0, 1.0)):
        scales = np.maximum((high - low) * np.float32(shrink / 15.0), np.float32(1e-12))
        zeros = np.clip(np.floor(-low * np.float32(shrink) / scales) + np.float32(nudge), 0, 15)
        for _ in range(2):  # the second time with the scale fitted to the first codes
            steps = _steps(blocks, scales, zeros)
            dot, norm = (
                np.einsum("nbk,nbk->nb", steps, blocks),
                np.einsum("nbk,nbk->nb", steps, steps),
            )
            scales = np.where(dot > 0, dot / np.maximum(norm, np.float32(1e-6)), scales).astype(np.float32)
        error = block_squares - 2 * scales * dot + scales * scales * norm
        better = error < least_error
        least_error[better] = error[better]
        steps += zeros[..., None]
        best.codes[better], best.scales[better], best.zeros[better] = (
            steps[better],
            scales[better],
            zeros[better],
        )
    return best


def _steps(blocks: FloatArray, scales: FloatArray, zeros: FloatArray) -> FloatArray:
    """The codes minus their zero point, as floats."""
    steps = blocks * (np.float32(1.0) / scales)[..., None]
    np.rint(steps, out=steps)
    return np.clip(steps, -zeros[..., None], 15.0 - zeros[..., None], out=steps)


def pack_nibbles(codes: Codes) -> Codes:
    """[..., n] in 0..15 → [..., ceil(n / 2)]; codes at even indices are in the low half of a byte."""
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], 1), np.uint8)], axis=-1)
    return np.asarray(codes[..., 0::2] | (codes[..., 1::2] << 4), np.uint8)


def _split(matrix: FloatArray, size: int) -> FloatArray:
    rows, columns = matrix.shape
    return matrix.reshape(rows, columns // size, size)
