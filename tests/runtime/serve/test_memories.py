"""The memories of an album's owner over the API: what it shows, changes, forgets and refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from starlette.testclient import TestClient

from gamer.index import Album, OpenedLog
from gamer.index.album.writing.storage import WriterLock
from gamer.index.memory import store as memory_store
from gamer.index.memory.records import MAX_ITEM, Turn
from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.update import Updater
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.memories import MAX_PAGE, MEMORIES, Memories
from gamer.runtime.serve.server.settings import MAX_BODY, Rate, ServerSettings
from tests.fakes import fake_models
from tests.runtime.serve.conftest import HERE, NO_LIMIT, calling

TOKEN = "correct-horse-battery"
HOUR = 3_600_000
HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script>'; DROP TABLE person_items; --\x00\x1b[31m"
BODIES = (
    b"",
    b"[]",
    b'{"text": ""}',
    b'{"text": " \\t\\u0000"}',
    b'{"text": 5}',
    b'{"text": "x", "share": 1}',
    b'{"text": "x", "share": "true"}',
    b'{"text": "x", "kind": "turns"}',
    b'{"text": "x", "kind": "core"}',
    b'{"text": "x", "key": null}',
    b'{"text": "x", "origin": "rules"}',
    b'{"text": "\\ud800"}',
    json.dumps({"text": "x" * (MAX_ITEM + 1)}).encode(),
    json.dumps({"text": "猫" * MAX_ITEM}).encode(),
    json.dumps({"text": "x", "key": "猫" * 200}).encode(),
)  # that fit neither an addition nor a correction


@pytest.fixture
def opened(own_album: Path) -> Iterator[Engine]:
    with Engine(fake_models(), Album.open(own_album)) as engine:
        yield engine


@pytest.fixture
def client(opened: Engine) -> TestClient:
    return calling(opened)


def say(own_album: Path, *lines: str) -> None:
    """The owner says these lines, two hours apart, and they are learnt from."""
    with MemoryStore.open(own_album) as store:
        store.add_turns([Turn(f"u{n}", "c", "me", n * 2 * HOUR, text) for n, text in enumerate(lines)])
        Updater(store).run(len(lines) * 2 * HOUR)


def listed(client: TestClient, kind: str, **more: object) -> list[dict[str, Any]]:
    answer = client.get(MEMORIES, params={"kind": kind, **more})  # type: ignore[dict-item]
    assert answer.status_code == 200, answer.text
    memories: list[dict[str, Any]] = answer.json()["memories"]
    return memories


def add(client: TestClient, text: str, **more: object) -> str:
    answer = client.post(MEMORIES, json={"text": text, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def refused(answer: Any, status: int, album: Path) -> str:
    """The detail of a refusal: one line that does not tell where the album lies."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    detail = str(answer.json()["detail"])
    assert detail
    assert "\n" not in detail
    assert str(album.parent) not in detail
    return detail


def test_what_was_said_is_listed_by_kind_and_shown_with_its_history_and_sources(
    client: TestClient, own_album: Path
) -> None:
    assert client.get(MEMORIES, params={"kind": "core"}).json() == {"memories": [], "total": 0}
    say(own_album, "I live in Porto.", "I live in Lisbon.")
    (home,) = listed(client, "core")
    assert (home["key"], home["text"], home["past"], home["origin"]) == ("home", "Lisbon", False, "rules")
    assert (home["sharing"], home["at"], home["turns"]) == ("low", 2 * HOUR, 1)
    assert [one["text"] for one in listed(client, "core", past="true")] == ["Lisbon", "Porto"]
    assert len(listed(client, "semantic")) == len(listed(client, "episodic")) == 2
    known = client.get(f"{MEMORIES}/{home['id']}").json()
    assert known["memory"] == home
    assert [turn["text"] for turn in known["said"]] == ["I live in Lisbon."]
    assert [(other["text"], other["past"]) for other in known["others"]] == [("Porto", True)]
    assert sorted(other["kind"] for other in known["drawn"]) == ["episodic", "semantic"]


