"""The committed albums of all versions, read with Python's standard library only, and opened by this
program. If a test breaks, a promise of the format is broken.
"""

from __future__ import annotations

import hashlib
import math
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from gamer.index import Album, AlbumWriter, Cube
from tests.index.album.test_format import value_bytes
from tests.index.conftest import name_vectors
from tests.paths import GOLDEN

UNKNOWN = -(2**63)


@pytest.fixture(params=[1, 2, 3])
def version(request: pytest.FixtureRequest) -> int:
    assert isinstance(request.param, int)
    return request.param


@pytest.fixture
def golden(version: int, tmp_path: Path) -> Path:
    """A copy, because a reader of a WAL file writes files beside it."""
    return Path(shutil.copy(GOLDEN / f"album_v{version}.gamer", tmp_path / "golden.gamer"))


@pytest.fixture
def stock(golden: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(golden)) as db:
        yield db


def test_the_header_names_its_application_version_and_journal_mode(golden: Path, version: int) -> None:
    head = golden.read_bytes()[:100]
    assert struct.unpack_from(">I", head, 68) == (0x47414D52,)
    assert struct.unpack_from(">I", head, 60) == (version,)
    assert head[18:20] == (b"\x01\x01" if version == 1 else b"\x02\x02")  # WAL


def test_the_best_chunk_of_scaled_bytes_gives_the_photo_that_is_meant(
    stock: sqlite3.Connection, version: int
) -> None:
    """Components are scale times a signed byte; the best chunk is the photo's score."""
    (query,) = name_vectors(["anna" if version == 1 else "doctor"]).tolist()
    scores: dict[str, float] = {}
    sql = """SELECT p.id, v.scale, v.data
        FROM vectors v JOIN photos p ON p.row = v.photo WHERE v.channel = 'text'"""
    for photo, scale, data in stock.execute(sql):
        values = [scale * code for code in struct.unpack(f"{len(data)}b", data)]
        assert max(map(abs, values)) == pytest.approx(127 * scale)
        assert math.hypot(*values) == pytest.approx(1, abs=0.02)
        scores[photo] = max(scores.get(photo, -1.0), sum(a * b for a, b in zip(values, query, strict=True)))
    assert max(scores, key=scores.__getitem__) == "chair.jpg"
    assert scores["chair.jpg"] == pytest.approx(1, abs=0.02)


def usable(db: sqlite3.Connection, version: int, name: str) -> tuple[bytes, set[int]]:
    """A segment's bytes and the rows of the photos that it does not cover, by the rules of FORMAT.md."""
    (photos,) = db.execute("SELECT count(*) FROM photos").fetchone()
    rows = "rows" if version > 1 else str(photos)
    generation, covered, digest, blob = db.execute(
        f"SELECT generation, {rows}, sha256, blob FROM segments WHERE name=?", (name,)
    ).fetchone()
    assert hashlib.sha256(blob).hexdigest() == digest
    (now,) = db.execute("SELECT CAST(value AS INTEGER) FROM meta WHERE key='generation'").fetchone()
    if version == 1:
        assert generation == now
        return blob, set()
    changed = {row for (row,) in db.execute("SELECT photo FROM changes WHERE generation > ?", (generation,))}
    return blob, changed | set(range(covered, photos))


def walk(blob: bytes, low: tuple[int, ...], high: tuple[int, ...]) -> list[int]:
    """The rows inside one box, by walking the tree as FORMAT.md describes it."""
    magic, _, leaf, n = struct.unpack_from("<4sHHQ", blob)
    assert magic == b"GKDT"
    columns = [struct.unpack_from(f"<{n}q", blob, 16 + 8 * n * axis) for axis in range(3)]
    order = struct.unpack_from(f"<{n}i", blob, 16 + 24 * n)
    rows, ranges = [], [(0, n, 0)]
    while ranges:
        start, end, depth = ranges.pop()
        here = range(start, end)
        if end - start > leaf:
            middle, axis = (start + end) // 2, depth % 3
            here = range(middle, middle + 1)
            if low[axis] <= columns[axis][middle]:
                ranges.append((start, middle, depth + 1))
            if high[axis] >= columns[axis][middle]:
                ranges.append((middle + 1, end, depth + 1))
        rows += [order[at] for at in here if all(low[a] <= columns[a][at] <= high[a] for a in range(3))]
    return rows


