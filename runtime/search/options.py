"""How one search may differ from the default, and an observer of its steps; for measurements and apps."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gamer.index import FloatArray, RowArray, RowSet

from .. import defaults
from ..bundle.manifest import Ranking

if TYPE_CHECKING:  # a search without the language model must not import its code
    from ..models.language.llm import Generation
    from .stages.earlier import EarlierSearches

MAX_K = defaults.MAX_HITS
MAX_QUERY = 100_000  # characters
# Layers that can be left out. Without "cube" no time or place is read from the query; without "vectors" mode
# "paper" ranks by entity nodes alone.
SKIPPABLE = frozenset({"cube", "vectors"})
# Who describes what is looked for, from the bank of things (things.py).
THINGS = ("off", "template", "llm")


@dataclass(frozen=True, eq=False)
class SearchOptions:
    """How one search differs from the default.

    `within`: only these photos. `then`: photos that fit the query's times whatever their own time, because a
    date is printed on them. `wishes`: whether what resemblance cannot say is read from the query as well
    (wishes_met.py). `weights`: of the fused ranking, instead of the bundle's. `delta`: the entity
    threshold δ, instead of the album's. `skip`: layers of SKIPPABLE to leave out; ValueError for others.
    `vector`: the query's embedding, float32 [D], if already computed. `reuse_refinements`: whether the
    language model's earlier answer to the same query is used again. `refined`: the refined query Q̂, if it is
    already made; cues are read from the query all the same. `timed`: whether the trace holds
    milliseconds by layer (else zeros). `things`: who writes T_t for a query about a thing of the owner, one
    of THINGS (things.py); "off": nobody. `thing_weight`: of its feature; None: the default. `adapter`: what
    reads the query for the vector that photos are ranked by: True: the query adapter of album or bundle, if
    there is one; False: none; or another one's values. `earlier`: what was searched before and opened
    (stages/earlier.py): True: as the album keeps it; False: nothing; or others. `gloss`: whether words of
    other languages are read as English ones, by the bundle's tables (glosses/). `language`: of a query that
    is a part of a longer one, the code of that one's language, which the part alone may not tell ("Tempel" of
    "ohne Tempel").
    """

    within: RowSet | None = None
    then: RowSet | None = None
    wishes: bool = False
    weights: Ranking | None = None
    delta: float | None = None
    skip: frozenset[str] = frozenset()
    vector: FloatArray | None = None
    reuse_refinements: bool = True
    refined: str | None = None
    timed: bool = True
    things: str = "off"
    thing_weight: float | None = None
    adapter: FloatArray | bool = True
    earlier: EarlierSearches | bool = True
    gloss: bool = True
    language: str = ""

    def __post_init__(self) -> None:
        if unknown := self.skip - SKIPPABLE:
            raise ValueError(f"unknown layer {min(unknown)!r}; choose from: {', '.join(sorted(SKIPPABLE))}")
        if self.things not in THINGS:
            raise ValueError(f"unknown things {self.things!r}; choose from: {', '.join(THINGS)}")


class Observer:
    """Is notified of a search's steps as they happen; this base class ignores them. Override to measure.

    Steps nest: "cosines, in features" runs inside "features". A step may end with an exception.
    """

    def step(self, layer: str, name: str) -> AbstractContextManager[None]:
        """A context manager that spans one step of a layer, or of "answer"."""
        return _NOTHING

    def generated(self, generation: Generation) -> None:
        """The language model's refinement, with its times. Not called when an earlier answer is reused."""

    def ranked(self, rows: RowArray, features: Mapping[str, FloatArray]) -> None:
        """The rows that mode "fused" ranks, and each unweighted feature, float32 [rows]."""


DEFAULT = SearchOptions()
# Where a set ends and whether there is one (membership.py) was fitted without what is learned.
FOR_SETS = SearchOptions(adapter=False, earlier=False)
AS_ASKED = SearchOptions(wishes=True)  # as the command and the page search
_NOTHING: AbstractContextManager[None] = nullcontext()
SILENT = Observer()
