"""The API on the sample album and real models: what it answers and what it refuses."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from PIL import Image
from starlette.testclient import TestClient

from gamer.index import Album, OpenedLog
from gamer.runtime.search.answer import MODES, REFINEMENTS
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import MAX_QUERY
from gamer.runtime.search.similar import similar
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.server.settings import ServerSettings
from gamer.runtime.serve.views import Mode, Refine
from tests.runtime.serve.conftest import HERE, NO_LIMIT

pytestmark = pytest.mark.slow
NOON = 1_795_262_400_000  # 2026-11-21 12:00
TOKEN = "correct-horse-battery"


def search(client: TestClient, query: str, **more: object) -> dict[str, Any]:
    answer = client.post("/api/v1/search", json={"query": query, "now": NOON, **more})
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


def refused(answer: Any, status: int) -> str:
    """The detail of a refusal, after its form was checked (RFC 9457)."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert set(body) == {"type", "title", "status", "detail", "code", "given"}
    assert body["status"] == status
    assert body["detail"]
    assert "\n" not in body["detail"]
    return str(body["detail"])


def test_a_search_answers_with_photos_reasons_layers_and_the_walk(client: TestClient, engine: Engine) -> None:
    result = search(client, "coffee I photographed last spring", k=3)
    hits, trace = result["answer"]["hits"], result["answer"]["trace"]
    assert hits[0]["id"] == "coffee"
    assert hits[0]["path"] == "coffee.png"
    assert len(hits) <= 3
    assert hits[0]["score"] == pytest.approx(sum(hits[0]["parts"].values()), abs=0.01)
    assert trace["milliseconds"]
    assert all(value >= 0 for value in trace["milliseconds"].values())
    assert trace["left"]["album"] == len(engine.album)
    assert trace["cubes"][0]["start"] is not None
    shown, nodes = {hit["row"] for hit in hits}, {node["row"] for node in result["subgraph"]["entities"]}
    for entity, row in result["subgraph"]["mentions"]:
        assert entity in nodes
        assert row in shown
    likely, here = [hit["probability"] for hit in hits], result["answer"]["presence"]
    # Each by itself: several photos may be meant.
    assert likely == sorted(likely, reverse=True)
    assert all(0 <= p <= 1 for p in (*likely, here))
    assert result["doubtful"] is (here < 0.5)
    assert nodes
    assert all(set(e["photos"]) <= shown for e in trace["entities"])


def test_the_options_of_the_api_are_those_of_the_engine(client: TestClient) -> None:
    assert get_args(Mode) == MODES
    assert get_args(Refine) == REFINEMENTS
    assert search(client, "my cat", mode="paper", refine="off")["answer"]["trace"]["refined_by"] == "off"
    assert len(search(client, "photo", k=19)["answer"]["hits"]) == 19


def test_relations_are_ordered_pairs_of_the_given_entities(engine: Engine) -> None:
    """Such a relation links, for example, a price to its thing."""
    album = engine.album
    links = album.entity_links(range(album.stats().entities))
    assert links
    assert all(a < b for a, b in links)
    assert len(set(links)) == len(links)
    a, b = links[0]
    assert album.entity_links([b, a]) == [(a, b)]
    assert album.entity_links([a]) == []
    assert album.entity_links([]) == []


@pytest.mark.parametrize("query", ["", " \t\n", "\x00\x01\x1f", "\x1c\x1d", "\u00a0"])
def test_a_query_without_visible_characters_is_refused(client: TestClient, query: str) -> None:
    assert "query" in refused(client.post("/api/v1/search", json={"query": query}), 422)


@pytest.mark.parametrize(
    "query",
    [
        "a\x00b cat",
        "\x1b[31mcat\x07",
        "‮cat",
        "cat\ufeff\u200d",
        '"cat" OR NEAR(',
        "'; DROP TABLE photos; --",
        "𝑐𝑎𝑡 🐈",
    ],
)
def test_a_query_of_control_characters_or_syntax_is_only_words(client: TestClient, query: str) -> None:
    assert search(client, query)["answer"]["trace"]["query"] == query


