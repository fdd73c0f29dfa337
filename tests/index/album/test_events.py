"""Events: what is stored is read back; they follow their photos; they are found by words and by meaning."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gamer.index import (
    Album,
    AlbumError,
    AlbumMeta,
    AlbumWriter,
    Encoded,
    Event,
    FloatArray,
    Mention,
    Photo,
    event_id,
    image_id,
)
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.album.writing import reencode
from gamer.index.cli import stats
from tests.albums import album_of
from tests.index.conftest import DIM, META, BuildAlbum, name_vectors
from tests.paths import GOLDEN

HOUR = 3_600_000
DINNER = Event(
    event_id("d1"),
    "Dinner at the harbour",
    "Anna and Bob ate oysters.",
    ("d1", "d2"),
    10 * HOUR,
    12 * HOUR,
    "Malmö",
    vector=name_vectors(["oysters"])[0],
)
WALK = Event(
    event_id("w1"),
    "A walk",
    "Through the forest, and then a dinner of bread.",
    ("w1", "w2", "undated"),
    30 * HOUR,
    31 * HOUR,
    edited=True,
    vector=name_vectors(["trees"])[0],
)
LOST = Event(event_id("undated2"), "Scans", "", ("undated2",))
PHOTOS = (
    Photo("w2", taken_at=31 * HOUR),
    Photo("undated2"),
    Photo("d1", taken_at=8 * HOUR, tz_source="offset", utc_offset=120),
    Photo("d2", taken_at=12 * HOUR),
    Photo("undated"),
    Photo("w1", taken_at=30 * HOUR),
    Photo("alone", taken_at=5),
)


@pytest.fixture
def path(build_album: BuildAlbum) -> Path:
    """An album with the three events above; the last has no vector."""
    path = build_album([Encoded(photo, {"image": name_vectors([photo.id])}) for photo in PHOTOS])
    with AlbumWriter.extend(path) as writer:
        writer.set_events([LOST, WALK, DINNER])
    return path


def events_of(path: Path) -> list[Event]:
    with Album.open(path) as album:
        assert album.verify() == []
        return album.events()


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql, values)


# What is stored


def test_events_are_read_in_order_of_time_and_their_photos_too(path: Path) -> None:
    assert events_of(path) == [DINNER, WALK, LOST]
    with Album.open(path) as album:
        of = {photo.id: album.event_of(row) for row, photo in enumerate(album.photos(range(7)))}
        assert of == {
            "w2": WALK,
            "undated2": LOST,
            "d1": DINNER,
            "d2": DINNER,
            "undated": WALK,
            "w1": WALK,
            "alone": None,
        }
        for row in (-1, 7):
            with pytest.raises(AlbumError, match="no photo in row"):
                album.event_of(row)
        stored = album.events()[0].vector
        assert stored is not None
        assert DINNER.vector is not None
        assert stored.dtype == np.float32
        assert float(stored @ DINNER.vector) == pytest.approx(1, abs=0.01)
        assert album.stats().events == 3


def test_times_are_those_of_the_photos_whatever_the_event_says(path: Path) -> None:
    wrong = [replace(DINNER, start=1, end=2), replace(LOST, start=5, end=4)]
    with AlbumWriter.extend(path) as writer:
        writer.set_events(wrong)
    assert events_of(path) == [DINNER, LOST]


def test_set_events_replaces_all_and_counts_as_one_change(path: Path) -> None:
    with Album.open(path) as old, AlbumWriter.extend(path) as writer:
        writer.set_events([replace(WALK, photos=("alone",)), replace(DINNER, photos=())])
        assert len(old.events()) == 3  # its snapshot
        generation = old.generation
    (only,) = events_of(path)
    assert (only.photos, only.start, only.end, only.edited) == (("alone",), 5, 5, True)
    with Album.open(path) as album:
        assert album.generation == generation + 1
    with AlbumWriter.extend(path) as writer:
        writer.set_events([])
    assert events_of(path) == []


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([replace(DINNER, photos=("d1", "nobody"))], "no photo with id 'nobody'"),
        ([DINNER, replace(WALK, photos=("w1", "d2"))], "photo 'd2' is in event"),
        ([replace(DINNER, photos=("d1", "d1"))], "photo 'd1' is in event"),
        ([DINNER, replace(WALK, id=DINNER.id)], "two events have the id"),
        ([replace(DINNER, id="ev_12345")], "ten hexadecimal digits"),
        ([replace(DINNER, id="ev_ABCDEF0123")], "ten hexadecimal digits"),
        ([replace(DINNER, id=DINNER.id + "\n")], "ten hexadecimal digits"),
        ([replace(DINNER, vector=np.zeros(DIM + 1, np.float32))], "check the encoder"),
        ([replace(DINNER, vector=np.full(DIM, np.nan, np.float32))], "check the encoder"),
        ([replace(DINNER, vector=np.zeros((1, DIM), np.float32))], "check the encoder"),
        ([replace(DINNER, name="\ud800")], "UTF-8"),
    ],
)
def test_events_that_cannot_be_stored_change_nothing(path: Path, events: list[Event], words: str) -> None:
    with AlbumWriter.extend(path) as writer:
        with pytest.raises(AlbumError, match=words) as refused:
            writer.set_events([LOST, *events])
        assert "\n" not in str(refused.value)
        writer.set_events([LOST, WALK, DINNER])  # the writer goes on
    assert events_of(path) == [DINNER, WALK, LOST]


TEXT = st.text(max_size=12)


@st.composite
def albums(draw: st.DrawFn) -> tuple[list[Photo], list[Event]]:
    """Photos with or without a time, and events over some of them as they must be read back."""
    moments = draw(st.lists(st.none() | st.integers(-(10**13), 10**13), min_size=1, max_size=9))
    offsets = draw(st.lists(st.sampled_from((None, 0, -330)), min_size=9, max_size=9))
    photos = [
        Photo(
            f"{at}é.jpg",
            taken_at=moment,
            tz_source="offset" if offset is not None and moment is not None else "local",
            utc_offset=offset if moment is not None else None,
        )
        for at, (moment, offset) in enumerate(zip(moments, offsets, strict=False))
    ]
    groups: dict[int, list[Photo]] = {}
    for photo in photos:
        if (number := draw(st.integers(0, 4))) > 0:
            groups.setdefault(number, []).append(photo)
    events = []
    for group in groups.values():
        group.sort(key=lambda p: (p.wall is None, p.wall or 0, p.id))
        walls = [photo.wall for photo in group if photo.wall is not None]
        ids = tuple(photo.id for photo in group)
        span = (min(walls, default=None), max(walls, default=None))
        place, edited = draw(st.none() | TEXT), draw(st.booleans())
        vector = name_vectors([ids[0]])[0] if draw(st.booleans()) else None
        events.append(Event(event_id(ids[0]), draw(TEXT), draw(TEXT), ids, *span, place, edited, vector))
    return photos, events


@settings(max_examples=40, deadline=None)
@given(albums())
def test_any_events_are_read_back_as_they_were(case: tuple[list[Photo], list[Event]]) -> None:
    photos, events = case
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "album.gamer")
        with AlbumWriter.create(path, META) as writer:
            writer.add([Encoded(photo) for photo in photos])
            writer.set_events(events)
            writer.finish(name_vectors)
        read = events_of(path)
    assert read == sorted(events, key=lambda e: (e.start is None, e.start or 0, e.id))
    assert all(event.vector is not None for event in read)


# They follow their photos


class EventChanges(RuleBasedStateMachine):
    """The album beside a plain model: photos by id, and the event number of some of them."""

    names = st.sampled_from("abcdefgh")
    moments = st.none() | st.integers(0, 50)

    @initialize(moments=st.lists(moments, min_size=4, max_size=8))
    def create(self, moments: list[int | None]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "album.gamer")
        self.photos = {
            name: Photo(name, taken_at=moment) for name, moment in zip("abcdefgh", moments, strict=False)
        }
        self.member: dict[str, str] = {}
        album_of(self.path, self.photos.values(), names=name_vectors, meta=META)
        self.writer = AlbumWriter.extend(self.path)

    @rule(groups=st.lists(st.sampled_from("0123"), min_size=8, max_size=8))
    def segment(self, groups: list[str]) -> None:
        self.member = {
            name: event_id(group)
            for name, group in zip("abcdefgh", groups, strict=True)
            if name in self.photos and group != "0"
        }
        self.writer.set_events(self.expected())

    @rule(name=names, moment=moments)
    def put(self, name: str, moment: int | None) -> None:
        photo = Photo(name, taken_at=moment)
        (self.writer.update if name in self.photos else self.writer.add)([Encoded(photo)])
        self.photos[name] = photo

    @rule(names=st.sets(names, min_size=1, max_size=4))
    def remove(self, names: set[str]) -> None:
        there = sorted(names & self.photos.keys())
        self.writer.remove(there)
        for name in there:
            del self.photos[name]
            self.member.pop(name, None)

    @rule()
    def fail(self) -> None:
        with pytest.raises(AlbumError):
            self.writer.remove([*self.photos, "nobody"])

    @rule(compact=st.booleans())
    def reopen(self, compact: bool) -> None:
        if compact:
            self.writer.compact()
        else:
            self.writer.finish(name_vectors)
        self.writer = AlbumWriter.extend(self.path)

    def expected(self) -> list[Event]:
        out = []
        for event in sorted(set(self.member.values())):
            photos = [self.photos[name] for name, other in self.member.items() if other == event]
            photos.sort(key=lambda p: (p.wall is None, p.wall or 0, p.id))
            walls = [photo.wall for photo in photos if photo.wall is not None]
            span = (min(walls, default=None), max(walls, default=None))
            out.append(Event(event, f"name of {event}", "words", tuple(p.id for p in photos), *span))
        return sorted(out, key=lambda e: (e.start is None, e.start or 0, e.id))

    @invariant()
    def the_events_are_those_of_the_model(self) -> None:
        if hasattr(self, "path"):
            assert events_of(self.path) == self.expected()

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close()
            self.folder.cleanup()


EventChanges.TestCase.settings = settings(max_examples=20, stateful_step_count=20, deadline=None)
TestEventChanges = EventChanges.TestCase


def test_removing_photos_shortens_an_event_and_deletes_an_emptied_one(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.remove(["d2", "undated2"])
    assert events_of(path) == [replace(DINNER, photos=("d1",), end=10 * HOUR), WALK]
    with AlbumWriter.extend(path) as writer:
        writer.update([Encoded(Photo("d1", "/new", 40 * HOUR))])
        writer.move("w1", "/elsewhere")
    assert events_of(path) == [WALK, replace(DINNER, photos=("d1",), start=40 * HOUR, end=40 * HOUR)]


def test_new_encoders_keep_events_and_make_their_vectors_again(path: Path, tmp_path: Path) -> None:
    aside = tmp_path / "renewed.gamer"
    reencode.begin(path, aside, AlbumMeta("other-text", "other-image", 8, 0.5))
    with Album.open(aside) as album:
        assert [event.vector for event in album.events()] == [None] * 3
        assert album.verify() == []  # an interrupted run leaves it, for anybody to look at
    asked: list[str] = []

    def encode(texts: Sequence[str]) -> FloatArray:
        asked.extend(texts)
        return np.full((len(texts), 8), 8**-0.5, np.float32)

    with AlbumWriter.extend(aside) as writer:
        writer.update([Encoded(photo, {"image": name_vectors([photo.id])}) for photo in PHOTOS])
        writer.embed(encode)
        writer.compact()
    assert asked == ["Scans. ", f"A walk. {WALK.summary}", f"Dinner at the harbour. {DINNER.summary}"]
    renewed = events_of(aside)
    assert renewed == [DINNER, WALK, LOST]
    assert [event.vector is not None and event.vector.shape == (8,) for event in renewed] == [True] * 3


def test_embedding_fills_only_vectors_that_are_missing(path: Path) -> None:
    asked: list[str] = []

    def encode(texts: Sequence[str]) -> FloatArray:
        asked.extend(texts)
        return name_vectors(texts)

    with Album.open(path) as album:
        before = album.generation
    with AlbumWriter.extend(path) as writer:
        writer.embed(encode)
        with pytest.raises(AlbumError, match="event vectors"):
            writer.set_events([LOST])
            writer.embed(lambda texts: np.zeros((1, DIM + 1), np.float32))
    assert asked == ["Scans. "]
    assert events_of(path) == [LOST]
    with Album.open(path) as album:
        assert album.generation == before + 1


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_album_has_no_events_until_a_writer_upgrades_it(version: int, tmp_path: Path) -> None:
    old = tmp_path / "old.gamer"
    old.write_bytes((GOLDEN / f"album_v{version}.gamer").read_bytes())
    with Album.open(old) as album:
        assert album.events() == []
        assert album.event_of(0) is None
        assert album.stats().events == 0
        assert album.search_events("dog", name_vectors(["dog"])[0], 3) == []
        edges = album.stats().edges
    with AlbumWriter.extend(old) as writer:
        writer.set_events([Event(event_id("x"), "Dogs", "on the beach", ("dog.jpg", "beach.jpg"))])
    assert [event.photos for event in events_of(old)] == [("beach.jpg", "dog.jpg")]
    with Album.open(old) as album:
        assert album.stats().edges == edges
    with closing(sqlite3.connect(old)) as db:
        assert db.execute("SELECT DISTINCT relation FROM edges").fetchall() == [("",)]


# How a mention is related


def test_relations_are_stored_and_the_graph_has_each_pair_once(build_album: BuildAlbum) -> None:
    mentions = (
        Mention("chair", "thing"),
        Mention("IKEA", "place", "chair", "at"),
        Mention("IKEA", "place", "chair", "from"),
        Mention("119 euros", "price", "chair", "costs"),
        Mention("lamp", "thing", "chair"),
    )
    path = build_album([Encoded(Photo("a"), {}, mentions), Encoded(Photo("b"), {}, mentions[1:2])])
    with closing(sqlite3.connect(path)) as db:
        stored = db.execute(
            "SELECT c.name, relation FROM edges JOIN entities c ON c.row=child ORDER BY c.row, relation"
        ).fetchall()
    assert stored == [("IKEA", "at"), ("IKEA", "from"), ("119 euros", "costs"), ("lamp", "")]
    for compacted in (False, True):
        if compacted:
            with AlbumWriter.extend(path) as writer:
                writer.remove(["b"])
                writer.add([Encoded(Photo("c"), {}, (Mention("soon gone", "thing", "lost", "in"),))])
                writer.remove(["c"])
                writer.compact()
        with Album.open(path) as album:
            assert album.verify() == []
            links = album.entity_links(range(4))
            assert len(links) == 3
            assert len(set(links)) == 3
            assert album.stats().edges == 4


# Search


def found(path: Path, text: str, vector: FloatArray | None, k: int = 5) -> list[str]:
    with Album.open(path) as album:
        return [event.name for event, _ in album.search_events(text, vector, k)]


def test_events_are_found_by_words_and_by_meaning(path: Path) -> None:
    trees = name_vectors(["trees"])[0]
    assert found(path, "an oyster dinner?", None) == ["Dinner at the harbour", "A walk"]  # stems
    assert found(path, "malmö", None) == ["Dinner at the harbour"]  # the place
    assert found(path, "", trees) == ["A walk", "Dinner at the harbour"]  # Scans has no vector
    assert found(path, "scanned zebra", trees, 1) == ["A walk"]
    harbour = name_vectors(["oysters"])[0]
    assert found(path, "bread", harbour) == ["A walk", "Dinner at the harbour"]  # in both rankings, in one
    assert found(path, "the forest", trees, 0) == found(path, "zebra", None) == found(path, "", None) == []
    assert found(path, 'NEAR(" OR * - "', None) == []  # no syntax
    with Album.open(path) as album:
        scores = [score for _, score in album.search_events("forest", trees, 5)]
        assert scores[0] == pytest.approx(2 / 61)
        assert scores == sorted(scores, reverse=True)
        with pytest.raises(AlbumError, match="a query of 3 dimensions, but events has 16"):
            album.search_events("x", np.zeros(3, np.float32), 1)


def test_the_file_holds_no_words_of_events(path: Path) -> None:
    found(path, "dinner", None)
    with closing(sqlite3.connect(path)) as db:
        assert {
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%event%'")
        } == {
            "events",
            "sqlite_autoindex_events_1",
            "event_photos",
            "event_photos_event",
        }


def test_an_export_is_the_same_with_and_without_events(path: Path, tmp_path: Path) -> None:
    with Album.open(path) as album:
        export_jsonl(album, tmp_path / "with.jsonl")
    with AlbumWriter.extend(path) as writer:
        writer.set_events([])
    with Album.open(path) as album:
        export_jsonl(album, tmp_path / "without.jsonl")
    assert (tmp_path / "with.jsonl").read_bytes() == (tmp_path / "without.jsonl").read_bytes()


# Ids


def test_short_ids_name_photos(path: Path) -> None:
    assert event_id("d1")[3:] == image_id("d1")[4:]
    assert len(image_id("é")) == 14
    with Album.open(path) as album:
        for photo in PHOTOS:
            assert album.row_of_image(image_id(photo.id)) == album.row_of(photo.id)
        for unknown in ("img_0000000000", "d1", "", "img_\n"):
            with pytest.raises(AlbumError, match="no photo with image id") as refused:
                album.row_of_image(unknown)
            assert "\n" not in str(refused.value)


# Damage


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE events SET row = 9 WHERE row = 2", "rows are not 0..e-1"),
        ("UPDATE event_photos SET event = 9 WHERE photo = 2", "events of no photo"),
        ("UPDATE event_photos SET photo = 99 WHERE photo = 2", "photos of no event"),
        ("DELETE FROM event_photos WHERE event = 0", "events without photos"),
        ("UPDATE events SET scale = NULL WHERE row = 1", "half a vector"),
        ("UPDATE events SET scale = -1 WHERE row = 1", "half a vector"),
        ("UPDATE events SET data = x'00' WHERE row = 1", "1 are not 16 bytes long"),
        ("UPDATE events SET starts = ends + 1 WHERE row = 1", "invalid time"),
        ("UPDATE events SET ends = NULL WHERE row = 1", "invalid time"),
        ("UPDATE events SET ends = ends + 1 WHERE row = 1", "not those of their photos"),
        ("UPDATE events SET id = 'ev_0' WHERE row = 1", "invalid id"),
        ("UPDATE events SET name = x'00' WHERE row = 1", "words are not text"),
        ("UPDATE events SET edited = 2 WHERE row = 1", "edited"),
        ("UPDATE events SET name = 'A wake' WHERE row = 1", "do not match their checksum"),
        ("UPDATE events SET crc = NULL WHERE row = 1", "do not match their checksum"),
        ("DELETE FROM event_photos WHERE photo = 0", "do not match their checksum"),
        ("UPDATE event_photos SET photo = 6 WHERE photo = 0", "do not match their checksum"),
    ],
)
def test_damage_of_events_is_found_and_never_read(path: Path, sql: str, problem: str) -> None:
    change(path, sql)
    with Album.open(path) as album:
        assert any(problem in line for line in album.verify()), album.verify()
        for read in (album.events, lambda: album.event_of(0), lambda: album.search_events("walk", None, 2)):
            with pytest.raises(AlbumError) as refused:
                read()
            assert "\n" not in str(refused.value)


def test_stats_prints_the_number_of_events(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        stats([str(path), "--json"])
    assert json.loads(capsys.readouterr().out)["events"] == 3
