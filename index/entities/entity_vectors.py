"""Which entity nodes are near a query: all of them scored, or from some thousands on those alone that a graph
over them proposes.

Nodes are entity rows; a name that was merged speaks, with its own vector, for the entity it was merged with.
A graph knows the rows that had a vector when it was built; later ones are scored beside it. Knows vectors and
rows; knows no SQL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import AlbumError
from ..records import FloatArray, RowArray
from ..vectors import hnsw
from ..vectors.quantize import Query, VectorSet

SEGMENT = "entities"
GRAPH_FROM = 10_000  # nodes: a scan of fewer costs less than half a millisecond
IN_VIEW = 256  # nodes that a walk keeps; a δ that lets more through is answered by a scan


class NodeVectors(NamedTuple):
    """`vectors`: owners are entity rows, one vector each at most.

    `roots`: int64 [entities], whom each row stands for.
    """

    vectors: VectorSet
    roots: RowArray


@dataclass(frozen=True, eq=False)
class Nodes:
    """`graph`: with the positions of the vectors that it does not know; None if there is none that can be
    used.
    """

    found: NodeVectors
    graph: tuple[hnsw.Hnsw, RowArray] | None = None

    @classmethod
    def of(cls, found: NodeVectors, blob: bytes | None) -> Nodes:
        """`blob`: the segment's; one that does not fit the nodes is not there."""
        vectors = found.vectors
        if blob is None:
            return cls(found)
        try:
            known = hnsw.counts_of(blob)
            now = np.bincount(vectors.owners, minlength=known.size)
            behind = np.flatnonzero(np.concatenate([now[: known.size] != known, now[known.size :] > 0]))
            return cls(
                found, (hnsw.load(blob, vectors, behind), np.flatnonzero(np.isin(vectors.owners, behind)))
            )
        except AlbumError:
            return cls(found)

    @property
    def dim(self) -> int:
        return self.found.vectors.dim

    def similar(self, query: FloatArray, delta: float) -> FloatArray:
        """float32 [entities]: each root's best cosine where it reaches `delta`, -inf elsewhere."""
        ready, vectors = Query(query), self.found.vectors
        at = None
        if self.graph is not None:
            graph, late = self.graph
            at = np.concatenate([graph.candidates(ready, IN_VIEW), late])
        scores = vectors.dot(ready, at)
        if (
            at is not None and int((scores >= delta).sum()) * 2 > IN_VIEW
        ):  # the walk may have seen too few of them
            at, scores = None, vectors.dot(ready)
        owners = self.found.roots[vectors.owners if at is None else vectors.owners[at]]
        near = scores >= delta
        best = np.full(self.found.roots.size, -np.inf, np.float32)
        np.maximum.at(best, owners[near], scores[near])
        return best
