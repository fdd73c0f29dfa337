"""/api/v1/memories: what the album knows about its owner, listed, shown, added to, corrected and forgotten.

Every request opens the album's memories by itself, so that it sees what `gamer chat` and `gamer memory` do
meanwhile, and holds the writer's lock only while it writes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated

from fastapi import FastAPI, Path, Query
from pydantic import BeforeValidator, Field

from gamer.index.memory.records import MAX_ITEM, MAX_NAME, Item, Kind, StoredTurn

from ..door.album import Album
from .live import LiveAlbum, Threads
from .server.problem import problems
from .views import (
    VISIBLE,
    Body,
    Changed,
    MemoriesForgotten,
    MemoryDetailView,
    MemoryPage,
    OwnMemory,
    TurnView,
    digits,
    truth,
)

MEMORIES = "/api/v1/memories"
AT_ONCE = 4
MAX_PAGE = 200

MemoryId = Annotated[
    str, Path(pattern="^m(0|[1-9][0-9]{0,14})$", description="as in the list", examples=["m12"])
]
Text = Annotated[str, Field(min_length=1, max_length=MAX_ITEM, pattern=VISIBLE)]


class AddRequest(Body, strict=True):
    """`key`: what it is about, such as "home"; core and procedural memories need one, and a later value takes
    its place. `share`: it may be exported; without it the memory stays on the device.

    A text has at most 2,000 bytes of UTF-8, a key 200.
    """

    kind: Kind = "semantic"
    key: Annotated[str, Field(max_length=MAX_NAME)] = ""
    text: Text
    share: bool = False


class EditRequest(Body, strict=True):
    """The corrected words, at most 2,000 bytes of UTF-8."""

    text: Text


class Memories:
    """The memories in one album file (LiveAlbum.file), which this process has open to search it.

    A search reads one state of the file for as long as the server runs, and SQLite keeps that state's log. So
    the bytes of what is forgotten are erased by `sweep`, once the album is closed.
    """

    def __init__(self, file: Album) -> None:
        self._memory, self._left = file.memory, False
        self._erase: Callable[[], str] | None = None

    def page(self, kind: Kind, past: bool, limit: int, skip: int) -> MemoryPage:
        items, total = self._memory.latest(kind, past, limit, skip)
        return MemoryPage(tuple(_own(item) for item in items), total)

    def show(self, row: int) -> MemoryDetailView:
        known = self._memory.show(row)
        return MemoryDetailView(
            _own(known.item),
            tuple(_said(turn) for turn in known.said[:MAX_PAGE]),
            tuple(_own(item) for item in known.others[:MAX_PAGE]),
            tuple(_own(item) for item in known.drawn[:MAX_PAGE]),
        )

    def add(self, asked: AddRequest) -> Changed:
        row = self._memory.add(asked.text, kind=asked.kind, key=asked.key, share=asked.share)
        return Changed(f"m{row}")

    def edit(self, row: int, text: str) -> Changed:
        return Changed(f"m{self._memory.correct(row, text)}")

    def forget(self, row: int) -> MemoriesForgotten:
        gone = self._memory.forget(row, keep_bytes=True)
        self._left = True
        memories, turns = (f"m{item}" for item in gone.items), (f"t{turn}" for turn in gone.turns)
        return MemoriesForgotten(tuple(memories), tuple(turns))

    def forgot(self) -> None:
        """Says that something was forgotten in a conversation, whose bytes `sweep` erases."""
        self._left = True

    def left(self, erase: Callable[[], str]) -> None:
        """Says that more was deleted, whose bytes `sweep` erases by it."""
        self._erase = erase

    def sweep(self) -> str:
        """Erases the bytes of what was forgotten; returns why some may be left, or ""."""
        why = "" if self._erase is None else self._erase()
        if why or not self._left:
            return why
        return self._memory.sweep()


def add_memories(api: FastAPI, live: LiveAlbum, memories: Memories) -> None:
    """Adds the routes."""
    run = Threads(live, AT_ONCE).run

    @api.get(MEMORIES, responses=problems(503), tags=["memory"])
    async def list_memories(
        kind: Kind,
        past: Annotated[bool, BeforeValidator(truth)] = False,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE), BeforeValidator(digits)] = 50,
        skip: Annotated[int, Query(ge=0, le=2**31 - 1), BeforeValidator(digits)] = 0,
    ) -> MemoryPage:
        """The memories of one kind, the latest first; with `past` also values that later ones replaced."""
        return await run(partial(memories.page, kind, past, limit, skip))

    @api.get(f"{MEMORIES}/{{memory}}", responses=problems(404, 503), tags=["memory"])
    async def show_memory(memory: MemoryId) -> MemoryDetailView:
        """One memory, the turns it was drawn from, the other values of its key, and what it goes with."""
        return await run(partial(memories.show, _row(memory)))

    @api.post(MEMORIES, status_code=201, responses=problems(408, 413, 503), tags=["memory"])
    async def add_memory(asked: AddRequest) -> Changed:
        """Adds a memory in the person's own words."""
        return await run(partial(memories.add, asked))

    @api.patch(f"{MEMORIES}/{{memory}}", responses=problems(404, 408, 413, 503), tags=["memory"])
    async def edit_memory(memory: MemoryId, asked: EditRequest) -> Changed:
        """Corrects a memory: its earlier words are kept as past, and the corrected ones have a new id."""
        return await run(partial(memories.edit, _row(memory), asked.text))

    @api.delete(f"{MEMORIES}/{{memory}}", responses=problems(404, 408, 413, 503), tags=["memory"])
    async def forget_memory(memory: MemoryId) -> MemoriesForgotten:
        """Forgets a memory, what it was drawn from, and what else was drawn from that.

        Nothing finds them any more. Their bytes are erased when the server stops.
        """
        return await run(partial(memories.forget, _row(memory)))


def _row(memory: str) -> int:
    return int(memory[1:])


def _own(item: Item) -> OwnMemory:
    value = item.value
    return OwnMemory(
        f"m{item.id}", value.kind, value.block, value.key, value.text, value.at, item.past, value.ends,
        value.origin, value.sharing, len(value.sources),
    )  # fmt: skip


def _said(stored: StoredTurn) -> TurnView:
    turn = stored.turn
    return TurnView(f"t{stored.id}", turn.chat, turn.speaker, turn.at, turn.text[:MAX_ITEM])
