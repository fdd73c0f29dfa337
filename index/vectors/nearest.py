"""The k nearest photos in one channel: by scan or by graph, as the planner chooses, ranked by everything that
is stored of a vector.

Both ways first rank by bytes, then rank the best again with the finer digits. A walk that finds too few
photos in the filter is not believed: where the filter and the query agree (one day, one place) the graph's
nearest are elsewhere, and the scan decides. Knows vectors, a graph and rows; knows no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..records import FloatArray, RowArray
from .hnsw import Hnsw
from .planner import Estimate, Plan
from .quantize import Query, VectorSet, greatest

_FEW = 40  # to choose among so few photos first would cost more than to rank them all
_AGAIN = 6  # more photos are ranked again than are wanted, by half as many and at least by so many


@dataclass(frozen=True, eq=False)
class VectorResult:
    """`scores`: cosine of the best chunk of each photo, best first.

    `plan`: what was done; `estimate`: what the planner expected of both ways.
    """

    rows: RowArray
    scores: FloatArray
    plan: Plan
    estimate: Estimate | None = None


def nearest(
    vectors: VectorSet,
    graph: Hnsw | None,
    behind: RowArray,
    query: FloatArray,
    k: int,
    rows: RowArray | None = None,
    plan: Literal["auto"] | Plan = "auto",
) -> VectorResult:
    """`rows`: the filter, ascending without repeats, or None.

    `behind`: rows of which the graph says nothing true; they are scanned on top.
    """
    ready, chunks = Query(query), 1.0
    if not vectors.one_each:
        chunks = len(vectors) / max(int(vectors.owners[-1]) + 1, 1)
    elif rows is not None and rows.size and int(rows[-1]) >= len(vectors):  # photos without a vector
        rows = rows[rows < len(vectors)]
    left = len(vectors) if rows is None else int(rows.size * chunks)
    costs = Estimate(len(vectors), left, vectors.dim, k, graph is not None, chunks)
    if rows is not None and rows.size <= _few(k) and plan == "auto":
        return _ranked(vectors, ready, rows, k, "exact", costs)
    if graph is not None and (costs.plan if plan == "auto" else plan) == "hnsw":
        found = _walk(vectors, graph, behind, ready, k, rows, costs.width)
        if found is not None:
            return _ranked(vectors, ready, found, k, "hnsw", costs)
    return _ranked(vectors, ready, _scan(vectors, ready, k, rows), k, "exact", costs)


def ascending(rows: RowArray) -> RowArray:
    """`rows` in order, each once; as they are when they are so already."""
    return rows if rows.size < 2 or bool((rows[1:] > rows[:-1]).all()) else np.unique(rows)


def _few(k: int) -> int:
    """Photos that are ranked by everything at once."""
    return max(_FEW, _again(k))


def _again(k: int) -> int:
    return k + max(_AGAIN, k // 2)


def _scan(vectors: VectorSet, query: Query, k: int, rows: RowArray | None) -> RowArray:
    """The photos worth ranking again."""
    if rows is not None and rows.size <= _few(k):
        return rows
    if vectors.one_each:
        scores = vectors.rough(query, rows)
        found = _greatest(scores, _again(k))
        return found if rows is None else rows[found]
    if rows is None:
        rows = np.unique(vectors.owners)
    return rows[_greatest(vectors.best_of(query, rows), _again(k))]


def _walk(
    vectors: VectorSet, graph: Hnsw, behind: RowArray, query: Query, k: int, rows: RowArray | None, width: int
) -> RowArray | None:
    at = graph.candidates(query, width)
    found = at if vectors.one_each else vectors.owners[at]
    if rows is not None:
        found = found[among(found, rows)]
    if not vectors.one_each or behind.size:
        found = np.unique(found)
    if found.size < min(k, len(vectors) if rows is None else int(rows.size)):
        return None
    found = found[: max(_again(k), 0)] if vectors.one_each and not behind.size else found
    if behind.size:
        late = behind if rows is None else behind[among(behind, rows)]
        found = np.union1d(found, _scan(vectors, query, k, late))
    return found


def among(some: RowArray, rows: RowArray) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    at = np.searchsorted(rows, some)
    at[at == rows.size] = 0
    return np.asarray(rows[at] == some if rows.size else np.zeros(some.size, np.bool_))


def _ranked(
    vectors: VectorSet, query: Query, found: RowArray, k: int, plan: Plan, costs: Estimate
) -> VectorResult:
    at = owners = found if vectors.one_each else vectors.positions_of(found)
    scores = vectors.fine_dot(query, at)
    if not vectors.one_each:
        owners = vectors.owners[at]
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        owners, scores = owners[first], np.maximum.reduceat(scores, first) if first.size else scores
    order = (-scores).argsort(kind="stable")[: max(k, 0)]
    return VectorResult(owners[order], scores[order], plan, costs)


def _greatest(scores: FloatArray, count: int) -> RowArray:
    """Positions of the `count` greatest finite scores, ascending, so that equal scores stand in order of row."""
    picked = greatest(scores, count)
    return picked[scores[picked] > -np.inf]