def test_a_query_may_have_at_most_100000_characters(client: TestClient) -> None:
    assert search(client, ("cat " * 25_000)[:MAX_QUERY])["answer"]["hits"]
    assert search(client, "猫" * MAX_QUERY)["answer"]["hits"]
    assert "100000" in refused(client.post("/api/v1/search", json={"query": "a" * (MAX_QUERY + 1)}), 422)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"query": 1}',
        b'{"query": "\\ud800 cat"}',
        b'{"query": "cat\xff"}',
        b'{"query": "cat", "k": 0}',
        b'{"query": "cat", "k": 201}',
        b'{"query": "cat", "k": "5"}',
        b'{"query": "cat", "mode": "magic"}',
        b'{"query": "cat", "now": -1}',
        b'{"query": "cat", "now": 99999999999999}',
        b'{"query": "cat", "nonsense": 1}',
        b"[" * 100_000,
    ],
)
def test_a_body_that_does_not_fit_is_refused(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/v1/search", content=body, headers={"content-type": "application/json"})
    refused(answer, 400 if answer.status_code == 400 else 422)


def test_a_text_body_as_another_site_could_post_is_refused(client: TestClient) -> None:
    """A page can make a browser post text/plain anywhere without asking; it is not read."""
    refused(
        client.post("/api/v1/search", content=b'{"query": "cat"}', headers={"content-type": "text/plain"}),
        422,
    )


def test_a_photo_its_thumbnail_and_its_original_can_be_fetched(client: TestClient, engine: Engine) -> None:
    row = engine.album.row_of("coffee")
    photo = client.get(f"/api/v1/photos/{row}").json()
    assert photo["id"] == "coffee"
    assert photo["name"] == "coffee.png"
    assert photo["here"]
    assert photo["memories"]
    thumbnail = client.get(f"/api/v1/photos/{row}/thumbnail")
    assert thumbnail.headers["content-type"] == "image/webp"
    assert max(Image.open(io.BytesIO(thumbnail.content)).size) == 320
    again = client.get(
        f"/api/v1/photos/{row}/thumbnail", headers={"if-none-match": thumbnail.headers["etag"]}
    )
    assert again.status_code == 304
    assert not again.content
    original = client.get(f"/api/v1/photos/{row}/image")
    path = engine.album.photo(row).path
    assert path is not None
    assert original.content == Path(path).read_bytes()
    assert original.headers["content-type"] == "image/png"
    assert original.headers["content-disposition"].startswith("inline")


def test_similar_photos_are_those_of_the_engine_without_folders(client: TestClient, engine: Engine) -> None:
    answer = client.get("/api/v1/similar", params={"photo": "chelsea", "k": 3}).json()
    expected = similar(engine.album, engine.album.row_of("chelsea"), 3)
    assert [photo["id"] for photo in answer["photos"]] == [photo.id for photo in expected.photos]
    assert answer["asked"]["id"] == "chelsea"
    assert answer["channel"] == "image"
    assert len(answer["photos"]) == 3
    cosines = [photo["cosine"] for photo in answer["photos"]]
    assert cosines == sorted(cosines, reverse=True)
    assert answer["asked"]["path"] == "chelsea.png"
    assert len(client.get("/api/v1/similar?photo=chelsea").json()["photos"]) == 12


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("", 422),
        ("photo=", 422),
        ("photo=nobody", 404),
        ("photo=..%2f..%2fetc%2fpasswd", 404),
        ("photo=%00", 404),
        ("photo=chelsea&k=0", 422),
        ("photo=chelsea&k=201", 422),
        ("photo=chelsea&k=5.0", 422),
    ],
)
def test_similar_photos_of_what_does_not_fit_are_refused(
    client: TestClient, engine: Engine, asked: str, status: int
) -> None:
    assert str(engine.album.path) not in refused(client.get(f"/api/v1/similar?{asked}"), status)


def test_a_photo_that_cannot_be_compared_is_refused_with_what_to_do(engine: Engine, album: Album) -> None:
    small = TestClient(create_app(Engine(engine.models, album), ServerSettings(rate=NO_LIMIT)), base_url=HERE)
    assert "then run gamer index add" in refused(small.get("/api/v1/similar?photo=told"), 422)


@pytest.mark.parametrize(
    "where",
    [
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "1%00",
        "1/../../../etc/passwd",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "..\\..\\etc\\passwd",
        "coffee",
        "-1",
        "0x1",
        "+0.0",
        "1.0",
        "٣",
        "99999999999999999999999",
    ],
)
@pytest.mark.parametrize("what", ["", "/thumbnail", "/image"])
def test_no_part_of_an_address_becomes_a_path(client: TestClient, where: str, what: str) -> None:
    answer = client.get(f"/api/v1/photos/{where}{what}")
    assert answer.status_code in (404, 422)
    assert b"root:" not in answer.content


@pytest.mark.parametrize(
    "name",
    ["../app.py", "..%2fapp.py", "%2e%2e%2fapp.py", "app.py", "static/app.js", "land.json%00", "INDEX.HTML"],
)
def test_only_the_listed_files_of_the_page_are_served(client: TestClient, name: str) -> None:
    refused(client.get(f"/{name}"), 404)


def test_moved_photos_and_files_that_are_no_pictures_are_refused(
    engine: Engine, album: Album, files: Path
) -> None:
    small = TestClient(create_app(Engine(engine.models, album), ServerSettings(rate=NO_LIMIT)), base_url=HERE)
    assert "moved.jpg is no longer where" in refused(small.get("/api/v1/photos/5/thumbnail"), 404)
    assert small.get("/api/v1/photos/5").json()["here"] is False
    for row in range(2, 8):
        detail = refused(small.get(f"/api/v1/photos/{row}/thumbnail"), 404)
        assert str(files) not in detail
    assert "must be a picture or a video" in refused(
        small.get("/api/v1/photos/2/image"), 404
    )  # named .jpg, holds another file's text
    assert small.get("/api/v1/photos/7").json()["name"] is not None
    assert small.get("/api/v1/overview").json()["places"][0]["photos"] == 6