@pytest.mark.parametrize(
    "span",
    [(0, 10_000), (-19_800_000, 10_000_000), (1_300_000_000_000, 1_303_000_000_000), (UNKNOWN, UNKNOWN)],
)
def test_the_tree_and_the_photos_it_does_not_cover_give_every_photo_of_a_span(
    stock: sqlite3.Connection, golden: Path, version: int, span: tuple[int, int]
) -> None:
    blob, behind = usable(stock, version, "kdtree")
    assert (version == 1) == (not behind)
    wall = "taken_at + 60000 * coalesce(utc_offset, 0)" if version > 1 else "taken_at"
    times = {row: UNKNOWN if t is None else t for row, t in stock.execute(f"SELECT row, {wall} FROM photos")}
    inside = {
        row
        for row in walk(blob, (UNKNOWN, UNKNOWN, span[0]), (2**63 - 1, 2**63 - 1, span[1]))
        if row in times and row not in behind
    }
    inside |= {row for row in behind if span[0] <= times[row] <= span[1]}
    assert inside == {row for row, t in times.items() if span[0] <= t <= span[1]}
    assert inside
    if span[0] != UNKNOWN:
        with Album.open(golden) as album:
            assert set(album.in_cubes([Cube(*span)]).inside.tolist()) == inside


def test_entities_link_photos_under_their_merged_names(stock: sqlite3.Connection, version: int) -> None:
    same_as = "same_as" if version > 1 else "NULL"
    pointers = dict(stock.execute(f"SELECT row, {same_as} FROM entities"))
    assert sorted(pointers) == list(range(len(pointers)))

    def root(row: int) -> int:
        while pointers[row] is not None:
            row = pointers[row]
        return row

    names = dict(stock.execute("SELECT row, name FROM entities"))
    links: dict[str, set[str]] = {}
    for entity, photo in stock.execute(
        "SELECT m.entity, p.id FROM mentions m JOIN photos p ON p.row = m.photo"
    ):
        links.setdefault(names[root(entity)], set()).add(photo)
    assert links["beaches"] == {"beach.jpg", "dog.jpg"}  # "beach" is another spelling
    edges = {(names[root(a)], names[root(b)]) for a, b in stock.execute("SELECT parent, child FROM edges")}
    assert ("chair", "119 euros") in edges
    if version > 1:
        assert links["Robert"] == {"beach.jpg", "dog.jpg"}
        assert "Bob" not in links
        assert ("chair", "IKEA") in edges
        leaves = stock.execute(
            "SELECT e.name, m.leaf FROM mentions m JOIN entities e ON e.row=m.entity "
            "JOIN photos p ON p.row=m.photo AND p.id='chair.jpg'"
        )
        assert dict(leaves) == {"chair": 0, "119 euros": 1, "IKEA": 1}


def test_the_full_text_index_finds_a_memory_by_its_words(stock: sqlite3.Connection) -> None:
    sql = """SELECT p.id FROM memories_fts f
        JOIN memories m ON m.id = f.rowid JOIN photos p ON p.row = m.photo
        WHERE memories_fts MATCH '"dogs" OR "running"' ORDER BY bm25(memories_fts)"""
    assert stock.execute(sql).fetchall() == [("dog.jpg",)]
    assert stock.execute("SELECT count(*) FROM memories WHERE id < 1").fetchone() == (0,)


def test_sharing_and_sensitivity_labels_are_stored_with_photos_and_memories(
    stock: sqlite3.Connection, golden: Path, version: int
) -> None:
    at_home = "sharing IS 'low' OR sensitivity IS 'high'"
    assert stock.execute(f"SELECT id FROM photos WHERE {at_home}").fetchall() == [("beach.jpg",)]
    if version > 1:
        assert stock.execute(f"SELECT text FROM memories WHERE {at_home}").fetchall() == [
            ("the doctor's number is 555 0199",)
        ]


def test_preferences_between_photos_and_entities_are_stored_since_version_2(
    stock: sqlite3.Connection, version: int
) -> None:
    if version == 1:
        assert stock.execute("SELECT count(*) FROM sqlite_schema WHERE name='preferences'").fetchone() == (0,)
        return
    sql = """SELECT a.id, b.id FROM preferences
        JOIN photos a ON a.row=better JOIN photos b ON b.row=worse WHERE kind='photo'"""
    assert stock.execute(sql).fetchall() == [("dog.jpg", "chair.jpg")]
    sql = """SELECT a.name, b.name FROM preferences
        JOIN entities a ON a.row=better JOIN entities b ON b.row=worse WHERE preferences.kind='entity'"""
    assert stock.execute(sql).fetchall() == [("dog", "chair")]


def test_checksums_cover_photos_and_entities_since_version_2(stock: sqlite3.Connection, version: int) -> None:
    if version == 1:
        return
    for row, crc in stock.execute("SELECT row, crc FROM photos").fetchall():
        parts = [
            "SELECT id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256 "
            "FROM photos WHERE row=?",
            "SELECT source, text, sharing, sensitivity FROM memories WHERE photo=? ORDER BY id",
            "SELECT e.name, m.leaf FROM mentions m JOIN entities e ON e.row=m.entity "
            "WHERE m.photo=? ORDER BY e.name",
            "SELECT channel, chunk, scale, data, fine FROM vectors WHERE photo=? ORDER BY channel, chunk",
        ]
        assert (
            zlib.crc32(
                b"".join(
                    value_bytes(v) for sql in parts for record in stock.execute(sql, (row,)) for v in record
                )
            )
            == crc
        )
    for crc, *values in stock.execute("SELECT crc, canonical, name, kind, scale, data FROM entities"):
        assert zlib.crc32(b"".join(map(value_bytes, values))) == crc


