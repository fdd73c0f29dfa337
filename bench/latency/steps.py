"""A stopwatch inside a search: what each step of a layer takes, by wrapping the engine's own calls. Knows
their names; changes no result.

The table below is literal. A step that the engine no longer has is an error, never a row of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from time import perf_counter_ns
from typing import Any

from gamer.runtime.search import engine as engine_module
from gamer.runtime.search import ranking
from gamer.runtime.search.answer import LAYERS
from gamer.runtime.search.engine import Engine

Step = tuple[str, str]
# (layer, step) → whose attribute. Steps of a layer may lie inside one another: cosines are part of features.
STEPS: dict[Step, tuple[str, str]] = {
    ("cube", "cue parse"): ("module", "parse"),
    ("cube", "cues by language model"): ("engine", "_quoted"),
    ("cube", "anchors"): ("module", "resolve"),
    ("kdtree", "K-D query"): ("album", "in_cubes"),
    ("refine", "rewrite"): ("engine", "_refine"),
    ("refine", "tokenise"): ("text", "ids"),
    ("refine", "text tower"): ("text", "_run"),
    ("graph", "entity match"): ("album", "match_entities"),
    ("vectors", "words (BM25)"): ("album", "words"),
    ("vectors", "candidates"): ("engine", "_candidates"),
    ("vectors", "features"): ("engine", "_features"),
    ("vectors", "cosines, in features"): ("engine", "_cosines"),
    ("vectors", "weights"): ("ranking", "weighted"),
    ("vectors", "re-rank"): ("engine", "_order"),
    ("answer", "likely here"): ("engine", "_presence"),
    ("answer", "rows of hits"): ("engine", "_hits"),
}
PREFILL, DECODE = ("refine", "prefill"), ("refine", "decode")
FIRST_ONLY = frozenset((("kdtree", "K-D query"),))  # later boxes of a search are evidence, not layer 1


class Stopwatch:
    """Nanoseconds by step of the search under way. One thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.spent = engine, dict[Step, int]()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Wraps the engine's calls for the time of the block."""
        owners: dict[str, Any] = {
            "module": engine_module, "engine": self._engine, "album": self._engine.album, "text": self._engine.models.text, "ranking": ranking,
        }  # fmt: skip
        undo: list[tuple[Any, str, Any]] = []
        try:
            for step, (owner, name) in STEPS.items():
                undo.append(_swap(owners[owner], name, self._timed(step, getattr(owners[owner], name))))
            if "language_model" in self._engine.models.__dict__:  # loaded by an earlier search
                decoder = self._engine.models.language_model.decoder
                undo.append(_swap(decoder, "forward", self._forward(decoder.forward)))
            yield
        finally:
            for owner, name, old in reversed(undo):
                _restore(owner, name, old)

    def lap(self) -> dict[Step, int]:
        """What the last search spent; starts anew."""
        spent, self.spent = self.spent, {}
        return spent

    def _timed(self, step: Step, call: Callable[..., Any]) -> Callable[..., Any]:
        def inner(*args: Any, **named: Any) -> Any:
            if step in FIRST_ONLY and step in self.spent:
                return call(*args, **named)
            begin = perf_counter_ns()
            try:
                return call(*args, **named)
            finally:
                self.spent[step] = self.spent.get(step, 0) + perf_counter_ns() - begin

        return inner

    def _forward(self, call: Callable[[Any], Any]) -> Callable[[Any], Any]:
        prefill, decode = self._timed(PREFILL, call), self._timed(DECODE, call)
        return lambda embeds: prefill(embeds) if len(embeds) > 1 else decode(embeds)


class Forgetful:
    """In place of the engine's kept refinements: each search asks the language model anew."""

    def get(self, key: tuple[object, ...]) -> None:
        return None

    def put(self, key: tuple[object, ...], answer: tuple[str, str]) -> None:
        return None


@contextmanager
def no_trace() -> Iterator[None]:
    """Searches without the engine's own clock: what its trace costs is the difference."""
    old = _swap(engine_module, "_Clock", _NoClock)
    try:
        yield
    finally:
        _restore(*old)


class _NoClock:
    milliseconds = dict.fromkeys(("load", *LAYERS), 0.0)

    def __call__(self, layer: str) -> nullcontext[None]:
        return nullcontext()


def _swap(owner: Any, name: str, new: Any) -> tuple[Any, str, Any]:
    """Puts `new` in place; returns what `_restore` needs.

    A method is hidden by an attribute of the object, and shows again without it.
    """
    old = owner.__dict__.get(name)
    setattr(owner, name, new)
    return owner, name, old


def _restore(owner: Any, name: str, old: Any) -> None:
    if old is None:
        delattr(owner, name)
    else:
        setattr(owner, name, old)


def names(spent: Sequence[dict[Step, int]]) -> list[Step]:
    """The steps that any search took, in the table's order."""
    seen = {step for one in spent for step in one}
    return [step for step in (*STEPS, PREFILL, DECODE) if step in seen]
