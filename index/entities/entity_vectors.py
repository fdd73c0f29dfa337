"""Finds the entity nodes near a query vector, by scan or, from GRAPH_FROM nodes on, by a graph over them.

Nodes are entity rows. The vector of a merged name counts for the entity that the name was merged into. The
graph holds the rows that had a vector when it was built; rows embedded later are scored separately.
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
IN_VIEW = 256  # candidates of a graph search; if more than half as many nodes reach δ, all nodes are scored


class NodeVectors(NamedTuple):
    """The vectors of all entities that have one, and the entity that each row was merged into.

    `vectors`: the owners are entity rows, at most one vector each. `roots`: int64 [entities], the root entity
    of each row; the row itself if it was not merged.
    """

    vectors: VectorSet
    roots: RowArray


@dataclass(frozen=True, eq=False)
class EntityNodes:
    """The entity vectors and, if one is usable, a graph over them.

    `graph`: the graph and the positions of the vectors that it does not cover, or None.
    """

    found: NodeVectors
    graph: tuple[hnsw.Hnsw, RowArray] | None = None

    @classmethod
    def of(cls, nodes: NodeVectors, blob: bytes | None) -> EntityNodes:
        """`blob`: the segment's bytes or None; a segment that does not fit the nodes is ignored."""
        vectors = nodes.vectors
        if blob is None:
            return cls(nodes)
        try:
            known = hnsw.counts_of(blob)
            now = np.bincount(vectors.owners, minlength=known.size)
            behind = np.flatnonzero(np.concatenate([now[: known.size] != known, now[known.size :] > 0]))
            return cls(
                nodes, (hnsw.load(blob, vectors, behind), np.flatnonzero(np.isin(vectors.owners, behind)))
            )
        except AlbumError:
            return cls(nodes)

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
        if at is not None and int((scores >= delta).sum()) * 2 > IN_VIEW:
            # So many candidates pass that the graph may have missed others: score all nodes.
            at, scores = None, vectors.dot(ready)
        owners = self.found.roots[vectors.owners if at is None else vectors.owners[at]]
        near = scores >= delta
        best = np.full(self.found.roots.size, -np.inf, np.float32)
        np.maximum.at(best, owners[near], scores[near])
        return best