def test_a_list_comes_in_bounded_pages_the_latest_first(client: TestClient) -> None:
    ids = [add(client, f"note {n}") for n in range(5)]
    pages = [
        client.get(MEMORIES, params={"kind": "semantic", "limit": 2, "skip": n}).json() for n in (0, 2, 4)
    ]
    assert [one["id"] for page in pages for one in page["memories"]] == ids[::-1]
    assert {page["total"] for page in pages} == {5}
    assert client.get(MEMORIES, params={"kind": "semantic", "limit": MAX_PAGE + 1}).status_code == 422


def test_a_memory_is_added_corrected_and_forgotten(client: TestClient, own_album: Path) -> None:
    first = add(client, "Porto", kind="core", key="home")
    second = client.patch(f"{MEMORIES}/{first}", json={"text": "Lisbon"}).json()["id"]
    known = client.get(f"{MEMORIES}/{second}").json()
    assert known["memory"]["text"] == "Lisbon"
    assert known["memory"]["origin"] == "person"
    assert [other["text"] for other in known["others"]] == ["Porto"]
    shared = add(client, "tea", share=True)
    assert client.get(f"{MEMORIES}/{shared}").json()["memory"]["sharing"] == "high"
    gone = client.delete(f"{MEMORIES}/{second}").json()
    assert gone["memories"] == [second]
    assert gone["turns"] == []
    refused(client.delete(f"{MEMORIES}/{second}"), 404, own_album)
    # The value before is not true again.
    assert listed(client, "core") == []


def test_forgetting_takes_along_what_it_was_drawn_from_and_what_was_drawn_from_that(
    client: TestClient, own_album: Path
) -> None:
    say(own_album, "I live in Porto.", "I like tea.")
    log = OpenedLog(own_album)
    log.keep()
    log.add("I live in Porto.", "a.jpg")
    log.add("the harbour", "a.jpg")
    home = next(one for one in listed(client, "core") if one["key"] == "home")
    gone = client.delete(f"{MEMORIES}/{home['id']}").json()
    assert gone["turns"] == ["t1"]
    assert home["id"] in gone["memories"]
    assert len(gone["memories"]) == 3
    kinds = ("core", "semantic", "episodic", "procedural")
    left = json.dumps([listed(client, kind, past="true") for kind in kinds])
    assert "Porto" not in left
    assert "tea" in left
    assert [entry.query for entry in log.read()] == ["the harbour"]


def test_bytes_that_the_open_album_holds_are_erased_when_the_server_stops(own_album: Path) -> None:
    secret = "the key lies under the third stone"
    live = LiveAlbum.of(Engine(fake_models(), Album.open(own_album)))
    memories = Memories(live.file)
    client = TestClient(create_app(live, ServerSettings(rate=NO_LIMIT), memories), base_url=HERE)
    row = add(client, secret)
    assert client.delete(f"{MEMORIES}/{row}").json() == {"memories": [row], "turns": []}
    live.close()
    assert memories.sweep() == ""
    files = [one for one in own_album.parent.iterdir() if one.name.startswith("a.gamer")]
    assert own_album in files
    assert not [one for one in files if secret.encode() in one.read_bytes()]


def test_hostile_text_is_kept_as_words(client: TestClient, own_album: Path) -> None:
    row = add(client, HOSTILE, kind="core", key="<b>key</b>")
    assert client.get(f"{MEMORIES}/{row}").json()["memory"]["text"] == HOSTILE
    assert listed(client, "core")[0]["key"] == "<b>key</b>"
    assert client.get(MEMORIES, params={"kind": "core"}).headers["content-type"] == "application/json"
    with Album.open(own_album) as album:
        assert album.verify() == []


def test_a_body_that_does_not_fit_changes_nothing(client: TestClient, own_album: Path) -> None:
    row, kind = add(client, "tea"), {"content-type": "application/json"}
    for body in BODIES:
        refused(client.post(MEMORIES, content=body, headers=kind), 422, own_album)
        refused(client.patch(f"{MEMORIES}/{row}", content=body, headers=kind), 422, own_album)
    assert [one["id"] for one in listed(client, "semantic", past="true")] == [row]


