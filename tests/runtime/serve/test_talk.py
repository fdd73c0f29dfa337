"""A conversation with the album over the API: answered in lines, remembered, refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from starlette.testclient import TestClient

from gamer.index import Album
from gamer.index.album.writing.storage import WriterLock
from gamer.index.memory import store as memory_store
from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.chat import Conversation
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.server.guard import TALK
from tests.fakes import fake_models
from tests.runtime.serve.conftest import calling


@pytest.fixture
def client(own_album: Path) -> Any:
    with Engine(fake_models(), Album.open(own_album)) as engine:
        yield calling(engine)


def say(client: TestClient, text: str, **more: object) -> list[dict[str, Any]]:
    answer = client.post(TALK, json={"text": text, **more})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def test_what_is_said_is_remembered_and_answered_in_the_same_conversation(
    client: TestClient, own_album: Path
) -> None:
    *_, first = say(client, "I live in Porto.")
    assert first["text"] == "Noted."
    assert first["failed"] == ""
    *pieces, end = say(client, "Where do I live?", chat=first["chat"])
    assert "Porto" in end["text"]
    assert end["text"] == "".join(line["piece"] for line in pieces)
    assert end["chat"] == first["chat"]
    with MemoryStore.open(own_album, write=False) as store:
        turns = store.all_turns()
    assert [one.turn.speaker for one in turns] == ["me", "assistant"] * 2
    assert {one.turn.chat for one in turns} == {first["chat"]}


def test_an_answer_names_its_memories_and_a_photo_can_be_spoken_of(
    client: TestClient, own_album: Path
) -> None:
    *_, first = say(client, "This is my blue mug.", photos=[0])
    *_, end = say(client, "Where is my blue mug?", chat=first["chat"], plain=True)
    assert 0 in end["photos"]
    (memory,) = end["memories"]
    assert memory["text"] == "This is my blue mug."
    assert memory["kind"] == "semantic"
    assert client.get(f"/api/v1/memories/{memory['id']}").json()["memory"]["text"] == memory["text"]
    with MemoryStore.open(own_album, write=False) as store:
        ((_, named),) = store.objects()
        assert store.turns([1])[0].turn.pictures == (named.picture,)


def test_a_photo_that_is_not_there_cannot_be_spoken_of(client: TestClient, own_album: Path) -> None:
    answer = client.post(TALK, json={"text": "This is my mug.", "photos": [99]})
    assert answer.status_code == 404
    assert "99" in answer.json()["detail"]
    assert client.post(TALK, json={"text": "This is my mug.", "photos": [-1]}).status_code == 422
    with MemoryStore.open(own_album, write=False) as store:
        assert store.all_turns() == []


def test_a_question_about_photos_is_answered_by_the_tools(client: TestClient) -> None:
    *_, end = say(client, "How many photos are there?", plain=True)
    assert end["text"]
    assert end["memories"] == []


def test_what_cannot_be_stored_is_said_in_the_last_line(
    client: TestClient, own_album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_store, "_WAIT_S", 0.0)
    lock = WriterLock(own_album)
    try:
        *_, end = say(client, "I live in Porto.")
    finally:
        lock.release()
    assert end["text"] == "Noted."
    assert "another program is writing" in end["failed"]
    assert str(own_album.parent) not in end["failed"]


def test_a_failure_before_the_first_piece_has_a_status_of_its_own(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(Conversation, "say", broken)
    answer = client.post(TALK, json={"text": "hello"})
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_a_turn_that_does_not_fit_is_refused(client: TestClient) -> None:
    bodies: tuple[dict[str, object], ...] = (
        {},
        {"text": " "},
        {"text": 5},
        {"text": "x", "chat": "../x"},
        {"text": "x", "now": 5},
        {"text": "x", "plain": 1},
    )
    for body in bodies:
        assert client.post(TALK, json=body).status_code == 422, body
