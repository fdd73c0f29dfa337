"""What may be changed about one search beside its query, and who may watch it: for measurements and apps
alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamer.index import FloatArray, RowArray

from ..bundle.manifest import Ranking

if TYPE_CHECKING:  # a search that asks no language model loads none of its code
    from ..models.llm import Generation

# Layers that a search can do without: no time or place is read from the query ("cube"); mode "paper" ranks by
# entity nodes alone ("vectors").
SKIPPABLE = frozenset({"cube", "vectors"})


@dataclass(frozen=True, eq=False)
class SearchOptions:
    """How one search differs from the default.

    `weights`: of the fused ranking, instead of the bundle's. `delta`: the entity threshold δ, instead of the
    album's. `skip`: layers of SKIPPABLE that are left out. `vector`: the query's embedding, float32 [D], if
    it was computed already. `reuse_refinements`: whether the language model's earlier answer to the same
    query is used again. `timed`: whether the trace holds milliseconds by layer (zeros without).
    """

    weights: Ranking | None = None
    delta: float | None = None
    skip: frozenset[str] = frozenset()
    vector: FloatArray | None = None
    reuse_refinements: bool = True
    timed: bool = True

    def __post_init__(self) -> None:
        if unknown := self.skip - SKIPPABLE:
            raise ValueError(f"unknown layer {min(unknown)!r}; choose from: {', '.join(sorted(SKIPPABLE))}")


class Observer:
    """Told what a search does while it does it. This one ignores everything; a measurement overrides a
    method.

    Steps nest: "cosines, in features" runs inside "features". A step may be left by an exception.
    """

    def step(self, layer: str, name: str) -> AbstractContextManager[None]:
        """Entered for the time of one step of a layer, or of "answer"."""
        return _NOTHING

    def generated(self, generation: Generation) -> None:
        """The language model's answer to a refinement, with its times; an answer used again is not told."""

    def ranked(self, rows: RowArray, features: Mapping[str, FloatArray]) -> None:
        """The rows that the fused mode ranks, and each unweighted summand of their scores, float32 [rows]."""


_NOTHING: AbstractContextManager[None] = nullcontext()
SILENT = Observer()