def test_a_text_body_as_another_site_could_post_is_refused(client: TestClient, own_album: Path) -> None:
    answer = client.post(MEMORIES, content=b'{"text": "x"}', headers={"content-type": "text/plain"})
    refused(answer, 422, own_album)


@pytest.mark.parametrize("row", ["m99", "m0", "m999999999999999"])
def test_a_memory_that_is_not_there_is_a_404(client: TestClient, own_album: Path, row: str) -> None:
    for having in (False, True):  # without tables of memories, and with them
        for answer in (
            client.get(f"{MEMORIES}/{row}"),
            client.patch(f"{MEMORIES}/{row}", json={"text": "x"}),
            client.delete(f"{MEMORIES}/{row}"),
        ):
            assert row in refused(answer, 404, own_album) or not having
        add(client, "tea")


def test_what_is_no_id_is_refused(client: TestClient, own_album: Path) -> None:
    for row in ("12", "t1", "m", "m-1", "m1.0", "m٣", "m01", "m9999999999999999", "m1%00"):
        for answer in (client.get(f"{MEMORIES}/{row}"), client.delete(f"{MEMORIES}/{row}")):
            refused(answer, 422, own_album)


def test_a_list_that_does_not_exist_is_refused(client: TestClient, own_album: Path) -> None:
    wrong = ("limit=0", "skip=-1", "past=1", "limit=1.0")
    for query in ("", "kind=turns", *(f"kind=core&{one}" for one in wrong)):
        refused(client.get(f"{MEMORIES}?{query}"), 422, own_album)


def requests(client: TestClient, **headers: str) -> list[Any]:
    return [
        client.post(MEMORIES, json={"text": "x"}, headers=headers),
        client.patch(f"{MEMORIES}/m1", json={"text": "x"}, headers=headers),
        client.delete(f"{MEMORIES}/m1", headers=headers),
    ]


def test_another_host_origin_or_site_and_a_stranger_change_nothing(opened: Engine, own_album: Path) -> None:
    client = calling(opened)
    row = add(client, "tea")
    guarded = calling(opened, ServerSettings("127.0.0.1", TOKEN, NO_LIMIT))
    for answer in (
        *requests(guarded),
        guarded.get(f"{MEMORIES}?kind=core"),
        guarded.get(f"{MEMORIES}/{row}"),
    ):
        refused(answer, 401, own_album)
    for headers, status in (
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
    ):
        for answer in requests(client, **headers):
            refused(answer, status, own_album)
    refused(client.get(f"{MEMORIES}?kind=core", headers={"sec-fetch-site": "same-site"}), 403, own_album)
    assert [one["id"] for one in listed(client, "semantic", past="true")] == [row]
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.get(f"{MEMORIES}?kind=semantic", headers=bearer).json()["total"] == 1


def test_size_and_rate_are_bounded(opened: Engine, own_album: Path) -> None:
    refused(calling(opened).post(MEMORIES, content=b"x" * (MAX_BODY + 1)), 413, own_album)
    slow = calling(opened, ServerSettings(rate=Rate(burst=2, per_second=1e-6)))
    statuses = [slow.post(MEMORIES, json={"text": f"x{n}"}).status_code for n in range(4)]
    assert statuses == [201, 201, 429, 429]


def test_while_another_program_writes_the_album_changes_are_refused_and_lists_are_not(
    client: TestClient, own_album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_store, "_WAIT_S", 0.0)
    row = add(client, "tea")
    lock = WriterLock(own_album)
    try:
        for answer in requests(client):
            assert "another program is writing" in refused(answer, 503, own_album)
        assert [one["id"] for one in listed(client, "semantic")] == [row]
    finally:
        lock.release()
    assert client.delete(f"{MEMORIES}/{row}").status_code == 200


def test_a_damaged_memory_is_said_in_one_line(client: TestClient, own_album: Path) -> None:
    row = add(client, "tea")
    with MemoryStore.open(own_album) as store:
        store._db.execute("UPDATE person_items SET text = 'pea'")
    assert "is damaged" in refused(client.get(f"{MEMORIES}/{row}"), 503, own_album)
    assert client.delete(f"{MEMORIES}/{row}").status_code == 200
