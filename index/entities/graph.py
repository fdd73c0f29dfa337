"""Layer 2: the entity graph as arrays of row numbers, and its traversal.

Mentions link photos and entities; edges link entities with entities. The similarities that the traversal uses
are computed by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..records import FloatArray, RowArray
from ..row_sets import distinct

__all__ = ["Adjacency", "adjacency", "traverse"]


@dataclass(frozen=True)
class Adjacency:
    """Compressed sparse rows (CSR): row i's neighbours are `targets[offsets[i]:offsets[i + 1]]`."""

    offsets: RowArray
    targets: RowArray
    n_targets: int

    def of(self, rows: RowArray) -> RowArray:
        """int64, the neighbours of all the rows, ascending without repeats."""
        return distinct(self.gather(rows)[0], self.n_targets)

    def gather(self, rows: RowArray) -> tuple[RowArray, RowArray]:
        """The neighbours of the rows, concatenated, and for each the index into `rows` of its row."""
        sizes = self.offsets[rows + 1] - self.offsets[rows]
        starts = np.cumsum(sizes) - sizes
        which = np.repeat(np.arange(rows.size, dtype=np.int64), sizes)
        at = np.arange(which.size, dtype=np.int64) - starts[which] + self.offsets[rows][which]
        return self.targets[at], which


def adjacency(sources: RowArray, targets: RowArray, n: int, n_targets: int) -> Adjacency:
    """Builds an Adjacency from pairs in any order; `n` source rows, `n_targets` target rows."""
    order = np.lexsort((targets, sources))
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=n), out=offsets[1:])
    return Adjacency(offsets, np.asarray(targets[order], np.int64), n_targets)


def traverse(activated: RowArray, similarity: FloatArray, edges: Adjacency, delta: float) -> RowArray:
    """The nodes with similarity ≥ delta that are reachable from the activated ones through such nodes.

    `similarity`: float32 [entities]. `edges` holds each relation in both directions. The result is sorted by
    similarity, best first; equal similarities in order of row.
    """
    reached: NDArray[np.bool_] = np.zeros(similarity.size, np.bool_)
    frontier = activated[similarity[activated] >= delta]
    while frontier.size:
        reached[frontier] = True
        near = edges.of(frontier)
        frontier = near[(similarity[near] >= delta) & ~reached[near]]
    rows = np.flatnonzero(reached)
    return np.asarray(rows[np.argsort(-similarity[rows], kind="stable")], np.int64)