def test_version_3_stores_events_and_how_entities_are_related(
    stock: sqlite3.Connection, version: int
) -> None:
    if version < 3:
        tables = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'event%'"
        assert stock.execute(tables).fetchone() == (0,)
        return
    sql = """SELECT c.name, relation FROM edges
        JOIN entities p ON p.row = parent JOIN entities c ON c.row = child WHERE p.name = 'chair'"""
    assert set(stock.execute(sql)) == {("119 euros", "costs"), ("IKEA", "at"), ("IKEA", "from")}
    events = stock.execute(
        "SELECT row, name, summary, place, starts, ends, edited FROM events ORDER BY row"
    ).fetchall()
    march = (1_300_000_000_000, 1_300_000_000_000 + 9 * 864 * 10**5)
    assert events == [
        (0, "Shopping", "A chair is bought.", "Garching", 7_201_000, 7_201_000, 0),
        (1, "At the beach", "Waves and Bob.", None, 5_000, 5_000, 1),
        (2, "A journey é", "Ten days of March.", None, *march, 0),
    ]
    columns = "id, name, summary, place, starts, ends, edited, scale, data"
    for row, crc, *values in stock.execute(f"SELECT row, crc, {columns} FROM events").fetchall():
        ids = stock.execute(
            "SELECT id FROM event_photos JOIN photos ON photos.row = photo WHERE event = ?", (row,)
        )
        photos = sorted((photo for (photo,) in ids), key=str.encode)
        assert values[0] == "ev_" + hashlib.sha256(photos[0].encode()).hexdigest()[:10]
        assert len(photos) == (2, 1, 10)[row]
        assert len(values[-1]) == 16
        assert zlib.crc32(b"".join(map(value_bytes, [*values, *photos]))) == crc


def contents(path: Path) -> dict[str, Any]:
    with Album.open(path) as album:
        assert album.verify() == []
        photos = {photo.id: photo for photo in album.photos(range(len(album)))}
        ranked = dict(zip(photos, album.scores("text", name_vectors(["dog"])[0]).tolist(), strict=True))
        names = album.match_entities(name_vectors(["beaches"])[0], np.arange(len(album)), 0.99)
        beach = [sorted(album.photo(row).id for row in match.photos) for match in names]
        return {
            "photos": photos,
            "scores": ranked,
            "beach": beach,
            "meta": album.meta,
            "words": album.search_text("dog", 1).rows.size,
            "events": album.events(),
            "edges": album.stats().edges,
        }


def test_opening_changes_nothing_and_a_writer_loses_nothing(golden: Path, version: int) -> None:
    before, raw = contents(golden), golden.read_bytes()
    assert golden.read_bytes() == raw
    assert [p.name for p in golden.parent.iterdir()] == [golden.name]
    assert len(before["events"]) == (3 if version == 3 else 0)
    assert len(before["photos"]) == 84
    assert before["beach"] == [["beach.jpg", "dog.jpg"]]
    with AlbumWriter.extend(golden) as writer:
        writer.finish(name_vectors)
    assert struct.unpack_from(">I", golden.read_bytes()[:100], 60) == (3,)
    assert contents(golden) == before
    with AlbumWriter.extend(golden) as writer:
        writer.compact()
    assert contents(golden) == before
    assert [p.name for p in golden.parent.iterdir()] == [golden.name]


def test_sqlite_vec_searches_an_album_in_plain_sql(golden: Path) -> None:
    sqlite_vec = pytest.importorskip("sqlite_vec", reason="needs the dev extra")
    query = name_vectors(["dog"])[0]
    codes = np.rint(query / np.abs(query).max() * 127).astype(np.int8)
    db = apsw.Connection(str(golden))
    db.enable_load_extension(True)
    db.load_extension(sqlite_vec.loadable_path())
    sql = """SELECT p.id, vec_distance_cosine(vec_int8(v.data), vec_int8(?)) AS d
        FROM vectors v JOIN photos p ON p.row = v.photo
        WHERE v.channel = 'text' ORDER BY d"""
    distances: list[Any] = db.execute(sql, (codes.tobytes(),)).fetchall()
    db.close()
    with Album.open(golden) as album:
        ours = album.search_vectors("text", query, 10)
        best = {
            album.photo(int(row)).id: float(score) for row, score in zip(ours.rows, ours.scores, strict=True)
        }
    assert distances[0][0] == "dog.jpg"
    for photo, score in best.items():
        assert min(float(d) for other, d in distances if other == photo) == pytest.approx(
            1 - score, abs=0.02
        )  # our search does not round the query
