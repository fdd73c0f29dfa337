"""POST /api/v1/ask: a question that needs several steps, answered by the agent, a JSON line for each step.

The agent's loop runs in a thread of its own small pool. It ends at its next turn once the client has gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Annotated

from anyio import CapacityLimiter
from fastapi import FastAPI
from pydantic import BeforeValidator, Field, TypeAdapter

from ..agent import loop
from ..agent.calls import arguments_of, name_of
from ..agent.loop import MAX_QUESTION, End, Outcome, Step
from ..agent.results import Item
from ..wall_time import moment
from .live import Edition, LiveAlbum
from .server.guard import ASK
from .server.problem import end_of, one_line, problems
from .server.stream import LineStream
from .views import LAST_DAY, MAX_PHOTOS, VISIBLE, Body, number

if TYPE_CHECKING:
    from gamer.index import Album as Reader

ASKS_AT_ONCE = 2  # a question takes as long as several searches, which have their own threads
PREVIEWED = 6  # photos of a step
MAX_MEMORY = 300  # characters of a photo's memory


class AskRequest(Body):
    """`question` must contain a character other than white space and control characters.

    `as`: whether photos or a sentence are wanted; by default what the question asks for. `now`: the time from
    which "last spring" is counted.
    """

    question: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_QUESTION,
            pattern=VISIBLE,
            examples=["the first photo of the day I saw the Tokyo Tower"],
        ),
    ]
    end: Annotated[End | None, Field(alias="as")] = None
    now: Annotated[int, Field(ge=0, le=LAST_DAY), BeforeValidator(number)] | None = None


@dataclass(frozen=True)
class AskPhoto:
    """`id`: as in a hit. `ref`: what the steps' arguments call it.

    `taken`: wall time, ISO 8601. `memory`: its first MAX_MEMORY characters.
    """

    id: str
    ref: str
    row: int
    taken: str | None
    lat: float | None
    lon: float | None
    memory: str | None


@dataclass(frozen=True)
class AskLeft:
    """What the task may still use."""

    calls: int
    views: int
    turns: int


@dataclass(frozen=True)
class AskStep:
    """A line of the response: one turn of the agent.

    `tool`, `arguments`: what it called; null if it only thought. `found`: the number of photos; `items`: the
    first PREVIEWED of them. `error`: why there is no result, "" if there is one. `ms`: of the call.
    """

    thought: str
    tool: str | None
    arguments: dict[str, str | int | bool | list[str]]
    found: int
    items: tuple[AskPhoto, ...]
    note: str
    error: str
    ms: float
    left: AskLeft | None


@dataclass(frozen=True)
class AskAnswer:
    """`found`: whether the album holds an answer; if not, the photos are the nearest.

    `photos`: the number of those to show; `items`: the first MAX_PHOTOS.
    """

    sentence: str
    found: bool
    photos: int
    items: tuple[AskPhoto, ...]


@dataclass(frozen=True)
class AskEnd:
    """The last line of the response.

    `ended`: "answer", "budget" (the answer is then what was found last), or the line of the error that ended
    the task.
    """

    answer: AskAnswer
    ended: str


AskLine = AskStep | AskEnd
Tell = Callable[[AskLine], None]
_LINE: TypeAdapter[AskLine] = TypeAdapter(AskLine)


def add_ask(api: FastAPI, live: LiveAlbum) -> None:
    """Adds the route."""
    threads = CapacityLimiter(ASKS_AT_ONCE)

    @api.post(
        ASK,
        status_code=200,
        response_class=LineStream,
        response_model=AskLine,
        responses=problems(408, 413, 503),
        tags=["search"],
    )
    async def ask(asked: AskRequest) -> LineStream:
        """Answers a question that needs several steps, such as "the first photo of the day I saw the tower".

        The response has a line of JSON for each step as it ends, and a last one with the answer.
        """

        def work(tell: Tell, gone: Event) -> None:
            with live.edition() as edition:
                solve(edition, asked, tell, gone.is_set)

        return LineStream(work, threads, _LINE)


def solve(edition: Edition, asked: AskRequest, tell: Tell, stop: Callable[[], bool]) -> None:
    """Runs the task, and tells each step and the end. Raises only what goes wrong before the first step."""
    now, told = moment(asked.now), False

    def on_step(step: Step) -> None:
        nonlocal told
        told = True
        tell(_step(edition.album, step))

    try:
        outcome = edition.opened.ask(asked.question, end=asked.end, now=now, on_step=on_step, stop=stop)
        tell(_end(edition.album, outcome))
    except Exception as error:
        if not told:  # no status has been sent: the error handlers give one
            raise
        nothing = AskAnswer(loop.NOTHING.sentence, False, 0, ())
        tell(AskEnd(nothing, end_of("a question", error, edition.album.path)))


def _step(album: Reader, step: Step) -> AskStep:
    seen = step.observation
    call = step.call
    return AskStep(
        step.thought,
        None if call is None else name_of(call),
        {} if call is None else arguments_of(call),
        0 if seen is None else len(seen.result.rows),
        () if seen is None else _photos(album, seen.result.items[:PREVIEWED]),
        "" if seen is None else seen.result.note,
        "" if seen is None else seen.error,
        step.ms,
        None if seen is None else AskLeft(seen.left.calls, seen.left.views, seen.left.turns),
    )


def _end(album: Reader, outcome: Outcome) -> AskEnd:
    answer, items = outcome.answer, _photos(album, outcome.shown[:MAX_PHOTOS])
    said = AskAnswer(answer.sentence, answer.found, len(outcome.shown), items)
    return AskEnd(said, one_line(outcome.ended))


def _photos(album: Reader, items: Sequence[Item]) -> tuple[AskPhoto, ...]:
    photos = album.photos([item.row for item in items])
    return tuple(
        AskPhoto(photo.id, item.id, item.row, item.taken, photo.lat, photo.lon, _clipped(item.memory))
        for photo, item in zip(photos, items, strict=True)
    )


def _clipped(text: str | None) -> str | None:
    return text if text is None or len(text) <= MAX_MEMORY else text[: MAX_MEMORY - 1] + "…"
