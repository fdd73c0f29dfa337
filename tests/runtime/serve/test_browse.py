"""The album without a query: its timeline, filters, favourites and selections; and an album that changes
while it is served.
"""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from PIL import Image
from starlette.testclient import TestClient

from gamer.index import Album, AlbumMeta, AlbumWriter, Cube, Encoded, Memory, Photo
from gamer.index.records import FAVOURITE, MEMORY_SOURCES
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve import live as living
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.catalogue import Catalogue
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.selections import GONE, Selected, _selected, zipped
from gamer.runtime.serve.server.settings import ServerSettings
from gamer.runtime.serve.views import Filter, Source
from tests.albums import album_of
from tests.fakes import DIM, FakeText, fake_models, unit
from tests.runtime.serve.conftest import HERE, NO_LIMIT, calling

DAY = 86_400_000
JUNE = 1_748_736_000_000  # 2025-06-01
NO_TITLE = {"shows": None, "place": None}
VIENNA, TOKYO = (48.2, 16.4), (35.7, 139.7)


def photos(folder: Path) -> list[Photo]:
    """Six of June, one of May, one without a date, one that was only said."""

    def photo(name: str, time: int | None, place: tuple[float, float] = VIENNA, **more: Any) -> Photo:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        Image.new("RGB", (60, 40), (len(name) * 9 % 255, 90, 60)).save(path)
        return Photo(name, str(path), time, lat=place[0], lon=place[1], **more)

    noted, told = Memory("note", "the harbour"), Memory("social", "my favourite cat")
    june = [photo(f"june{at}.jpg", JUNE + at * DAY, memories=(noted,) * (at % 2)) for at in range(4)]
    return [
        *june,
        photo("private/june0.jpg", JUNE + 4 * DAY, TOKYO, sharing="low"),
        photo("loved.jpg", JUNE + 5 * DAY, TOKYO, memories=(told, FAVOURITE)),
        photo("may.jpg", JUNE - DAY),
        photo("undated.jpg", None),
        Photo("told", None, JUNE, memories=(Memory("chat", "no picture"),)),
    ]


def write(path: Path, these: list[Photo]) -> None:
    meta = AlbumMeta("made-up", "colours", DIM, 0.6)
    album_of(path, map(encoded, these), names=FakeText().encode, meta=meta)


def encoded(photo: Photo) -> Encoded:
    return Encoded(photo, {"text": unit(photo.id.encode())[None]})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browsed")
    write(folder / "a.gamer", photos(folder))
    return folder / "a.gamer"