def test_stats_and_overview_count_every_photo_and_health_is_ok(client: TestClient, engine: Engine) -> None:
    stats, overview, n = (
        client.get("/api/v1/stats").json(),
        client.get("/api/v1/overview").json(),
        len(engine.album),
    )
    assert stats["photos"] == n
    assert stats["examples"]
    assert sum(month["photos"] for month in overview["months"]) + overview["undated"] == n
    assert sum(place["photos"] for place in overview["places"]) + overview["unplaced"] == n
    assert {"Amsterdam", "Vienna", "Beijing"} <= {place["name"] for place in overview["places"]}
    assert [month["start"] for month in overview["months"]] == sorted(
        {month["start"] for month in overview["months"]}
    )
    assert client.get("/api/v1/health").json() == {
        "status": "ok",
        "version": client.get("/api/v1/openapi.json").json()["info"]["version"],
        "token": False,
    }


def test_no_answer_names_a_folder(client: TestClient, engine: Engine) -> None:
    """No client learns where photos lie on the disk."""
    folder = str(Path(str(engine.album.photo(0).path)).parent)
    texts = [
        json.dumps(search(client, "my cat")),
        *(client.get(f"/api/v1/{name}").text for name in ("photos/0", "stats", "overview", "photos/99")),
        client.get("/api/v1/similar?photo=chelsea").text,
    ]
    assert not [text for text in texts if folder in text or str(engine.album.path) in text]


def test_eight_readers_at_once_get_what_one_gets(served: str) -> None:
    queries = [
        "my cat",
        "coffee last spring",
        "the temple in Beijing",
        "motorcycle in Berlin",
        "rocket launch in Florida",
        "Roman coins",
        "eye doctor",
        "horse",
    ]

    def ask(client: httpx.Client, query: str) -> list[str]:
        return [
            hit["id"]
            for hit in client.post("/api/v1/search", json={"query": query, "now": NOON}).json()["answer"][
                "hits"
            ]
        ]

    with httpx.Client(base_url=served, timeout=60) as one:
        alone = {query: ask(one, query) for query in queries}

    def reader(first: int) -> None:
        with httpx.Client(base_url=served, timeout=60) as client:
            for n in range(first, first + 8):
                assert client.get(f"/api/v1/photos/{n % 19}/thumbnail").status_code == 200
                assert ask(client, queries[n % 8]) == alone[queries[n % 8]]

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(reader, n) for n in range(8)]:
            done.result(120)


def test_a_session_is_a_cookie_that_scripts_cannot_read(engine: Engine) -> None:
    guarded = TestClient(create_app(engine, ServerSettings("127.0.0.1", TOKEN, NO_LIMIT)), base_url=HERE)
    refused(guarded.post("/api/v1/search", json={"query": "cat"}), 401)
    refused(guarded.get("/api/v1/photos/1/image"), 401)
    refused(guarded.get("/api/v1/similar?photo=chelsea"), 401)
    refused(guarded.get("/api/v1/openapi.json"), 401)
    refused(guarded.post("/api/v1/session", headers={"authorization": "Bearer wrong-wrong-wrong"}), 401)
    opened = guarded.post("/api/v1/session", headers={"authorization": f"Bearer {TOKEN}"})
    cookie = opened.headers["set-cookie"].lower()
    assert opened.status_code == 204
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert (
        guarded.post("/api/v1/search", json={"query": "my cat", "k": 1}).json()["answer"]["hits"][0]["id"]
        == "chelsea"
    )


def test_an_internal_failure_is_one_line_without_its_details(
    engine: Engine, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(engine, "search", broken)
    failing = TestClient(
        create_app(engine, ServerSettings(rate=NO_LIMIT)), base_url=HERE, raise_server_exceptions=False
    )
    answer = failing.post("/api/v1/search", json={"query": "cat"})
    assert "secret" not in refused(answer, 500)
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_is_opened_is_noted_only_where_it_is_kept(client: TestClient, engine: Engine) -> None:
    log = OpenedLog(engine.album.path)
    try:
        assert client.post("/api/v1/photos/2/opened", json={"query": "my cat"}).status_code == 204
        assert not log.kept
        log.keep()
        assert client.post("/api/v1/photos/2/opened", json={"query": "my cat"}).status_code == 204
        assert [(entry.query, entry.photo) for entry in log.read()] == [("my cat", engine.album.photo(2).id)]
        refused(client.post("/api/v1/photos/99999/opened", json={"query": "my cat"}), 404)
        refused(client.post("/api/v1/photos/2/opened", json={"query": " "}), 422)
        assert len(log.read()) == 1
    finally:
        log.delete()
