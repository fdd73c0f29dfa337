"""What the server learns while nobody talks, and that it does not while somebody does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any

import pytest

from gamer.index import Album as Reader
from gamer.index.memory.records import Turn
from gamer.index.memory.store import MemoryStore
from gamer.runtime.door.album import Album
from gamer.runtime.memory import update
from gamer.runtime.memory.update import Updater
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.idle import IdleUpdates
from tests.fakes import fake_models

HOUR, START = 3_600_000, 1_767_258_000_000
WAIT = 20  # seconds; longer than anything here takes


@pytest.fixture
def album(own_album: Path) -> Path:
    """An album whose owner spoke in four sessions that nobody has learnt from."""
    said = ("I live in Porto.", "I moved to Lisbon.", "I like tea.", "I work as a nurse.")
    with MemoryStore.open(own_album) as store:
        store.add_turns([Turn(f"u{n}", "c", "me", START + n * 2 * HOUR, text) for n, text in enumerate(said)])
    return own_album


def known(album: Path) -> dict[str, str]:
    with MemoryStore.open(album, write=False) as store:
        return {item.value.key: item.value.text for item in store.items("core", past=False)}


class Updates:
    """Counts the closed sessions; `hold` runs before each is closed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hold: Callable[[], object] = bool) -> None:
        self.closed, self._changed = 0, Condition()
        close = Updater._close

        def counted(updater: Updater, ids: Any) -> bool:
            hold()
            done = close(updater, ids)
            with self._changed:
                self.closed += 1
                self._changed.notify_all()
            return done

        monkeypatch.setattr(update.Updater, "_close", counted)

    def wait_for(self, number: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self.closed >= number, WAIT)


def learning(path: Path) -> Callable[[Callable[[], bool]], None]:
    """What a server calls in idle time, twenty hours later."""
    opened = Album.of(Engine(fake_models(), Reader.open(path)))
    opened.close()
    return partial(opened.memory.learn, now=START + 20 * HOUR)


def test_what_was_said_before_the_server_started_is_learnt(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    updates = Updates(monkeypatch)
    idle = IdleUpdates(learning(album))
    idle.start()
    assert updates.wait_for(4)
    idle.stop()
    assert known(album) == {"home": "Lisbon", "likes tea": "like tea", "job": "nurse"}


def test_nothing_is_learnt_while_two_chats_are_answered_and_the_rest_afterwards(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()

    def hold() -> None:
        begun.set()
        assert go_on.wait(WAIT)

    updates = Updates(monkeypatch, hold)
    idle = IdleUpdates(learning(album))
    answered, both, leave = list[int](), Event(), Event()

    def chat() -> None:
        with idle.answering():
            answered.append(updates.closed)
            if len(answered) == 2:
                both.set()
            assert leave.wait(WAIT)
            answered.append(updates.closed)

    chats = [Thread(target=chat) for _ in range(2)]
    idle.start()
    assert begun.wait(WAIT)
    for one in chats:
        one.start()
    while idle._answering < 2:  # both wait for the step in progress
        pass
    assert not answered
    go_on.set()
    assert both.wait(WAIT)
    leave.set()
    for one in chats:
        one.join()
    assert answered == [1, 1, 1, 1], "the step in progress ended, and no other began"
    assert updates.wait_for(4)
    idle.stop()
    assert known(album)["home"] == "Lisbon"


def test_stopping_ends_after_the_step_in_progress_and_the_next_server_goes_on(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = Event(), Event()

    def hold() -> None:
        begun.set()
        assert go_on.wait(WAIT)

    updates = Updates(monkeypatch, hold)
    idle = IdleUpdates(learning(album))
    idle.start()
    assert begun.wait(WAIT)
    stopping = Thread(target=idle.stop)
    stopping.start()
    while not idle._stopped:
        pass
    go_on.set()
    stopping.join()
    assert updates.closed == 1
    again = IdleUpdates(learning(album))
    again.start()
    assert updates.wait_for(4)
    again.stop()
    assert known(album)["job"] == "nurse"


def test_an_album_without_memories_is_left_alone(own_album: Path) -> None:
    before = own_album.read_bytes()
    learning(own_album)(lambda: False)
    assert own_album.read_bytes() == before
