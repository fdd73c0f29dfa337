"""An album that can hold memories, and conversations in it by a clock that the test sets."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.chat import Conversation, Exchange
from tests.paths import GOLDEN

START = datetime(2026, 1, 1, 9)


class Talk:
    """Each turn comes two hours after the one before, so that each is a session of its own."""

    def __init__(self, store: MemoryStore, **options: object) -> None:
        self.store, self.now = store, START
        self.chat = Conversation(store, **options)  # type: ignore[arg-type]

    def say(self, *lines: str) -> Exchange:
        for line in lines:
            said = self.chat.say(line, self.now)
            self.now += timedelta(hours=2)
        return said

    def ask(self, *lines: str) -> str:
        return self.say(*lines).text


@pytest.fixture
def album(tmp_path: Path) -> Path:
    path = tmp_path / "album.gamer"
    shutil.copy(GOLDEN / "album_v3.gamer", path)
    return path


@pytest.fixture
def store(album: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(album) as opened:
        opened._db.execute("PRAGMA synchronous=OFF; PRAGMA fullfsync=0").fetchall()
        yield opened


@pytest.fixture
def talk(store: MemoryStore) -> Talk:
    return Talk(store)
