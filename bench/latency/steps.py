"""A stopwatch inside a search: an observer that the engine calls at each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns

from gamer.runtime.models.language.llm import Generation
from gamer.runtime.search.options import Observer

Step = tuple[str, str]
# (layer, step) in the order of a search. Steps may be nested: cosines are part of features.
STEPS: tuple[Step, ...] = (
    ("cube", "cue parse"),
    ("cube", "cues by language model"),
    ("cube", "anchors"),
    ("kdtree", "K-D query"),
    ("refine", "rewrite"),
    ("refine", "tokenise"),
    ("refine", "text tower"),
    ("refine", "query head"),
    ("graph", "entity match"),
    ("vectors", "words (BM25)"),
    ("vectors", "candidates"),
    ("vectors", "features"),
    ("vectors", "cosines, in features"),
    ("vectors", "weights"),
    ("vectors", "re-rank"),
    ("answer", "presence"),
    ("answer", "rows of hits"),
    ("refine", "prefill"),
    ("refine", "decode"),
)
PREFILL, DECODE = STEPS[-2:]


class Stopwatch(Observer):
    """Adds up the nanoseconds of each step of the search that it observes. For one thread only."""

    def __init__(self) -> None:
        self.spent: dict[Step, int] = {}

    @contextmanager
    def step(self, layer: str, name: str) -> Iterator[None]:
        """Adds the block's time. Raises KeyError for a step that STEPS does not list."""
        if (layer, name) not in STEPS:
            raise KeyError(f"{layer}, {name}: a step of a search that bench/latency/steps.py does not list")
        begin = perf_counter_ns()
        try:
            yield
        finally:
            self.spent[layer, name] = self.spent.get((layer, name), 0) + perf_counter_ns() - begin

    def lap(self) -> dict[Step, int]:
        """Returns the nanoseconds by step since the last lap, and starts again from zero."""
        spent, self.spent = self.spent, {}
        return spent

    def generated(self, generation: Generation) -> None:
        """Adds the refinement's time to its first token (prefill) and after it (decode)."""
        self.spent[PREFILL] = self.spent.get(PREFILL, 0) + generation.first_ns
        self.spent[DECODE] = self.spent.get(DECODE, 0) + generation.decode_ns


def names(spent: Sequence[dict[Step, int]]) -> list[Step]:
    """The steps that any search took, in the order of STEPS."""
    taken = {step for times in spent for step in times}
    return [step for step in STEPS if step in taken]
