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
from typing import Annotated, Any, Literal

from gamer.index import Album, image_id
from gamer.index.json_checked import UNICODE, Between, Items, JsonError, Text, Via, parse, read_as

from ..errors import RuntimeFailure
from . import calls
from .loop import MAX_QUESTION, Budget, End, Outcome, Step
from .toolbox import Toolbox

VERSION = 1
MAX_LINE = 8_000_000  # characters of a trace
MAX_TRACES = 100_000  # of a file
MAX_TURNS = 1_000
MAX_FOUND = 1_000  # photos of one result that a trace names; all are counted
MAX_ANSWER = 100_000  # photos
Tokens = Literal["none", "counted", "estimated"]
Name = Annotated[str, Text(1_000, pattern=UNICODE, form="in valid Unicode")]
Words = Annotated[str, Text(MAX_QUESTION, pattern=UNICODE, form="in valid Unicode")]
PHOTO = r"img_[0-9a-f]{10}"
PhotoId = Annotated[str, Text(pattern=PHOTO, form="such as img_0123456789")]
Count = Annotated[int, Between(0, 10**9)]
Milliseconds = Annotated[float, Between(0, 1e9)]  # eleven days


class TraceError(RuntimeFailure):
    """A trace that cannot be read, or that belongs to another album or question; the message is one line."""


@dataclass(frozen=True)
class Cost:
    """What a mind used to think: tokens that its model read and wrote, and milliseconds without the calls."""

    read: Count = 0
    written: Count = 0
    ms: Milliseconds = 0.0


@dataclass(frozen=True)
class Turn:
    """One turn. `tool`, `arguments`: of its call, None without one. `found`: photos of the result.

    `photos`: the short ids of the first MAX_FOUND of them. `ms`: of the call; `cost`: of the thinking before.
    """

    thought: Words
    tool: Any
    arguments: Any
    error: Words
    found: Count
    photos: Annotated[tuple[PhotoId, ...], Items(MAX_FOUND)]
    ms: Milliseconds
    cost: Cost = Cost()

    @classmethod
    def of(cls, thought: str, call: calls.Call | None, *rest: Any) -> Turn:
        """`rest`: the other fields, from `error` on."""
        made = (None, None) if call is None else (calls.name_of(call), calls.arguments_of(call))
        return cls(thought, *made, *rest)

    @property
    def call(self) -> calls.Call | None:
        """Raises ToolError for what is none."""
        called = self.tool is not None or self.arguments is not None
        return calls.parse(self.tool, self.arguments) if called else None


def _checked(turn: Turn) -> Turn:
    try:
        _ = turn.call
    except calls.ToolError as refused:
        raise JsonError(str(refused)) from None
    if len(turn.photos) != min(turn.found, MAX_FOUND):
        raise JsonError(f"found is {turn.found}, but photos has {len(turn.photos)}")
    return turn


@dataclass(frozen=True)
class Trace:
    """A task as it went. `task`: its name in whatever asked it.

    `album`: see `fingerprint`. `leaving`: as the toolbox had it. `photos`, `sentence`, `found`, `ended`: of
    the outcome. `tokens`: how those of the costs are known. `cost`: of the thinking after the last turn.
    """

    task: Name
    question: Words
    end: End
    mind: Name
    album: Annotated[str, Text(64, pattern=UNICODE, form="in valid Unicode")]
    leaving: bool
    budget: Budget
    tokens: Tokens
    turns: Annotated[tuple[Annotated[Turn, Via(Turn, _checked)], ...], Items(MAX_TURNS)]
    photos: Annotated[tuple[PhotoId, ...], Items(MAX_ANSWER)]
    sentence: Words
    found: bool
    ended: Words
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
        return Turn.of(_text(step.thought), step.call, error, len(rows), photos, step.ms, cost)


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
    lines = [json.dumps({"version": VERSION} | asdict(trace)) for trace in traces]
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
    try:
        record = read_as(dict[str, Any], parse(line), "trace")
        read_as(Literal[1], record.pop("version", None), "trace.version")  # VERSION
        trace: Trace = read_as(Trace, record, "trace", whole=True)
    except JsonError as error:
        raise TraceError(str(error)) from None
    return trace


def _text(text: str) -> str:
    """A model's JSON may hold half a surrogate pair, which no file can."""
    return text.encode("utf-8", "replace").decode()
