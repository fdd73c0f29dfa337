"""int8 vectors with one quantization scale each, plus a 2-bit residue per component for re-ranking.

A stored vector is `scale * int8`, scale = max|x| / 127, so that every vector uses the whole range of a byte
whatever its dimension. sqlite-vec's vec_int8() takes these bytes. One scale a vector, measured by scan
on 50,000 of bench/index/ann.py's clustered vectors of 768 dimensions (noise alike in every direction, the
hardest case; 500 queries): recall@10 of float search 0.972 with one scale a vector, 0.977 with one a block of
64; neither reaches 0.99. So the rounding error is stored too, in quarters of a step, four to a byte (`fine`,
d / 4 bytes): 0.993. Blocks would then add nothing, and readers that support only int8 can ignore `fine`.

The scan multiplies int8 with int8 (numkong's kernels, which usearch brings). A query is held as two int8
layers, so that quantizing it costs no recall.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numkong
import numpy as np
from numpy.typing import NDArray

from ..records import FloatArray, RowArray

Int8Array = NDArray[np.int8]
FineArray = NDArray[np.uint8]

_BLOCK = 4096  # vectors scored at once: few enough to stay in the processor's cache for the second pass
_DENSE = 0.3  # above this share of the vectors, scoring all of them costs less than gathering the wanted ones
_DEPTH = 254.0  # one step of a query's first byte is this many steps of its second
_QUARTERS = np.array(
    [[((code >> shift) & 3) / 4 - 3 / 8 for shift in (0, 2, 4, 6)] for code in range(256)], np.float32
)
_FOUR = _QUARTERS.view(np.complex128)[
    :, 0
]  # four floats viewed as one 16-byte item, so that numpy copies them at once
MAX_SCALE = 1e30  # far above any scale of a unit vector, and still a float32
NO_FINE = b"\x99"  # residues of +1/8 and -1/8 in turn: stands in for a vector stored without a residue


def quantize(vectors: FloatArray) -> tuple[Int8Array, FloatArray]:
    """float32 [n, d] → int8 [n, d] and scales float32 [n]. A zero vector has scale 0."""
    x = np.asarray(vectors, np.float32)
    scales = (np.abs(x).max(axis=1, initial=0.0) / 127.0).astype(np.float32)
    return np.rint(_steps(x, scales)).clip(-127, 127).astype(np.int8), scales


def residue(vectors: FloatArray, codes: Int8Array, scales: FloatArray) -> FineArray:
    """The rounding error of `quantize`, in quarters of a step, four components to a byte.

    Returns uint8 [n, ceil(d / 4)].
    """
    n, dim = codes.shape
    quarters = np.zeros((n, -(-dim // 4), 4), np.uint8)
    rest = _steps(np.asarray(vectors, np.float32), scales) - codes
    quarters.reshape(n, quarters.shape[1] * 4)[:, :dim] = np.floor(rest * 4 + 2).clip(0, 3)
    return np.asarray(
        quarters[:, :, 0] | quarters[:, :, 1] << 2 | quarters[:, :, 2] << 4 | quarters[:, :, 3] << 6, np.uint8
    )


def parts_of(fine: FineArray, dim: int) -> FloatArray:
    """The residues in `fine`, unpacked: float32 [n, d] of ±1/8 or ±3/8, to be added to the codes."""
    return _FOUR.take(fine, mode="clip").view(np.float32)[:, :dim]  # "clip" checks no bound, which bytes keep


def dequantize(codes: Int8Array, scales: FloatArray, fine: FineArray | None = None) -> FloatArray:
    """int8 [n, d], scales [n] and, if given, residues → float32 [n, d]."""
    steps = codes.astype(np.float32)
    if fine is not None:
        steps += parts_of(fine, codes.shape[1])
    return np.asarray(steps * scales[:, None], np.float32)


def _steps(x: FloatArray, scales: FloatArray) -> FloatArray:
    safe = np.where(scales > 0, scales, np.float32(1))
    return np.asarray(x / safe[:, None], np.float32)


class Query:
    """A query vector as two int8 layers: `floats` ≈ scale * (first + second / _DEPTH).

    Each layer is computed on first use.
    """

    def __init__(self, floats: FloatArray) -> None:
        self.floats = np.ascontiguousarray(floats, np.float32)

    @cached_property
    def scale(self) -> float:
        ends = numkong.minmax(self.floats)  # (minimum, its index, maximum, its index); None if all are NaN
        return max(float(ends[2]), -float(ends[0])) / 127.0 if ends else 0.0

    @cached_property
    def _steps(self) -> FloatArray:
        return self.floats * np.float32(1.0 / self.scale if self.scale > 0 else 0.0)

    @cached_property
    def first(self) -> Int8Array:
        return np.rint(self._steps).astype(np.int8)

    @cached_property
    def second(self) -> Int8Array:
        return ((self._steps - self.first) * _DEPTH).astype(np.int8)


@dataclass(frozen=True)
class VectorSet:
    """All vectors of one channel, in memory.

    `owners`: int64 [n], the photo row of each vector, ascending (a photo's chunks are adjacent).
    """

    codes: Int8Array
    scales: FloatArray
    owners: RowArray
    fine: FineArray | None = field(default=None)

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def dim(self) -> int:
        return int(self.codes.shape[1])

    @cached_property
    def one_per_photo(self) -> bool:
        """Whether every photo has exactly one vector, so that photo rows equal vector positions."""
        return bool(np.array_equal(self.owners, np.arange(len(self))))

    @cached_property
    def starts(self) -> RowArray:
        """int64 [last owner + 2]: the vectors of photo p are starts[p] to starts[p + 1] - 1."""
        n_rows = int(self.owners[-1]) + 1 if len(self) else 0
        return np.searchsorted(self.owners, np.arange(n_rows + 1)).astype(np.int64)

    def dot(self, query: FloatArray | Query, at: RowArray | None = None) -> FloatArray:
        """Dot products of the int8 vectors with the query: float32, one for each position in `at`, or for all
        vectors if `at` is None.

        For unit vectors these are cosines.
        """
        ready = query if isinstance(query, Query) else Query(query)
        if at is not None and at.size > _DENSE * len(self):
            return self.dot(ready)[at]
        count = len(self) if at is None else int(at.size)
        out = np.empty(count, np.float32)
        for start in range(0, count, _BLOCK):
            end = min(start + _BLOCK, count)
            codes = self.codes[start:end] if at is None else self.codes.take(at[start:end], axis=0)
            out[start:end] = np.add(_products(codes, ready.first), _products(codes, ready.second) / _DEPTH)
        out *= self.scales if at is None else self.scales.take(at)
        return np.multiply(out, np.float32(ready.scale), out=out)

    def rough(self, query: Query, at: RowArray | None = None) -> FloatArray:
        """`dot` with the query's first layer only: half the work, to choose what `fine_dot` re-ranks."""
        if at is None:
            return np.asarray(_products(self.codes, query.first) * self.scales, np.float32)
        parts = [
            _products(self.codes.take(at[i : i + _BLOCK], axis=0), query.first)
            for i in range(0, at.size, _BLOCK)
        ]
        return np.asarray(
            (parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty(0)])) * self.scales.take(at),
            np.float32,
        )

    def fine_dot(self, query: Query, at: RowArray) -> FloatArray:
        """Dot products of codes plus residues, in float32: the most precise scores, for few positions.

        For few positions the numpy calls cost more than reading the bytes, so they are made few.
        """
        steps = self.codes.take(at, axis=0).astype(np.float32)
        if self.fine is not None:
            steps += parts_of(self.fine.take(at, axis=0), self.dim)
        return np.asarray(steps.dot(query.floats) * self.scales.take(at), np.float32)

    def positions_of(self, rows: RowArray) -> RowArray:
        """Positions of all vectors of the given photo rows, grouped by photo in the order given.

        A row without a vector contributes none.
        """
        if self.one_per_photo:
            return rows if not rows.size or int(rows.max()) < len(self) else rows[rows < len(self)]
        known = rows[rows < len(self.starts) - 1]
        sizes = self.starts[known + 1] - self.starts[known]
        ends = np.cumsum(sizes)
        return np.asarray(
            np.arange(int(ends[-1]) if ends.size else 0)
            + np.repeat(self.starts[known] - (ends - sizes), sizes),
            np.int64,
        )

    def best_of(self, query: FloatArray | Query, rows: RowArray) -> FloatArray:
        """float32 [len(rows)]: each photo's best chunk score, -inf for a photo without a vector."""
        best = np.full(rows.size, -np.inf, np.float32)
        if self.one_per_photo:
            known = rows < len(self)
            if known.all():
                return self.dot(query, rows)
            best[known] = self.dot(query, rows[known])
            return best
        at = self.positions_of(rows)
        if at.size:
            inside = np.minimum(rows, len(self.starts) - 2)
            sizes = np.where(rows == inside, self.starts[inside + 1] - self.starts[inside], 0)
            has = sizes > 0
            best[has] = np.maximum.reduceat(self.dot(query, at), (np.cumsum(sizes) - sizes)[has])
        return best

    def best_per_row(
        self, query: FloatArray | Query, n_rows: int, rows: RowArray | None = None
    ) -> FloatArray:
        """float32 [n_rows]: each photo's best chunk score.

        -inf where a photo has no vector or is not among `rows`.
        """
        best = np.full(n_rows, -np.inf, np.float32)
        if rows is not None:
            best[rows] = self.best_of(query, rows)
        elif len(self):
            first = np.flatnonzero(np.diff(self.owners, prepend=-1))
            best[self.owners[first]] = np.maximum.reduceat(self.dot(query), first)
        return best


