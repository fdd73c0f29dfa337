"""People on the page and in the API: shown by their faces, named, made one, taken apart and forgotten."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from PIL import Image
from starlette.testclient import TestClient

from gamer.bench.chrome import Page
from gamer.bench.serving import serving
from gamer.index import Album
from gamer.index.people import reading
from gamer.runtime.indexing.build import build
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.memories import Memories
from gamer.runtime.serve.server.settings import ServerSettings
from tests.runtime.indexing.test_people import BLUE, GREEN, GREY, RED, models, picture
from tests.runtime.serve.conftest import HERE, NO_LIMIT, calling


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Red and green are seen twice, blue once; each face fills a half of its photo."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for name, left, right in (("a", RED, GREY), ("b", RED, GREEN), ("c", GREEN, GREY), ("d", GREY, BLUE)):
        picture(folder / f"{name}.png", left, right)
    return build(folder, models(), tmp_path / "album.gamer", with_people=True).path


@pytest.fixture
def live(place: Path) -> Iterator[LiveAlbum]:
    album = LiveAlbum.of(Engine(models(), Album.open(place)))
    yield album
    album.close()


@pytest.fixture
def client(live: LiveAlbum) -> TestClient:
    return calling(live)


def test_people_are_listed_those_seen_most_first_with_a_face_to_look_at(client: TestClient) -> None:
    found = client.get("/api/v1/people").json()
    assert found["searched"]
    assert found["rest"] == 1
    assert [(one["name"], one["faces"], one["photos"]) for one in found["people"]] == [(None, 2, 2)] * 2
    for one, colour in zip(found["people"], (RED, GREEN), strict=True):
        answer = client.get(f"/api/v1/faces/{one['face']}")
        assert answer.headers["content-type"] == "image/webp"
        assert "etag" in answer.headers
        image = Image.open(io.BytesIO(answer.content)).convert("RGB")
        assert image.size == (192, 192)
        middle = np.asarray(image, np.int16)[96, 60 if colour == RED else 130]
        assert np.abs(middle - colour).max() < 40
    assert client.get("/api/v1/faces/999").status_code == 404
    assert client.get("/api/v1/faces/x").status_code == 422


def test_a_name_is_found_at_once_and_one_that_does_not_fit_is_refused_in_words(client: TestClient) -> None:
    first, second = (one["id"] for one in client.get("/api/v1/people").json()["people"])
    named = client.put(f"/api/v1/people/{first}/name", json={"name": " Anna  B "})
    assert named.status_code == 200
    assert named.json()["name"] == "Anna B"
    assert client.get("/api/v1/timeline", params={"person": "Anna B"}).json()["total"] == 2
    for text in ("Anna B", "Anna, Ben", "p7"):
        refused = client.put(f"/api/v1/people/{second}/name", json={"name": text})
        assert refused.status_code == 422, text
        assert "/" not in refused.json()["detail"], text
    assert client.put("/api/v1/people/p99/name", json={"name": "Cleo"}).status_code == 404
    assert client.put(f"/api/v1/people/{second}/name", json={"name": "x" * 81}).status_code == 422


def test_people_are_made_one_and_taken_apart(client: TestClient) -> None:
    first, second = (one["id"] for one in client.get("/api/v1/people").json()["people"])
    assert client.post(f"/api/v1/people/{first}/merged", json={"others": [second]}).json()["faces"] == 4
    faces = client.get(f"/api/v1/people/{first}").json()["faces"]
    assert len(faces) == 4
    assert {face["row"] for face in faces} == {0, 1, 2}
    apart = [face["id"] for face in faces[:1]]
    other = client.post(f"/api/v1/people/{first}/split", json={"faces": apart}).json()
    assert other["id"] != first
    assert other["faces"] == 1
    assert client.post(f"/api/v1/people/{first}/split", json={"faces": [999]}).status_code == 422
    assert client.post(f"/api/v1/people/{first}/split", json={"faces": []}).status_code == 422


def test_a_forgotten_face_is_shown_no_more_and_its_bytes_go_when_the_album_is_closed(place: Path) -> None:
    live = LiveAlbum.of(Engine(models(), Album.open(place)))
    memories = Memories(live.file)
    client = TestClient(create_app(live, ServerSettings(rate=NO_LIMIT), memories), base_url=HERE)
    one = client.get("/api/v1/people").json()["people"][0]
    client.put(f"/api/v1/people/{one['id']}/name", json={"name": "Zacharias"})
    assert client.get(f"/api/v1/faces/{one['face']}").status_code == 200
    assert client.delete(f"/api/v1/people/{one['id']}").json() == {"faces": 2}
    assert client.get(f"/api/v1/faces/{one['face']}").status_code == 404
    assert client.delete(f"/api/v1/people/{one['id']}").status_code == 404
    assert client.get("/api/v1/timeline", params={"person": "Zacharias"}).json()["total"] == 0
    live.close()
    assert memories.sweep() == ""
    assert b"Zacharias" not in place.read_bytes()
    found = reading.read(place)
    assert found is not None
    assert len(found.faces) == 3


def test_an_album_in_which_nobody_was_looked_for_says_so(own_album: Path) -> None:
    client = TestClient(create_app(Engine(models(), Album.open(own_album)), ServerSettings()), base_url=HERE)
    assert client.get("/api/v1/people").json() == {"searched": False, "people": [], "rest": 0}
    assert client.get("/api/v1/people/p1").status_code == 404


def test_who_has_no_token_sees_no_face_and_names_nobody(live: LiveAlbum) -> None:
    settings = ServerSettings(token="correct-horse-battery", rate=NO_LIMIT)
    client = TestClient(create_app(live, settings), base_url=HERE)
    assert client.get("/api/v1/people").status_code == client.get("/api/v1/faces/1").status_code == 401
    assert client.put("/api/v1/people/p1/name", json={"name": "Anna"}).status_code == 401


STRIP = "[...document.querySelectorAll('#people li')]"


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_people_are_named_merged_split_and_forgotten_on_the_page(
    page: Page, live: LiveAlbum, shots: Path, width: int
) -> None:
    with serving(create_app(live, ServerSettings(rate=NO_LIMIT))) as address:
        page.look(width, 844)
        page.open(
            address, f"{STRIP}.length === 2 && {STRIP}.every((one) => one.querySelector('img').complete)"
        )
        page.picture(shots / f"people-{width}.png")
        assert (
            page.ask(f"{STRIP}.map((one) => one.querySelector('span').textContent)") == ["Who is this?"] * 2
        )
        assert page.ask("document.querySelector('#people img').naturalWidth") == 192
        page.ask(f"{STRIP}[0].querySelector('button').click()")
        page.wait(
            "document.querySelector('#person[open]') && "
            "document.querySelectorAll('#person-faces img').length === 2"
        )
        page.picture(shots / f"person-{width}.png")
        box = page.ask("document.querySelector('#person').getBoundingClientRect().toJSON()")
        assert box["left"] >= 0
        assert box["right"] <= width
        page.ask("document.querySelector('#person-text').focus()")
        page.type("Anna")
        page.press("Enter")
        page.wait("document.querySelector('#person-title').textContent === 'Anna'")
        # One of the faces is somebody else's; then it is not.
        assert page.ask("document.querySelector('#person-split').disabled")
        page.ask("document.querySelector('#person-faces button').click()")
        page.ask("document.querySelector('#person-split').click()")
        page.wait("document.querySelectorAll('#person-faces button').length === 1")
        page.ask("document.querySelector('#person-close').click()")
        page.ask(f"{STRIP}[0].querySelector('button').click()")
        page.wait("document.querySelector('#person[open]')")
        page.ask(
            "(() => { const list = document.querySelector('#person-same');"
            " list.value = list.options[1].value; list.dispatchEvent(new Event('change')); })()"
        )
        page.wait("document.querySelectorAll('#person-faces button').length === 3")
        page.ask("document.querySelector('#person-photos').click()")
        page.wait("!document.querySelector('#person').open && location.search === '?person=Anna'")
        page.wait("document.querySelectorAll('#cells .cell[data-row]').length === 2")
        page.ask(f"{STRIP}[0].querySelector('button').click()")
        page.wait("document.querySelector('#person[open]')")
        page.ask("document.querySelector('#person-forget').click()")
        assert page.ask("document.activeElement.id") == "person-yes"
        page.ask("document.querySelector('#person-yes').click()")
        page.wait("!document.querySelector('#person').open")
        page.wait(f"!{STRIP}.some((one) => one.textContent.includes('Anna'))")
        assert page.complaints() == []
