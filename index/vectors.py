"""Vectors as signed bytes with one scale each: quantise, scan exactly, choose between the scan and a graph.

A stored vector is `scale * int8`, scale = max|x| / 127, so that every vector uses the whole range of a byte whatever its dimension. The
bytes are what sqlite-vec's vec_int8() takes. Cosine does not see the scale, so the HNSW segment takes the same bytes (see hnsw.py).

Knows numpy and photos as row numbers. Knows no SQL, no file, no model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .records import FloatArray, RowArray

Int8Array = NDArray[np.int8]
Plan = Literal["exact", "hnsw"]

EXACT_BELOW = 20_000  # vectors: under this a scan costs a few ms at most and keeps recall at 1
HNSW_MIN_SHARE = 0.1  # a filter that leaves less than this share starves a graph walk that knows no filter
FLOAT_CACHE_BYTES = 96 << 20  # a channel whose float32 form fits is scanned as floats (4 x faster); a larger one in blocks from int8
_BLOCK = 8192


def quantize(vectors: FloatArray) -> tuple[Int8Array, FloatArray]:
    """float32 [n, d] → int8 [n, d] and scales float32 [n]. A zero vector has scale 0."""
    x = np.asarray(vectors, np.float32)
    scales = (np.abs(x).max(axis=1, initial=0.0) / 127.0).astype(np.float32)
    safe = np.where(scales > 0, scales, np.float32(1))
    return np.rint(x / safe[:, None]).clip(-127, 127).astype(np.int8), scales


def dequantize(codes: Int8Array, scales: FloatArray) -> FloatArray:
    return np.asarray(codes.astype(np.float32) * scales[:, None], np.float32)


def choose_plan(total: int, left: int, has_graph: bool) -> Plan:
    """`total` vectors in the channel, `left` of them pass the filter: the exact scan of those, or the graph with the rest discarded."""
    if not has_graph or left < EXACT_BELOW or left < total * HNSW_MIN_SHARE:
        return "exact"
    return "hnsw"


@dataclass(frozen=True)
class VectorSet:
    """One channel in memory. `owners`: int64 [n], the photo row of each vector, ascending (a photo's chunks stand together)."""

    codes: Int8Array
    scales: FloatArray
    owners: RowArray
    floats: FloatArray | None = None

    @classmethod
    def of(cls, codes: Int8Array, scales: FloatArray, owners: RowArray) -> VectorSet:
        floats = dequantize(codes, scales) if codes.size * 4 <= FLOAT_CACHE_BYTES else None
        return cls(codes, scales, owners, floats)

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    @property
    def dim(self) -> int:
        return int(self.codes.shape[1])

    def dot(self, query: FloatArray, at: RowArray | None = None) -> FloatArray:
        """Dot products with the query, float32, of all vectors or of those at the given positions. Cosines where both are unit vectors."""
        if self.floats is not None:
            return np.asarray((self.floats if at is None else self.floats[at]) @ query, np.float32)
        count = len(self) if at is None else int(at.size)
        out = np.empty(count, np.float32)
        for start in range(0, count, _BLOCK):
            pick = slice(start, start + _BLOCK) if at is None else at[start : start + _BLOCK]
            out[start : start + _BLOCK] = (self.codes[pick].astype(np.float32) @ query) * self.scales[pick]
        return out

    def positions_of(self, rows: RowArray, n_rows: int) -> RowArray:
        """Ascending positions of all vectors that belong to the given photo rows, in any order and with repeats."""
        wanted = np.zeros(n_rows, np.bool_)  # a mask: numpy's unique and searchsorted cost ten times as much at this size
        wanted[rows] = True
        return np.asarray(np.flatnonzero(wanted[self.owners]), np.int64)

    def best_per_row(self, query: FloatArray, n_rows: int, rows: RowArray | None = None) -> FloatArray:
        """float32 [n_rows]: the best chunk's score of each photo row, -inf where a photo has no vector or is not among `rows`."""
        best = np.full(n_rows, -np.inf, np.float32)
        at = None if rows is None else self.positions_of(rows, n_rows)
        owners = self.owners if at is None else self.owners[at]
        if owners.size:
            first = np.flatnonzero(np.diff(owners, prepend=-1))
            # Gathering scattered vectors costs about four times as much as reading them in a row.
            scores = self.dot(query, at) if at is None or at.size * 4 < len(self) else self.dot(query)[at]
            best[owners[first]] = np.maximum.reduceat(scores, first)
        return best


def top(scores: FloatArray, k: int) -> RowArray:
    """Positions of the k greatest finite scores, best first; equal scores in order of position."""
    candidates = np.flatnonzero(scores > -np.inf)
    if 0 < k < candidates.size:
        values = scores[candidates]
        floor = np.partition(values, values.size - k)[values.size - k]
        candidates = candidates[values >= floor]
    order = np.argsort(-scores[candidates], kind="stable")
    return np.asarray(candidates[order][: max(k, 0)], np.int64)
