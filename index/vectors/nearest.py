"""The k nearest photos in one channel, by exact scan or by graph search, as the planner chooses.

Both rank by int8 codes first, then re-rank the best with the residues. If a graph search leaves too few
photos within the filter, an exact scan replaces it: the vectors that the graph finds nearest may all lie
outside a narrow filter (one day, one place).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..records import FloatArray, RowArray
from .hnsw import Hnsw
from .planner import Estimate, Plan
from .quantize import Query, VectorSet, greatest

_FEW = 40  # photos: below this, ranking all precisely costs less than choosing candidates first
_AGAIN = 6  # k + max(_AGAIN, k // 2) photos are re-ranked


@dataclass(frozen=True, eq=False)
class VectorResult:
    """`scores`: cosine of the best chunk of each photo, best first.

    `plan`: the plan that was executed.
    """

    rows: RowArray
    scores: FloatArray
    plan: Plan


def nearest(
    vectors: VectorSet,
    graph: Hnsw | None,
    behind: RowArray,
    query: FloatArray,
    k: int,
    rows: RowArray | None = None,
    plan: Literal["auto"] | Plan = "auto",
) -> VectorResult:
    """The k photos whose best chunk is nearest to `query` (float32 [d]).

    `rows`: the filter, int64, ascending without repeats, or None. `behind`: rows that changed since the graph
    was built; they are scanned in addition.
    """
    ready, chunks = Query(query), 1.0
    if not vectors.one_per_photo:
        chunks = len(vectors) / max(int(vectors.owners[-1]) + 1, 1)
    elif rows is not None and rows.size and int(rows[-1]) >= len(vectors):  # photos without a vector
        rows = rows[rows < len(vectors)]
    if rows is not None and rows.size <= _precise_limit(k) and plan == "auto":
        return _ranked(vectors, ready, rows, k, "exact")
    if graph is not None and plan != "exact":
        left = len(vectors) if rows is None else int(rows.size * chunks)
        costs = Estimate(len(vectors), left, vectors.dim, k, chunks)
        if (costs.plan if plan == "auto" else plan) == "hnsw":
            candidates = _walk(vectors, graph, behind, ready, k, rows, costs.width)
            if candidates is not None:
                return _ranked(vectors, ready, candidates, k, "hnsw")
    return _ranked(vectors, ready, _scan(vectors, ready, k, rows), k, "exact")


def ascending(rows: RowArray) -> RowArray:
    """`rows` in ascending order without repeats; the same array if it is so already."""
    return rows if np.count_nonzero(rows[1:] > rows[:-1]) >= rows.size - 1 else np.unique(rows)


def _precise_limit(k: int) -> int:
    """The number of photos up to which all are ranked precisely, without choosing candidates first."""
    return max(_FEW, _rerank_count(k))


def _rerank_count(k: int) -> int:
    return k + max(_AGAIN, k // 2)


def _scan(vectors: VectorSet, query: Query, k: int, rows: RowArray | None) -> RowArray:
    """The rows of the photos to re-rank."""
    if rows is not None and rows.size <= _precise_limit(k):
        return rows
    if vectors.one_per_photo:
        best = greatest(vectors.rough(query, rows), _rerank_count(k))
        return best if rows is None else rows[best]
    if rows is None:
        rows = np.unique(vectors.owners)
    return rows[_greatest(vectors.best_of(query, rows), _rerank_count(k))]


def _walk(
    vectors: VectorSet, graph: Hnsw, behind: RowArray, query: Query, k: int, rows: RowArray | None, width: int
) -> RowArray | None:
    """The rows of the photos to re-rank, or None if too few of the graph's candidates pass the filter."""
    positions = graph.candidates(query, width)
    photos = positions if vectors.one_per_photo else vectors.owners[positions]
    if rows is not None:
        photos = photos[among(photos, rows)]
    if not vectors.one_per_photo or behind.size:
        photos = np.unique(photos)
    if photos.size < min(k, len(vectors) if rows is None else int(rows.size)):
        return None
    photos = photos[: max(_rerank_count(k), 0)] if vectors.one_per_photo and not behind.size else photos
    if behind.size:
        late = behind if rows is None else behind[among(behind, rows)]
        photos = np.union1d(photos, _scan(vectors, query, k, late))
    return photos


def among(values: RowArray, rows: RowArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """bool [len(values)]: which of `values` are in `rows`, which are ascending."""
    at = np.searchsorted(rows, values)
    at[at == rows.size] = 0
    return np.asarray(rows[at] == values if rows.size else np.zeros(values.size, np.bool_))


def _ranked(vectors: VectorSet, query: Query, photos: RowArray, k: int, plan: Plan) -> VectorResult:
    at = owners = photos if vectors.one_per_photo else vectors.positions_of(photos)
    scores = vectors.fine_dot(query, at)
    if not vectors.one_per_photo:
        owners = vectors.owners[at]
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        owners, scores = owners[first], np.maximum.reduceat(scores, first) if first.size else scores
    order = (-scores).argsort(kind="stable")[: max(k, 0)]
    return VectorResult(owners[order], scores[order], plan)


def _greatest(scores: FloatArray, count: int) -> RowArray:
    """Positions of the `count` greatest scores above -inf, ascending: equal scores stay in row order."""
    picked = greatest(scores, count)
    return picked[scores[picked] > -np.inf]
