"""POST /api/v1/chat: a turn of a conversation with the album, as `gamer chat` has it, answered as it comes.

The turn is stored, answered from memories and photos, and learnt from. A conversation goes on by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from threading import Event
from typing import Annotated

from anyio import CapacityLimiter
from fastapi import FastAPI
from pydantic import BeforeValidator, Field, TypeAdapter

from gamer.index.memory.records import Item, Kind

from ..search.options import MAX_QUERY
from .idle import IdleUpdates
from .live import Edition, LiveAlbum
from .memories import Memories
from .server.guard import TALK
from .server.problem import Refused, end_of, problems
from .server.stream import LineStream
from .views import VISIBLE, Body, number

AT_ONCE = 2
MAX_SHOWN = 4  # photos that one turn is said of

ShownRow = Annotated[int, Field(ge=0, le=2**31 - 1, strict=False), BeforeValidator(number)]


class TalkRequest(Body, strict=True):
    """`chat`: the conversation that an earlier answer named; a new one without it.

    `worded`: the bundle's language model may word the answer; what its evidence does not hold is not said.
    `plain`: what is done without it. `photos`: rows of the photos that
    the turn is said of.
    """

    text: Annotated[
        str, Field(min_length=1, max_length=MAX_QUERY, pattern=VISIBLE, examples=["Where do I live?"])
    ]
    chat: Annotated[str, Field(pattern="^chat [0-9a-f]{12}$")] | None = None
    worded: bool = False
    plain: bool = False
    photos: Annotated[list[ShownRow], Field(max_length=MAX_SHOWN)] = []  # noqa: RUF012


@dataclass(frozen=True)
class TalkPiece:
    """A part of the answer, as it comes."""

    piece: str


@dataclass(frozen=True)
class TalkMemory:
    """A memory that the answer is made of, by the id that /api/v1/memories gives it."""

    id: str
    kind: Kind
    text: str


@dataclass(frozen=True)
class TalkEnd:
    """The last line. `photos`: rows of the photos that were asked for. `sources`: of those whose memories it
    quotes. `memories`: those it is made of.

    `failed`: why the answer broke off, or what was said is not stored; "" if neither.
    """

    text: str
    chat: str
    photos: tuple[int, ...]
    sources: tuple[int, ...]
    memories: tuple[TalkMemory, ...]
    failed: str


TalkLine = TalkPiece | TalkEnd
Tell = Callable[[TalkLine], None]
_LINE: TypeAdapter[TalkLine] = TypeAdapter(TalkLine)


class Talks:
    """The conversations with one album; threads may share it."""

    def __init__(self, live: LiveAlbum, idle: IdleUpdates, memories: Memories) -> None:
        self._live, self._idle, self._memories = live, idle, memories

    def say(self, asked: TalkRequest, tell: Tell, gone: Event) -> None:
        """Tells the pieces of the answer and the end. Raises only what goes wrong before the first piece."""
        with self._live.edition() as edition:
            self._say(edition, asked, tell, gone)

    def _say(self, edition: Edition, asked: TalkRequest, tell: Tell, gone: Event) -> None:
        album, told = edition.album, False
        for row in asked.photos:
            if row >= len(album):
                raise Refused(404, "no_row", row=row, last=len(album) - 1)

        def piece(text: str) -> None:
            nonlocal told
            told = True
            tell(TalkPiece(text))

        worded = asked.worded and not asked.plain
        with self._idle.answering(), edition.opened.memory.talk(asked.chat, worded=worded) as talk:
            shown = [photo.id for photo in album.photos(asked.photos)]
            text, memories, failed = "", tuple[TalkMemory, ...](), ""
            photos = sources = tuple[int, ...]()
            try:
                said = talk.say(asked.text, datetime.now(), piece, gone, shown)
                text = said.text
                photos = tuple(map(album.row_of, said.photos))
                sources = tuple(map(album.row_of, said.sources))
                memories = tuple(_own(item) for item in said.reply.comes_from)
                talk.flush()
                if said.forgot:
                    self._memories.forgot()
            except Exception as error:
                if not told:  # no status has been sent: the error handlers give one
                    raise
                failed = end_of("a conversation", error, self._live.path)
        tell(TalkEnd(text, talk.name, photos, sources, memories, failed))


def _own(item: Item) -> TalkMemory:
    return TalkMemory(f"m{item.id}", item.value.kind, item.value.text)


def add_talk(api: FastAPI, live: LiveAlbum, idle: IdleUpdates, memories: Memories) -> None:
    """Adds the route. `idle`: pauses while a turn is answered."""
    threads, talks = CapacityLimiter(AT_ONCE), Talks(live, idle, memories)

    @api.post(
        TALK,
        status_code=200,
        response_class=LineStream,
        response_model=TalkLine,
        responses=problems(404, 408, 413, 503),
        tags=["memory"],
    )
    async def talk(asked: TalkRequest) -> LineStream:
        """Says something to the album, or asks it: what is said is remembered, and answered.

        The response has a line of JSON for each piece of the answer, and a last one with all of it.
        """
        return LineStream(partial(talks.say, asked), threads, _LINE)
