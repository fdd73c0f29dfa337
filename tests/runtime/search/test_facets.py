"""Facets that a query names: what is taken out of it, and which photos are left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import apsw
import numpy as np
import pytest

from gamer.index import Album, AlbumWriter
from gamer.index.people import reading, writing
from gamer.index.people.records import LookedAt, NewFace
from gamer.runtime.questions.reader import read
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.facets import FacetRows
from gamer.runtime.search.options import AS_ASKED
from tests.albums import engine_of, note
from tests.fakes import fake_models

NOW = datetime(2026, 11, 21, 12)
PHOTOS: list[dict[str, object]] = [
    {"id": "high", "orientation": "portrait", "camera": "Apple iPhone 12", "taken_at": "2024-03-01T10:00:00"},
    {"id": "wide", "orientation": "landscape", "camera": "Canon EOS 5D", "lat": 48.1, "lon": 11.5},
    {"id": "both", "orientation": "landscape", "camera": "Apple iPhone 12", "lat": 48.1, "lon": 11.5},
]
MORE: list[dict[str, object]] = [
    {"id": "flash", "lighting": "flash", "memories": note("the garden, Anna and Tom")},
    {"id": "dark", "lighting": "ambient", "memories": note("the garden")},
    {
        "id": "screen",
        "medium": "screenshot",
        "memories": [*note("the garden"), {"source": "ocr", "text": "opens at 9"}],
    },
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_of(tmp_path, (photo | {"memories": note("a garden")} for photo in PHOTOS)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "rest", "ids"),
    [
        ("garden in portrait format", "garden", {"high"}),
        ("vertical photos of the garden", "photos of the garden", {"high"}),
        ("photos in landscape", "photos", {"wide", "both"}),
        ("photos without a date", "photos", {"wide", "both"}),
        ("gardens with no location", "gardens", {"high"}),
        ("gardens taken with the iPhone", "gardens", {"high", "both"}),
        ("shot on iPhone 12?", "photos", {"high", "both"}),
        ("photos taken with my iPhone in Munich", "photos in Munich", {"high", "both"}),
        ("horizontal photos taken with my iPhone", "photos", {"both"}),
    ],
)
def test_a_facet_is_taken_out_of_the_query_and_leaves_its_photos(
    engine: Engine, query: str, rest: str, ids: set[str]
) -> None:
    assert read(query, has=FacetRows(engine.album, engine.facts)).query == rest
    answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert {hit.id for hit in answer.hits} == ids
    assert answer.trace.query == query


@pytest.mark.parametrize(
    "query",
    [
        "a portrait of Anna",
        "the landscape with the lake",
        "dinner with the family",
        "a child with an apple",
        "the boy on the 12",
        "taken with the Nikon",  # the album has none
        "a date with Anna",
        "the place without a name",
    ],
)
def test_words_that_are_no_facet_stay_in_the_query(engine: Engine, query: str) -> None:
    answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert len(answer.hits) == len(PHOTOS)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("screenshots", "screenshots: none in this album"),
        ("videos of the cat", "videos: none in this album"),
        ("my favourite photos", "favourites only: none in this album"),
    ],
)
def test_what_the_album_has_none_of_is_no_list_of_guesses(engine: Engine, query: str, note: str) -> None:
    answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert (answer.hits, answer.presence, answer.note) == ((), 0.0, note)


def test_no_flash_is_sure_only_where_the_light_is_known(tmp_path: Path) -> None:
    with engine_of(tmp_path, [photo for photo in MORE if photo["id"] != "flash"]) as engine:
        answer = engine.search("the garden with flash", now=NOW, options=AS_ASKED)
    assert (answer.hits, answer.note) == ((), "with flash: none in this album")


@pytest.mark.parametrize("query", ["screenshots", "my favourite photos"])
def test_a_kind_that_a_memory_tells_of_is_searched(tmp_path: Path, query: str) -> None:
    told = {"id": "map", "memories": note("a screenshot of my favourite map")}
    with engine_of(tmp_path, [told]) as engine:
        answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert [hit.id for hit in answer.hits] == ["map"]


@pytest.mark.parametrize(
    ("query", "count", "line", "ids"),
    [
        ("which year did I photograph most?", 2, "2024: 2", {"a", "b"}),
        ("how many photos a month", 3, "2023-05: 1, 2024-03: 2", {"a", "b", "c"}),
        ("how many a month", 3, "2023-05: 1, 2024-03: 2", {"a", "b", "c"}),
        ("which month did I take the most photos in 2023", 1, "2023-05: 1", {"c"}),
    ],
)
def test_numbers_by_year_and_month_are_counted(
    tmp_path: Path, query: str, count: int, line: str, ids: set[str]
) -> None:
    days = {"a": "2024-03-01", "b": "2024-03-09", "c": "2023-05-02", "undated": None}
    photos = (
        {"id": name, "memories": note("a walk")} | ({"taken_at": f"{day}T10:00:00"} if day else {})
        for name, day in days.items()
    )
    with engine_of(tmp_path, photos) as engine:
        answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert (answer.count, answer.note, answer.presence) == (count, line, 1.0)
    assert {hit.id for hit in answer.hits} == ids


def test_facets_alone_are_certain_and_counted(engine: Engine) -> None:
    answer = engine.search("how many photos without a date", now=NOW, options=AS_ASKED)
    assert (answer.count, answer.presence) == (2, 1.0)
    answer = engine.search("vertical photos", now=NOW, options=AS_ASKED)
    assert [hit.probability for hit in answer.hits] == [1.0]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("the garden with flash", {"flash"}),
        ("the garden without flash", {"dark", "screen"}),
        ("screenshots of the garden", {"screen"}),
        ("photos with text", {"screen"}),
        ("photos of the garden without text", {"flash", "dark"}),
        ("street signs with text", {"flash", "dark", "screen"}),
    ],
)
def test_flash_screenshots_and_text_leave_their_photos(tmp_path: Path, query: str, ids: set[str]) -> None:
    with engine_of(tmp_path, MORE) as engine:
        answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert {hit.id for hit in answer.hits} == ids


def test_people_alone_and_together_are_those_whose_faces_are_there(tmp_path: Path) -> None:
    shown = {"both": ("Anna", "Tom"), "anna": ("Anna",), "tom": ("Tom",), "none": ()}
    photos = ({"id": name, "memories": note("Anna and Tom in the garden")} for name in shown)
    with engine_of(tmp_path, photos) as engine:
        with_faces(engine.album.path, shown)
        answer = engine.search("Anna and Tom together", now=NOW, options=AS_ASKED)
        assert {hit.id for hit in answer.hits} == {"both"}
        answer = engine.search("photos of Anna alone", now=NOW, options=AS_ASKED)
        assert {hit.id for hit in answer.hits} == {"anna"}
        answer = engine.search("group photos in the garden", now=NOW, options=AS_ASKED)
        assert {hit.id for hit in answer.hits} == {"both"}
        answer = engine.search("people alone in the garden", now=NOW, options=AS_ASKED)
        assert {hit.id for hit in answer.hits} == {"anna", "tom"}
        answer = engine.search("the tree alone in the garden", now=NOW, options=AS_ASKED)
        assert len(answer.hits) == len(shown)


def with_faces(album: Path, shown: dict[str, tuple[str, ...]]) -> None:
    """Finds a face of Anna or Tom in the photos, and names them."""
    names = ("Anna", "Tom")
    vectors = dict(zip(names, np.eye(2, 128, dtype=np.float32), strict=True))

    def write(db: apsw.Connection, path: Path) -> None:
        writing.begin(db, path, "faces")
        faces = {
            photo: tuple(NewFace((0.1, 0.1, 0.2, 0.2), 1.0, vectors[name]) for name in of)
            for photo, of in shown.items()
        }
        writing.store(db, [LookedAt(photo, None, of) for photo, of in faces.items()])
        writing.regroup(db, path)
        people = reading.of(db, path)
        for person in people.people:
            at = people.faces.index(person.faces[0])
            writing.name(db, path, person, names[int(people.vectors[at].argmax())])

    with AlbumWriter.extend(album) as writer:
        writer.change_optional(write)


def test_pictures_without_known_headers_may_be_screenshots(tmp_path: Path) -> None:
    """As in an album that a phone made."""
    with engine_of(tmp_path, ({"id": name, "memories": note("a garden")} for name in "ab")) as engine:
        path = engine.album.path
    with AlbumWriter.extend(path) as writer:
        writer.move("a", "/p/a.jpg")
    with Engine(fake_models(), Album.open(path)) as engine:
        answer = engine.search("screenshots", now=NOW, options=AS_ASKED)
    assert (len(answer.hits), answer.trace.cues) == (2, ())
