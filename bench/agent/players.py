"""Who is measured: a mind by name, one behind an endpoint, a replay, or a model with all in its prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path

from gamer.runtime.agent import minds
from gamer.runtime.agent.llm_mind import LlmMind
from gamer.runtime.agent.loop import Budget, Mind
from gamer.runtime.agent.openai_mind import OpenAiMind
from gamer.runtime.agent.recording import Trace, TraceError, read_traces
from gamer.runtime.agent.replay import Replay
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.engine import Engine

from .meter import Meter, MeteredEndpoint, metered
from .whole_prompt import METHOD, BundleReader, EndpointReader, Reader, WholePrompt

OPENAI = "openai"
TEMPERATURE = 0.7  # of an endpoint's model where its runs are to differ
Opens = Callable[[Engine, datetime, bool], Toolbox]  # engine, now, leaving
Makes = Callable[[Toolbox, datetime, str, Meter], Mind]  # toolbox, now, the task's label, its meter


@dataclass(frozen=True)
class Remote:
    """A model behind an endpoint, by default one of this machine. `context`: tokens that it takes at once."""

    model: str
    url: str | None = None
    context: int = 8_192

    def mind(self, toolbox: Toolbox, meter: Meter, temperature: float, seed: int) -> OpenAiMind:
        """As `gamer ask --model` makes it, with a meter. Raises RuntimeFailure."""
        made = minds.endpoint_mind(toolbox, self.url, self.model, self.context)
        assert isinstance(made, OpenAiMind)
        plain = {field.name: getattr(made.endpoint, field.name) for field in fields(made.endpoint)}
        endpoint = MeteredEndpoint(**plain, meter=meter, temperature=temperature, seed=seed)
        return replace(made, endpoint=endpoint)


def opened(engine: Engine, now: datetime, leaving: bool) -> Toolbox:
    return Toolbox(engine, now, leaving=leaving)


@dataclass(frozen=True)
class Player:
    """Makes the minds of one method. `budget`: of a task by its label.

    `reader`: its model, if it has one that can also read the whole album in one prompt.
    """

    name: str
    mind: Makes
    leaving: bool = False
    opens: Opens = opened
    budget: Callable[[str], Budget] = lambda _: Budget()
    reader: Callable[[Toolbox, Meter], Reader] | None = None


def player(name: str, remote: Remote | None, run: int = 0) -> Player:
    """`run`: 0, or the number of a repetition, in which an endpoint's model draws its answers."""
    if name == OPENAI:
        if remote is None:
            raise RuntimeFailure(f"--mind {OPENAI} needs the name of a model: give --model")
        return _remote(remote, run)

    def mind(toolbox: Toolbox, now: datetime, label: str, meter: Meter) -> Mind:
        made = minds.mind(name, toolbox, now)
        return replace(made, models=metered(made.models, meter)) if isinstance(made, LlmMind) else made

    def reader(toolbox: Toolbox, meter: Meter) -> Reader:
        return BundleReader(metered(toolbox.engine.models, meter))

    return Player(name, mind, reader=reader if name == "llm" else None)


def _remote(remote: Remote, run: int) -> Player:
    temperature = TEMPERATURE if run else 0.0

    def mind(toolbox: Toolbox, now: datetime, label: str, meter: Meter) -> Mind:
        return remote.mind(toolbox, meter, temperature, run)

    def reader(toolbox: Toolbox, meter: Meter) -> Reader:
        endpoint = remote.mind(toolbox, meter, temperature, run).endpoint
        assert isinstance(endpoint, MeteredEndpoint)
        return EndpointReader(endpoint, remote.context)

    return Player(f"{OPENAI}:{remote.model}", mind, leaving=True, reader=reader)


def reading_all(one: Player) -> Player:
    """The same model without tools, with every photo's line in its prompt."""
    make = one.reader
    assert make is not None
    name = METHOD.format(one.name)

    def mind(toolbox: Toolbox, now: datetime, label: str, meter: Meter) -> Mind:
        return WholePrompt(toolbox, make(toolbox, meter), name)

    return replace(one, name=name, mind=mind, reader=None)


def place_of(album: str, run: int) -> str:
    """Where a trace's task is from; a trace is labelled with it, a colon and the task's id."""
    return f"{album} run {run + 1}" if run else album


class Tape:
    """The traces of a file, by label and mind. Raises TraceError and OSError."""

    def __init__(self, path: Path) -> None:
        self._path, self._traces = path, dict[tuple[str, str], Trace]()
        for trace in read_traces(path):
            if (trace.task, trace.mind) in self._traces:
                raise TraceError(f"{path}: two traces of {trace.task} by {trace.mind}; record them again")
            self._traces[trace.task, trace.mind] = trace

    def places(self) -> set[str]:
        return {task.partition(":")[0] for task, _ in self._traces}

    def trace(self, label: str, mind: str) -> Trace:
        if (label, mind) not in self._traces:
            raise TraceError(f"{self._path}: no trace of {label} by {mind}; record it again")
        return self._traces[label, mind]

    def players(self, place: str) -> list[Player]:
        """One for each mind that was recorded there. Raises TraceError if there is none."""
        known = {mind: t for (task, mind), t in self._traces.items() if task.startswith(f"{place}:")}
        if not known:
            raise TraceError(f"{self._path}: no traces of {place}; record them first")
        return [self._player(name, trace.leaving) for name, trace in known.items()]

    def _player(self, name: str, leaving: bool) -> Player:
        def mind(toolbox: Toolbox, now: datetime, label: str, meter: Meter) -> Mind:
            return Replay(toolbox, self.trace(label, name))

        return Player(name, mind, leaving, budget=lambda label: self.trace(label, name).budget)


def players(
    names: Sequence[str], remote: Remote | None, tape: Tape | None, album: str, run: int
) -> list[Player]:
    """Those to measure over an album: by name, or those that a tape holds. Raises RuntimeFailure."""
    if tape is None:
        return [player(name, remote, run) for name in names]
    return tape.players(place_of(album, run))
