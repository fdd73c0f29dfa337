"""Several albums in one server: their addresses, what they share, the page that leads to another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from starlette.testclient import TestClient

from gamer.bench.chrome import Page
from gamer.bench.serving import serving
from gamer.index import Album
from gamer.runtime.indexing.build import build
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.albums import Albums, placed
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.server.settings import Rate, ServerSettings
from tests.fakes import fake_models
from tests.runtime.serve.conftest import HERE, NO_LIMIT

TOKEN = "correct-horse-battery"


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[list[LiveAlbum]]:
    """Three albums, two of them of the same name, the third with two photos."""
    with ExitStack() as closing:
        opened = []
        for number, name in enumerate(("Home", "Trip 2019", "other/trip-2019"), 1):
            path = tmp_path / f"{name}.gamer"
            path.parent.mkdir(exist_ok=True)
            photos = [
                {"id": f"{name}-{n}.jpg", "memories": [{"source": "note", "text": f"the harbour of {name}"}]}
                for n in range(number)
            ]
            path.with_suffix(".jsonl").write_text("".join(json.dumps(photo) + "\n" for photo in photos))
            build(path.with_suffix(".jsonl"), fake_models(), path)
            opened.append(LiveAlbum.of(Engine(fake_models(), Album.open(path))))
            closing.callback(opened[-1].close)
        yield opened


def server(lives: list[LiveAlbum], settings: ServerSettings) -> Albums:
    places = placed(lives)
    return Albums({one.address: create_app(one.live, settings, albums=places) for one in places})


def test_each_album_has_an_address_of_its_own_and_answers_there(lives: list[LiveAlbum]) -> None:
    client = TestClient(server(lives, ServerSettings(rate=NO_LIMIT)), base_url=HERE)
    listed = client.get("/api/v1/albums").json()
    assert [(one["name"], one["address"], one["here"]) for one in listed] == [
        ("Home", "/", True),
        ("Trip 2019", "/albums/trip-2019/", False),
        ("trip-2019", "/albums/trip-2019-2/", False),
    ]
    for number, one in enumerate(listed, 1):
        assert client.get(f"{one['address']}api/v1/stats").json()["photos"] == number
        found = client.post(f"{one['address']}api/v1/search", json={"query": "harbour"}).json()
        assert found["answer"]["hits"][0]["id"].startswith(one["name"] if number < 3 else "other/")
        assert client.get(one["address"]).text.startswith("<!doctype html>")
        (here,) = (other for other in client.get(f"{one['address']}api/v1/albums").json() if other["here"])
        assert here["address"] == one["address"]
    for absent in ("/albums/other/", "/albums/", "/albums/trip-2019", "/albums/home/"):
        assert client.get(absent).status_code == 404, absent


def test_one_login_and_one_limit_hold_for_all(lives: list[LiveAlbum]) -> None:
    client = TestClient(server(lives, ServerSettings(token=TOKEN, rate=NO_LIMIT)), base_url=HERE)
    assert client.get("/albums/trip-2019/api/v1/stats").status_code == 401
    assert client.get("/albums/trip-2019/api/v1/health").status_code == 200
    login = {"Authorization": f"Bearer {TOKEN}"}
    assert client.post("/albums/trip-2019/api/v1/session", headers=login).status_code == 204
    for address in ("/", "/albums/trip-2019/", "/albums/trip-2019-2/"):
        assert client.get(f"{address}api/v1/stats").status_code == 200
    foreign = {"host": "evil.example"}
    assert client.get("/albums/trip-2019/api/v1/stats", headers=foreign).status_code == 421
    few = TestClient(server(lives, ServerSettings(rate=Rate(burst=3, per_second=1e-9))), base_url=HERE)
    asked = ("/", "/albums/trip-2019/", "/albums/trip-2019-2/", "/", "/albums/trip-2019/")
    answers = [few.get(f"{address}api/v1/albums").status_code for address in asked]
    assert answers == [200, 200, 200, 429, 429]


def test_the_page_leads_from_one_album_to_another(lives: list[LiveAlbum], page: Page, shots: Path) -> None:
    choice = "document.querySelector('#albums')"

    def shows(photos: str) -> str:
        return f"!{choice}.hidden && document.body.innerText.includes('{photos}, ')"

    with serving(server(lives, ServerSettings(rate=NO_LIMIT))) as address:
        page.open(address + "/", shows("1 photo"))
        page.ask(f"{choice}.selectedIndex = 2; {choice}.dispatchEvent(new Event('change'))")
        page.wait(f"location.pathname === '/albums/trip-2019-2/' && {shows('3 photos')}")
        assert page.ask(f"{choice}.selectedOptions[0].text") == "trip-2019"
        page.press("/")
        page.type("harbour")
        page.press("Enter")
        page.wait("document.querySelectorAll('.card .rank').length === 3")
        assert page.ask("location.pathname + location.search") == "/albums/trip-2019-2/?q=harbour"
        page.picture(shots / "albums.png")
        page.ask("document.querySelector('.brand').click()")
        page.wait(f"location.search === '' && {shows('3 photos')}")
        assert all("404" in said for said in page.complaints())  # no photo of these albums has a file
