"""Layer 2: the entity graph's arrays and its walk. Photos ↔ entities (mentions), entity → entity (edges), all
as row numbers.

Knows integers and similarities that somebody else computed. Knows no SQL, no names and no model (how entities
are found in a text is entities.py).
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
    """Row → rows, compressed: the neighbours of i are `targets[offsets[i]:offsets[i + 1]]`."""

    offsets: RowArray
    targets: RowArray
    n_targets: int

    def of(self, rows: RowArray) -> RowArray:
        """Sorted unique neighbours of all the rows."""
        return distinct(self.gather(rows)[0], self.n_targets)

    def gather(self, rows: RowArray) -> tuple[RowArray, RowArray]:
        """All neighbours of the rows in a line, each with the index (into `rows`) of the row it belongs to."""
        sizes = self.offsets[rows + 1] - self.offsets[rows]
        starts = np.cumsum(sizes) - sizes
        which = np.repeat(np.arange(rows.size, dtype=np.int64), sizes)
        at = np.arange(which.size, dtype=np.int64) - starts[which] + self.offsets[rows][which]
        return self.targets[at], which


def adjacency(sources: RowArray, targets: RowArray, n: int, n_targets: int) -> Adjacency:
    """From pairs in any order; `n` counts the source rows, `n_targets` the target rows."""
    order = np.lexsort((targets, sources))
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=n), out=offsets[1:])
    return Adjacency(offsets, np.asarray(targets[order], np.int64), n_targets)


def traverse(activated: RowArray, similarity: FloatArray, edges: Adjacency, delta: float) -> RowArray:
    """The nodes with similarity ≥ delta that the walk reaches: activated ones, then parents and children of
    kept ones, until none is new.

    `edges` holds each relation in both directions. Best first; equal similarities in order of row.
    """
    kept: NDArray[np.bool_] = np.zeros(similarity.size, np.bool_)
    frontier = activated[similarity[activated] >= delta]
    while frontier.size:
        kept[frontier] = True
        near = edges.of(frontier)
        frontier = near[(similarity[near] >= delta) & ~kept[near]]
    rows = np.flatnonzero(kept)
    return np.asarray(rows[np.argsort(-similarity[rows], kind="stable")], np.int64)
