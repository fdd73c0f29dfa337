"""Block quantization of a matrix [N, K] for MatMulNBits: codes, scales and zero points per row and block (32
weights). Numpy only.

`affine_blocks` gives a matrix that was 4-bit min-max quantized before (GGUF's Q4_1: scale · code + minimum)
its own codes back: the block's extremes are the grid's ends. No second quantization is added to the first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

BLOCK = 32
AT_ONCE = 1 << 18  # weights
_SHRINKS = (
    0.88,
    0.96,
    1.04,
)  # of a block's range; with the scale fitted twice as near as twelve of them without
Codes = NDArray[np.uint8]


class Blocks4(NamedTuple):
    """weight = scale · (code - zero) + rest.

    codes [N, blocks, size] and zeros [N, blocks] in 0..15, scales and rest [N, blocks].
    """

    codes: Codes
    scales: FloatArray
    zeros: Codes
    rest: FloatArray

    def whole(self) -> FloatArray:
        """The matrix [N, K] that these blocks stand for."""
        blocks = (
            self.scales[..., None] * (self.codes.astype(np.float32) - self.zeros[..., None])
            + self.rest[..., None]
        )
        return np.asarray(blocks.reshape(len(blocks), -1), np.float32)


def quantize_blocks(matrix: FloatArray, size: int = BLOCK) -> tuple[Codes, FloatArray]:
    """[N, K] → uint8 [N, K/size, size] around zero point 128 and scales [N, K/size], as MatMulNBits with
    bits=8 reads them.
    """
    blocks = _split(matrix, size)
    scales = np.maximum(np.abs(blocks).max(axis=2), 1e-10) / 127.0
    codes = np.clip(np.rint(blocks / scales[..., None]), -127, 127) + 128
    return codes.astype(np.uint8), scales.astype(np.float32)


def affine_blocks(matrix: FloatArray, size: int = BLOCK) -> Blocks4:
    """[N, K] → 4-bit codes between each block's extremes, scale and minimum fitted to them by least squares
    (a block that lies on such a grid keeps it); `rest` is what the whole zero point misses of the minimum,
    within half a scale where the block spans zero."""
    return _by_rows(_affine, matrix, size)


def nearest_blocks(matrix: FloatArray, size: int = BLOCK) -> Blocks4:
    """[N, K] → 4-bit codes whose scale and whole zero point are searched for the least squared error; `rest`
    is zero.
    """
    return _by_rows(_nearest, matrix, size)


def _by_rows(fit: Callable[[FloatArray], Blocks4], matrix: FloatArray, size: int) -> Blocks4:
    """`fit` over some rows [n, blocks, size] at a time: what it works on then stays in the processor's cache,
    twice to three times as fast.
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
    """Minimum and scale that make least of the squared error of these codes; as they were where the codes are
    all one.
    """
    mean = codes.mean(axis=2)
    spread = np.einsum("nbk,nbk->nb", codes, codes) / codes.shape[2] - mean * mean
    # Against the old grid rather than the weights themselves: a block on the grid then has differences of
    # zero, and stays where it is.
    missed = codes * scales[..., None]
    np.subtract(blocks - low[..., None], missed, out=missed)
    off = missed.mean(axis=2)
    slope = np.einsum("nbk,nbk->nb", codes, missed) / codes.shape[2] - mean * off
    slope = np.where(spread > 1e-6, slope / np.maximum(spread, 1e-6), 0.0).astype(np.float32)
    good = scales + slope > 0
    return np.where(good, low + off - slope * mean, low), np.where(good, scales + slope, scales)


def _nearest(blocks: FloatArray) -> Blocks4:
    low, high = np.minimum(blocks.min(axis=2), 0.0), np.maximum(blocks.max(axis=2), 0.0)
    power = np.einsum("nbk,nbk->nb", blocks, blocks)
    least = np.full(low.shape, np.inf, np.float32)
    best = Blocks4(
        np.zeros(blocks.shape, np.uint8), np.ones_like(low), np.zeros(low.shape, np.uint8), np.zeros_like(low)
    )
    for shrink, nudge in itertools.product(_SHRINKS, (0.0, 1.0)):
        scales = np.maximum((high - low) * np.float32(shrink / 15.0), np.float32(1e-12))
        zeros = np.clip(np.floor(-low * np.float32(shrink) / scales) + np.float32(nudge), 0, 15)
        for _ in range(2):  # a second time on the scale that suits the first time's codes
            steps = _steps(blocks, scales, zeros)
            along, own = np.einsum("nbk,nbk->nb", steps, blocks), np.einsum("nbk,nbk->nb", steps, steps)
            scales = np.where(along > 0, along / np.maximum(own, np.float32(1e-6)), scales).astype(np.float32)
        error = power - 2 * scales * along + scales * scales * own
        better = error < least
        least[better] = error[better]
        steps += zeros[..., None]
        best.codes[better], best.scales[better], best.zeros[better] = (
            steps[better],
            scales[better],
            zeros[better],
        )
    return best


def _steps(blocks: FloatArray, scales: FloatArray, zeros: FloatArray) -> FloatArray:
    """Codes less their zero point, as floats."""
    steps = blocks * (np.float32(1.0) / scales)[..., None]
    np.rint(steps, out=steps)
    return np.clip(steps, -zeros[..., None], 15.0 - zeros[..., None], out=steps)


def pack_nibbles(codes: Codes) -> Codes:
    """[..., n] in 0..15 → [..., ceil(n / 2)], the even places in the low half of a byte."""
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], 1), np.uint8)], axis=-1)
    return np.asarray(codes[..., 0::2] | (codes[..., 1::2] << 4), np.uint8)


def _split(matrix: FloatArray, size: int) -> FloatArray:
    rows, columns = matrix.shape
    return matrix.reshape(rows, columns // size, size)
