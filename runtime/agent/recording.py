"""Recorded tasks: a line of JSON for each, from which a task is played again without the mind that solved it.

A trace holds what the mind thought, called and was shown, with photos named by their short ids. It may come
from anywhere, so reading one trusts nothing: sizes are bounded, calls go through the tools' own parser, and
nothing is evaluated. It quotes no result; but thoughts, conditions and sentences may repeat what the mind
read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from gamer.index import Album, image_id

from . import calls
from .loop import ENDS, MAX_QUESTION, Budget, End, Outcome, Step
from .toolbox import Toolbox
from .trace_fields import Fields, TraceError

VERSION = 1
MAX_LINE = 8_000_000  # characters of a trace
MAX_TRACES = 100_000  # of a file
MAX_TURNS = 1_000
MAX_FOUND = 1_000  # photos of one result that a trace names; all are counted
MAX_ANSWER = 100_000  # photos
Tokens = Literal["none", "counted", "estimated"]


@dataclass(frozen=True)
class Cost:
    """What a mind used to think: tokens that its model read and wrote, and milliseconds without the calls."""

    read: int = 0
    written: int = 0
    ms: float = 0.0


@dataclass(frozen=True)
class Turn:
    """One turn. `found`: photos of the result; `photos`: the short ids of the first MAX_FOUND of them.

    `ms`: of the call; `cost`: of the thinking before it.
    """

    thought: str
    call: calls.Call | None
    error: str
    found: int
    photos: tuple[str, ...]
    ms: float
    cost: Cost = Cost()


@dataclass(frozen=True)
class Trace:
    """A task as it went. `task`: its name in whatever asked it.

    `album`: see `fingerprint`. `leaving`: as the toolbox had it. `photos`, `sentence`, `found`, `ended`: of
    the outcome. `tokens`: how those of the costs are known. `cost`: of the thinking after the last turn.
    """

    task: str
    question: str
    end: End
    mind: str
    album: str
    leaving: bool
    budget: Budget
    tokens: Tokens
    turns: tuple[Turn, ...]
    photos: tuple[str, ...]
    sentence: str
    found: bool
    ended: str
    cost: Cost = Cost()


class Recorder:
    """Makes traces of outcomes over one toolbox's album."""

    def __init__(self, toolbox: Toolbox, budget: Budget) -> None:
        self._album, self._leaving, self._budget = fingerprint(toolbox.album), toolbox.leaving, budget
        self._ids = toolbox.album.ids()

    def trace(
        self, outcome: Outcome, task: str, costs: Sequence[Cost] = (), tokens: Tokens = "none"
    ) -> Trace:
        """`costs`: of each turn and of the end, or none."""
        known = [*costs] or [Cost()] * (len(outcome.steps) + 1)
        return Trace(
            task=_text(task),
            question=_text(outcome.question),
            end=outcome.end,
            mind=_text(outcome.mind),
            album=self._album,
            leaving=self._leaving,
            budget=self._budget,
            tokens=tokens,
            turns=tuple(map(self._turn, outcome.steps, known[:-1])),
            photos=named(self._ids, outcome.answer.rows),
            sentence=_text(outcome.answer.sentence),
            found=outcome.answer.found,
            ended=_text(outcome.ended),
            cost=known[-1],
        )

    def _turn(self, step: Step, cost: Cost) -> Turn:
        seen = step.observation
        rows = () if seen is None else seen.result.rows
        error = "" if seen is None else _text(seen.error)
        photos = named(self._ids, rows[:MAX_FOUND])
        return Turn(_text(step.thought), step.call, error, len(rows), photos, step.ms, cost)


def named(ids: Sequence[str], rows: Sequence[int]) -> tuple[str, ...]:
    """The short ids of photos. `ids`: of all the album's photos, by row."""
    return tuple(image_id(ids[row]) for row in rows)


def fingerprint(album: Album) -> str:
    """The SHA-256 of the photos' ids and times: two albums share it if they hold the same photos.

    Memories, vectors and events do not count: where these have changed, a replay tells what differs.
    """
    photos = sorted(zip(album.ids(), album.times().tolist(), strict=True))
    return hashlib.sha256(json.dumps(photos).encode()).hexdigest()