@pytest.fixture
def path(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the album that may be changed; a server of it looks at the file before every answer."""
    monkeypatch.setattr(living, "LOOK_EVERY", 0.0)
    return Path(shutil.copy(written, tmp_path / "a.gamer"))


@pytest.fixture
def browser(path: Path) -> Iterator[TestClient]:
    live = LiveAlbum.of(Engine(fake_models(), Album.open(path)))
    yield calling(live)
    live.close()


def listed(browser: TestClient, address: str = "") -> list[str]:
    answer = browser.get(f"/api/v1/photos?{address}")
    assert answer.status_code == 200, answer.text
    ids = [photo["id"] for photo in answer.json()["photos"]]
    total = browser.get(f"/api/v1/timeline?{address}").json()["total"]
    assert total == len(ids)
    return ids


def test_the_timeline_is_newest_first_with_months_that_count_and_pages(browser: TestClient) -> None:
    ids = listed(browser)
    assert ids == [
        "loved.jpg", "private/june0.jpg", "june3.jpg", "june2.jpg", "june1.jpg", "june0.jpg", "may.jpg",
        "undated.jpg",
    ]  # fmt: skip
    shelf = browser.get("/api/v1/timeline").json()
    assert [month["photos"] for month in shelf["months"]] == [6, 1]
    assert shelf["undated"] == 1
    assert shelf["months"][0]["start"] == JUNE
    page = browser.get("/api/v1/photos?offset=5&limit=2").json()
    assert [photo["id"] for photo in page["photos"]] == ids[5:7]
    assert page["edition"] == shelf["edition"]
    assert browser.get("/api/v1/photos?offset=99").json()["photos"] == []
    assert browser.get("/api/v1/photos?limit=501").status_code == 422
    first = browser.get("/api/v1/photos?limit=1").json()["photos"][0]
    assert first == {"row": 5, "id": "loved.jpg", "taken_at": JUNE + 5 * DAY, "favourite": True} | NO_TITLE


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (f"start={JUNE + 3 * DAY}&end={JUNE + 4 * DAY}", ["private/june0.jpg", "june3.jpg"]),
        (f"end={JUNE - 1}", ["may.jpg"]),
        ("box=35,139,36,140", ["loved.jpg", "private/june0.jpg"]),
        ("box=36,139,35,140", ["loved.jpg", "private/june0.jpg"]),  # north before south
        ("box=35,499,36,500", ["loved.jpg", "private/june0.jpg"]),  # once round the world
        ("box=-99,-200,99,200&favourites=true", ["loved.jpg"]),
        ("source=note", ["june3.jpg", "june1.jpg"]),
        ("source=social", ["loved.jpg"]),
        (f"source=note&start={JUNE + 2 * DAY}", ["june3.jpg"]),
        ("favourites=true&source=note", []),
    ],
)
def test_filters_combine(browser: TestClient, address: str, found: list[str]) -> None:
    assert listed(browser, address) == found


def test_people_are_offered_by_the_names_in_memories_and_filter_by_a_whole_name(tmp_path: Path) -> None:
    told = ("Anna, Ben", "Anna", "Anna Berg ,Ben")
    these = [
        Photo(f"p{at}", None, JUNE + at * DAY, memories=(Memory("people", text),))
        for at, text in enumerate(told)
    ]
    write(tmp_path / "a.gamer", [*these, Photo("said", None, JUNE, memories=(Memory("note", "Anna"),))])
    with closing(Engine(fake_models(), Album.open(tmp_path / "a.gamer"))) as engine:
        browser = TestClient(create_app(engine, ServerSettings(rate=NO_LIMIT)), base_url=HERE)
        people = browser.get("/api/v1/overview").json()["people"]
        assert [tuple(person.values()) for person in people] == [("Anna", 2), ("Ben", 2), ("Anna Berg", 1)]
        assert listed(browser, "person=Anna") == ["p1", "p0"]
        assert listed(browser, f"person=Ben&start={JUNE + DAY}") == ["p2"]
        assert listed(browser, "person=Nobody") == []
        assert browser.get("/api/v1/photos?person=").status_code == 422


@pytest.mark.parametrize(
    "address", ["start=x", "start=1.5", "box=1,2,3", "box=a,b,c,d", "source=mind", "favourites=yes", "place="]
)
def test_a_filter_that_is_none_is_refused(browser: TestClient, address: str) -> None:
    assert browser.get(f"/api/v1/photos?{address}").status_code == 422


def test_a_place_is_the_one_of_its_name_where_the_photos_are(
    browser: TestClient, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    def place(lat: float, lon: float) -> SimpleNamespace:
        box = Cube(south=lat - 1, north=lat + 1, west=lon - 1, east=lon + 1)
        return SimpleNamespace(boxes=(box,))

    answer = browser.get("/api/v1/timeline?place=Atlantis")
    assert answer.status_code == 404
    assert "Atlantis" in answer.json()["detail"]
    engine = Engine(fake_models(), Album.open(path))
    monkeypatch.setattr(engine.models.gazetteer, "lookup", lambda name: (place(0, 0), place(*TOKYO)))
    catalogue = Catalogue(engine)
    assert catalogue.rows(Filter(place="Springfield")).tolist() == [5, 4]
    engine.close()


def test_a_query_keeps_the_filter(browser: TestClient) -> None:
    def hits(**only: object) -> set[str]:
        asked = {"query": "harbour", "k": 50, "only": only}
        answer = browser.post("/api/v1/search", json=asked)
        assert answer.status_code == 200, answer.text
        return {hit["id"] for hit in answer.json()["answer"]["hits"]}

    assert hits(source="note") == {"june1.jpg", "june3.jpg"}
    assert len(hits()) > 2
    assert hits(source="note", favourites=True) == set()
    asked = {"query": "harbour", "only": {"place": "Atlantis"}}
    assert browser.post("/api/v1/search", json=asked).status_code == 404


def test_the_sources_of_a_filter_are_those_of_the_album() -> None:
    assert get_args(Source) == MEMORY_SOURCES


def test_a_favourite_is_marked_in_the_album_and_the_mark_taken_back(browser: TestClient, path: Path) -> None:
    def mark(favourite: bool) -> list[str]:
        body = {"ids": ["june1.jpg", "loved.jpg", "nobody"], "favourite": favourite}
        changed: list[str] = browser.post("/api/v1/favourites", json=body).json()["ids"]
        return changed

    with Album.open(path) as album:
        before = album.photo(1)
    assert mark(True) == ["june1.jpg"]
    assert listed(browser, "favourites=true") == ["loved.jpg", "june1.jpg"]
    with Album.open(path) as album:
        assert album.photo(1).memories == (*before.memories, FAVOURITE)
        assert album.verify() == []
    seen = browser.get("/api/v1/photos/1").json()
    assert seen["favourite"]
    assert [memory["source"] for memory in seen["memories"]] == ["note"]
    assert mark(False) == ["june1.jpg", "loved.jpg"]
    assert listed(browser, "favourites=true") == []
    with Album.open(path) as album:
        assert album.photo(1) == before
        assert album.verify() == []
        assert not album.words("loved").bm25.any()


def test_what_is_labelled_to_stay_is_left_out_of_an_export_unless_asked(browser: TestClient) -> None:
    ids = ["june0.jpg", "private/june0.jpg", "june1.jpg", "june0.jpg", "nobody", "told"]
    made = browser.post("/api/v1/exports", json={"ids": ids}).json()
    assert (made["photos"], made["stay"]) == (2, 1)
    everything = browser.post("/api/v1/exports", json={"ids": ids, "all": True}).json()
    assert (everything["photos"], everything["stay"]) == (3, 0)
    fetched = browser.get(f"/api/v1/exports/{everything['id']}/photos.zip")
    with zipfile.ZipFile(io.BytesIO(fetched.content)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["june0.jpg", "june0 (2).jpg", "june1.jpg"]
        assert archive.getinfo("june1.jpg").date_time[:3] == (2025, 6, 2)
        assert sum(entry.file_size for entry in archive.infolist()) == everything["bytes"]
    lines = browser.get(f"/api/v1/exports/{everything['id']}/photos.txt").text.splitlines()
    assert lines[1] == "private/june0.jpg\t2025-06-05T00:00:00\tjune0 (2).jpg"
    assert browser.get(f"/api/v1/exports/{'x' * 22}/photos.zip").status_code == 404


def test_a_zip_is_made_piece_by_piece_and_names_what_has_gone(tmp_path: Path) -> None:
    (tmp_path / "large.jpg").write_bytes(os.urandom(3 << 20))
    selected = [
        Selected("a", "large.jpg", tmp_path / "large.jpg", None),
        Selected("b", "gone.jpg", tmp_path / "gone.jpg", None),
    ]
    pieces = list(zipped(selected))
    assert len(pieces) > 10
    assert max(len(piece) for piece in pieces) < 1 << 20
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        assert archive.read("large.jpg") == (tmp_path / "large.jpg").read_bytes()
        assert archive.read(GONE) == b"gone.jpg\n"


def test_a_server_answers_from_the_album_that_another_program_has_added_to(
    browser: TestClient, path: Path, written: Path
) -> None:
    edition = browser.get("/api/v1/stats").json()["edition"]
    later = replace(photos(written.parent)[0], id="later.jpg", taken_at=JUNE + 9 * DAY)
    with AlbumWriter.extend(path) as writer:
        writer.add([encoded(later)])
    assert listed(browser)[0] == "later.jpg"
    assert browser.get("/api/v1/stats").json()["edition"] != edition
    assert browser.get("/api/v1/photos/9").json()["id"] == "later.jpg"
    asked = {"query": "later", "k": 50}
    assert "later.jpg" in browser.post("/api/v1/search", json=asked).text


def test_a_server_answers_from_the_album_that_took_its_albums_place(browser: TestClient, path: Path) -> None:
    kept = photos(path.parent)[1]
    write(path.with_name("b.gamer"), [kept])
    path.with_name("b.gamer").replace(path)
    for beside in ("-wal", "-shm"):
        path.with_name(path.name + beside).unlink(missing_ok=True)
    assert listed(browser) == ["june1.jpg"]


def test_an_album_that_cannot_be_opened_is_shown_as_it_was(browser: TestClient, path: Path) -> None:
    meta = AlbumMeta("another", "colours", DIM, 0.6)
    album_of(path.with_name("b.gamer"), [encoded(photos(path.parent)[1])], DIM, meta=meta).replace(path)
    assert len(listed(browser)) == 8
    path.unlink()
    assert len(listed(browser)) == 8


def test_an_answer_under_way_keeps_the_rows_that_it_began_with(path: Path) -> None:
    live = LiveAlbum.of(Engine(fake_models(), Album.open(path)))
    with live.edition() as before:
        with AlbumWriter.extend(path) as writer:
            writer.remove(["june0.jpg"])
        with live.edition() as after:
            assert len(after.album) == 8
            assert after.name != before.name
        assert len(before.album) == 9
        assert before.album.photo(0).id == "june0.jpg"
    with pytest.raises(Exception, match="closed"):
        before.album.photo(0)
    live.close()


def test_the_parts_of_a_clip_leave_as_one_file(tmp_path: Path) -> None:
    for name, start in (("beach.mp4", b"\0\0\0\x20ftypisom"), ("b.png", b"\x89PNG\r\n\x1a\n")):
        (tmp_path / name).write_bytes(start + bytes(100))
    parts = [Photo(f"beach.mp4#t={n},{n + 9}", str(tmp_path / "beach.mp4")) for n in (0, 9)]
    selected, size = _selected([*parts, Photo("b.png", str(tmp_path / "b.png"))])
    assert [photo.name for photo in selected] == ["beach.mp4", "beach.mp4", "b.png"]
    assert size == sum(file.stat().st_size for file in tmp_path.iterdir())
    with zipfile.ZipFile(io.BytesIO(b"".join(zipped(selected)))) as archive:
        assert archive.namelist() == ["beach.mp4", "b.png"]


def test_titles_are_what_the_indexer_saw_and_rows_that_do_not_exist_are_left_out(client: TestClient) -> None:
    found = client.post("/api/v1/search", json={"query": "coffee in Vienna", "k": 1}).json()
    row = found["answer"]["hits"][0]["row"]
    said = client.get("/api/v1/titles", params={"row": [row, 10_000]}).json()
    assert said == [{"row": row, "shows": "espresso", "place": "Vienna, AT"}]
    assert client.get("/api/v1/titles").status_code == 422
    assert client.get("/api/v1/titles", params={"row": [0] * 101}).status_code == 422
    assert client.get("/api/v1/titles?row=-1").status_code == 422
