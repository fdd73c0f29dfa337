"""Chooses between scoring every vector that a filter leaves and walking the graph past those that it does
not. Knows costs; does neither.

The graph engines know no filter, so a walk must find k / share vectors for k to be left; the scan reads only
those that are left. The constants are microseconds set by hand from micro-benchmarks on one x86 core, fitted
by no program; `gamer bench ann` shows what they choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

Plan = Literal["exact", "hnsw"]

# vectors that a walk keeps in view at least: recall@10 near 0.99 without a filter; `gamer bench ann` says how
# near
MIN_WALK = 76
_PER_WANTED = 1.6  # vectors kept in view for each that must be found: its tail is less complete than its head
_SCAN = (45.0, 0.02, 0.00012)  # a call, a vector, a dimension of one read in its place
_GATHERED = (0.03, 0.00008)  # more for one that stands alone
_WALK = (80.0, 0.5, 0.0022)  # a call, a vector in view, a dimension of one


@dataclass(frozen=True)
class Estimate:
    """What the planner knew: `left` of `total` vectors pass the filter. `chunks`: vectors a photo, on
    average; k photos need as many times k.
    """

    total: int
    left: int
    dim: int
    k: int
    has_graph: bool
    chunks: float = 1.0

    @property
    def width(self) -> int:
        """Vectors that a walk would keep in view."""
        return min(
            self.total,
            max(
                MIN_WALK,
                2 * self.k,
                ceil(_PER_WANTED * self.k * self.chunks * self.total / max(self.left, 1)),
            ),
        )

    @property
    def exact_us(self) -> float:
        call, vector, each = _SCAN
        if self.left < self.total:
            vector, each = vector + _GATHERED[0], each + _GATHERED[1]
        return call + self.left * (vector + each * self.dim)

    @property
    def graph_us(self) -> float:
        call, vector, each = _WALK
        return call + self.width * (vector + each * self.dim)

    @property
    def plan(self) -> Plan:
        return "hnsw" if self.has_graph and self.left and self.graph_us < self.exact_us else "exact"

    def __str__(self) -> str:
        graph = f"a walk of {self.width} {self.graph_us:.0f} µs" if self.has_graph else "no graph"
        return f"{self.left} of {self.total} vectors: a scan {self.exact_us:.0f} µs, {graph}"
