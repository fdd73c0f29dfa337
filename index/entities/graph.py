"""Layer 2: the entity graph as arrays of row numbers, and its traversal.

A photo hangs on the entities that its memories are about; edges lead from these to what describes them. The
paper searches depth-first from the entities of the photos in the cube for nodes that are similar to the
query. Here the similar nodes are known first, and are few: the walk goes from each of them against the edges,
which finds the same pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..records import RowArray
from ..row_sets import distinct

__all__ = ["Adjacency", "above", "adjacency", "depth_first", "reach"]


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
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=n), out=offsets[1:])
    pairs = sources * n_targets + targets  # one number a pair: sorted in a tenth of the time
    pairs.sort()
    return Adjacency(offsets, np.asarray(pairs % max(n_targets, 1), np.int64), n_targets)


def reach(nodes: RowArray, edges: Adjacency, depth: int) -> RowArray:
    """int64, ascending: the nodes that at most `depth` edges lead to from `nodes`, and these.

    The similarity of the nodes on the way does not matter.
    """
    found = np.zeros(edges.n_targets, np.bool_)
    frontier = np.asarray(nodes, np.int64)
    for _ in range(depth + 1):
        frontier = frontier[~found[frontier]]
        if not frontier.size:
            break
        found[frontier] = True
        frontier = edges.of(frontier)
    return np.asarray(np.flatnonzero(found), np.int64)


def depth_first(node: int, edges: Adjacency) -> list[int]:
    """The nodes to which edges lead from `node`, and itself, in the order of a search depth-first."""
    found, stack = dict[int, None](), [node]
    while stack:
        at = stack.pop()
        if at not in found:
            found[at] = None
            stack.extend(reversed(edges.of(np.array([at], np.int64)).tolist()))
    return list(found)


def above(node: int, parents: Adjacency, depth: int) -> RowArray:
    """The nodes from which a depth-first search over edges from parent to child reaches `node`, and itself.

    `parents`: of each node.
    """
    return reach(np.array([node], np.int64), parents, depth)