def _products(codes: Int8Array, query: Int8Array) -> NDArray[np.float64]:
    return np.asarray(numkong.dot(codes, query)) if len(codes) else np.empty(0, np.float64)


def greatest(scores: FloatArray, count: int) -> RowArray:
    """Positions of the `count` greatest scores, ascending; ties at the cut-off go to the lower position.

    numpy's argpartition would break these ties differently from one processor to another.
    """
    if scores.size <= count:
        return np.arange(scores.size, dtype=np.int64)
    ordered = scores.copy()  # methods, because the functions' wrappers cost as much as a small array's work
    ordered.partition(scores.size - count)
    floor = ordered[scores.size - count]
    picked = (scores >= floor).nonzero()[0]
    if picked.size == count:  # no ties at the cut-off
        return np.asarray(picked, np.int64)
    above = np.flatnonzero(scores > floor)
    level = np.flatnonzero(scores == floor)[: count - above.size]
    return np.asarray(np.sort(np.concatenate([above, level])), np.int64)


def top(scores: FloatArray, k: int) -> RowArray:
    """Positions of the k greatest scores above -inf, best first; equal scores in order of position."""
    candidates = np.flatnonzero(scores > -np.inf)
    if k > 0:
        candidates = candidates[greatest(scores[candidates], k)]
    order = np.argsort(-scores[candidates], kind="stable")
    return np.asarray(candidates[order][: max(k, 0)], np.int64)