def dumps(traces: Sequence[Trace]) -> str:
    """The traces as JSON Lines. Raises TraceError for one that could not be read again."""
    lines = [json.dumps(_record(trace)) for trace in traces]
    for trace, line in zip(traces, lines, strict=True):
        try:
            parse_trace(line)
        except TraceError as problem:
            raise TraceError(f"the task {trace.task!r} cannot be recorded: {problem}") from None
    return "".join(line + "\n" for line in lines)


def read_traces(path: Path) -> list[Trace]:
    """Raises TraceError, which names the line, and OSError."""
    traces: list[Trace] = []
    with path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
        while line := stream.readline(MAX_LINE + 1):
            number = len(traces) + 1
            try:
                if number > MAX_TRACES:
                    raise TraceError(f"more than {MAX_TRACES} traces")
                traces.append(parse_trace(line))
            except TraceError as problem:
                raise TraceError(f"{path}, line {number}: {problem}; record the traces again") from None
    return traces


def parse_trace(line: str) -> Trace:
    """A trace of a line of JSON. Raises TraceError."""
    if len(line) > MAX_LINE:
        raise TraceError(f"longer than {MAX_LINE} characters")
    fields = Fields.of_json(line, "trace")
    if fields.number("version", 1_000_000) != VERSION:
        raise TraceError(f"not a trace of version {VERSION}")
    trace = Trace(
        task=fields.text("task", 1_000),
        question=fields.text("question", MAX_QUESTION),
        end=fields.choice("end", ENDS),
        mind=fields.text("mind", 1_000),
        album=fields.text("album", 64),
        leaving=fields.truth("leaving"),
        budget=_budget(fields.inner("budget")),
        tokens=fields.choice("tokens", get_args(Tokens)),
        turns=tuple(_turn(turn) for turn in fields.inners("turns", MAX_TURNS)),
        photos=fields.photos("photos", MAX_ANSWER),
        sentence=fields.text("sentence", MAX_QUESTION),
        found=fields.truth("found"),
        ended=fields.text("ended", MAX_QUESTION),
        cost=_cost(fields.inner("cost")),
    )
    fields.close()
    return trace


def _turn(fields: Fields) -> Turn:
    turn = Turn(
        thought=fields.text("thought", MAX_QUESTION),
        call=_call(fields),
        error=fields.text("error", MAX_QUESTION),
        found=fields.number("found", 10**9),
        photos=fields.photos("photos", MAX_FOUND),
        ms=fields.milliseconds("ms"),
        cost=_cost(fields.inner("cost")),
    )
    fields.close()
    if len(turn.photos) != min(turn.found, MAX_FOUND):
        raise TraceError(f"{fields.where}: found is {turn.found}, but photos has {len(turn.photos)}")
    return turn


def _call(fields: Fields) -> calls.Call | None:
    name, arguments = fields.take("tool"), fields.take("arguments")
    if name is None and arguments is None:
        return None
    try:
        return calls.parse(name, arguments)
    except calls.ToolError as refused:
        raise TraceError(f"{fields.where}: {refused}") from None


def _budget(fields: Fields) -> Budget:
    budget = Budget(*(fields.number(name, 1_000) for name in ("calls", "views", "turns")))
    fields.close()
    return budget


def _cost(fields: Fields) -> Cost:
    cost = Cost(fields.number("read", 10**9), fields.number("written", 10**9), fields.milliseconds("ms"))
    fields.close()
    return cost


def _record(trace: Trace) -> dict[str, Any]:
    turns = [
        {
            "thought": turn.thought,
            "tool": None if turn.call is None else calls.name_of(turn.call),
            "arguments": None if turn.call is None else calls.arguments_of(turn.call),
            "error": turn.error,
            "found": turn.found,
            "photos": turn.photos,
            "ms": turn.ms,
            "cost": asdict(turn.cost),
        }
        for turn in trace.turns
    ]
    return {"version": VERSION} | asdict(trace) | {"turns": turns}


def _text(text: str) -> str:
    """A model's JSON may hold half a surrogate pair, which no file can."""
    return text.encode("utf-8", "replace").decode()
