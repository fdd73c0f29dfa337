"""What is retrieved at the same time is what is retrieved one after the other."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from gamer.runtime.memory import response
from gamer.runtime.memory.recall import Recall
from gamer.runtime.memory.response import Responder

from .conftest import Talk


class InSeries:
    """Runs each call when it is submitted."""

    def __init__(self, _: int) -> None:
        pass

    def __enter__(self) -> InSeries:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, call: Any, *values: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(call(*values))
        return done


class Photos:
    """Finds a photo once the procedural memories are looked for."""

    def __init__(self) -> None:
        self.others = threading.Event()

    def find(self, _: str) -> tuple[str, ...]:
        return ("photo",) if self.others.wait(20) else ()


def test_memories_and_photos_are_looked_for_at_the_same_time_with_the_same_result(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk.say(
        "I want to sail to Crete.", "The ferry to Crete was late.", "We ate figs on the ferry.", "Hello, all."
    )
    photos = Photos()
    responder = Responder(talk.store, Recall(talk.store), talk.chat.updater, photos)  # type: ignore[arg-type]
    before = responder._procedural

    def procedural(keywords: str) -> Any:
        photos.others.set()
        return before(keywords)

    monkeypatch.setattr(responder, "_procedural", procedural)
    at_once = responder.retrieve("ferry to Crete")
    assert at_once.photos == ("photo",) and at_once.procedural and at_once.semantic and at_once.episodes
    monkeypatch.setattr(response, "ThreadPoolExecutor", InSeries)
    assert responder.retrieve("ferry to Crete") == at_once
