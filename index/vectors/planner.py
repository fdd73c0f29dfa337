"""The query planner: estimates whether an exact scan or a graph search is faster for a filtered query.

The graph engines cannot filter, so with selectivity s a graph search must find k / s vectors for k to pass
the filter; the scan reads only the vectors that pass. The constants are microseconds set by hand from
micro-benchmarks on one x86 core with VNNI, not fitted by a program; `gamer bench study ann` shows what they
choose. Where a scan takes little, it is chosen even if a walk took less: a scan misses nothing, a walk among
10,288 texts found 0.93 of the ten nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Literal

Plan = Literal["exact", "hnsw"]

# The least candidate-list size (ef) of a graph search: recall@10 near 0.99 without a filter, as measured by
# `gamer bench study ann`. Above OF_VECTORS it grows with the root of their number: 76 found 0.88 of the ten
# nearest among a million clustered vectors, where no engine's graph finds 0.99.
MIN_WALK, OF_VECTORS = 76, 100_000
_PER_WANTED = 1.6  # candidates per wanted vector: the end of a candidate list is less complete than its start
_SCAN = (45.0, 0.0, 0.00009)  # µs per call, per vector, per dimension of a vector that is read in sequence
_GATHERED = (0.0, 0.00008)  # additional µs per vector and per dimension where single vectors are gathered
_WALK = (80.0, 0.5, 0.0005)  # µs per call, per candidate, per dimension of a candidate
_LITTLE_US = 500.0  # what a scan may take where a walk would take less


@dataclass(frozen=True)
class Estimate:
    """The planner's inputs and cost estimates for one query.

    `left` of `total` vectors pass the filter. `chunks`: the average number of vectors per photo; k photos
    need about k * `chunks` vectors.
    """

    total: int
    left: int
    dim: int
    k: int
    chunks: float = 1.0

    @property
    def width(self) -> int:
        """The candidate-list size (ef) that a graph search would use."""
        return min(
            self.total,
            max(
                ceil(MIN_WALK * sqrt(max(self.total / OF_VECTORS, 1))),
                2 * self.k,
                ceil(_PER_WANTED * self.k * self.chunks * self.total / max(self.left, 1)),
            ),
        )

    @property
    def exact_us(self) -> float:
        per_call, per_vector, per_dim = _SCAN
        if self.left < self.total:
            per_vector, per_dim = per_vector + _GATHERED[0], per_dim + _GATHERED[1]
        return per_call + self.left * (per_vector + per_dim * self.dim)

    @property
    def graph_us(self) -> float:
        per_call, per_vector, per_dim = _WALK
        return per_call + self.width * (per_vector + per_dim * self.dim)

    @property
    def plan(self) -> Plan:
        return "hnsw" if self.left and max(self.graph_us, _LITTLE_US) < self.exact_us else "exact"
