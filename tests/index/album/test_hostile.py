"""Albums crafted to harm their reader: other tables, views, triggers, wrong values in every column.

Every operation answers or raises AlbumError in one line; nothing hangs and nothing else is raised.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest

from gamer.index import Album, AlbumError, AlbumWriter, Encoded, Event, Memory, Mention, Photo, image_id
from gamer.index.album import loader, schema
from gamer.index.album.album_file import StepLimit
from gamer.index.album.declarations import tables
from gamer.index.album.declarations.event_tables import SEALED
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.album.writing.reencode import begin
from tests.index.conftest import META, BuildAlbum, name_vectors
from tests.paths import GOLDEN

VALUES = (-1, -(10**12), 10**12, 2**63 - 1, -(2**63), float("inf"), "text", b"\xff\x00", None)


def _columns() -> dict[str, list[str]]:
    db = apsw.Connection(":memory:")
    tables.create_tables(db)
    sql = "SELECT name FROM pragma_table_xinfo(?)"
    return {table: [str(name) for (name,) in db.execute(sql, (table,))] for table in sorted(tables.TABLES[3])}


COLUMNS = _columns()


def items(count: int) -> list[Encoded]:
    return [
        Encoded(
            Photo(
                f"{i}.jpg",
                f"/p/{i}.jpg",
                1_000 * i,
                "local",
                i % 80,
                i % 170,
                (Memory("note", f"harbour {i}"),),
            ),
            {"text": name_vectors([f"text {i}"]), "image": name_vectors([f"image {i}"])},
            (Mention(f"thing {i % 5}", "thing"), Mention(f"{i} euros", "price", f"thing {i % 5}", "costs")),
        )
        for i in range(count)
    ]


EVENTS = [
    Event(
        f"ev_{n:010x}",
        f"harbour {n}",
        "words",
        tuple(f"{i}.jpg" for i in range(3 * n, 3 * n + 3)),
        vector=name_vectors([f"event {n}"])[0] if n else None,
    )
    for n in range(4)
]


@pytest.fixture
def album(build_album: BuildAlbum) -> Path:
    path = build_album(items(40), hnsw_from=30)
    with AlbumWriter.extend(path) as writer:
        writer.prefer("1.jpg", "2.jpg")
        writer.merge("thing 1", "thing 2")
        writer.set_events(EVENTS)
    return path


def operations() -> dict[str, Callable[[Path], object]]:
    """Every way in which the program reads or changes an album, by name."""
    vector = name_vectors(["text 3"])[0]

    def reading(read: Callable[[Album], object]) -> Callable[[Path], object]:
        def run(path: Path) -> object:
            with Album.open(path) as album:
                return read(album)

        return run

    def changing(change: Callable[[AlbumWriter], object]) -> Callable[[Path], object]:
        def run(path: Path) -> object:
            with AlbumWriter.extend(path, hnsw_from=30) as writer:
                return change(writer)

        return run

    def finish(writer: AlbumWriter) -> None:
        writer.add(items(42)[40:])
        writer.finish(name_vectors)

    return {
        "stats": reading(Album.stats),
        "verify": reading(Album.verify),
        "photos": reading(lambda album: album.photos(range(len(album)))),
        "row": reading(lambda album: album.row_of("3.jpg")),
        "cubes": reading(lambda album: album.in_cubes([])),
        "times": reading(lambda album: (album.times(), album.positions())),
        "near": reading(lambda album: album.near(3, 1.0, 1.0)),
        "entities": reading(lambda album: album.match_entities(vector, np.arange(len(album)), 0.1)),
        "activate": reading(lambda album: album.activate(np.arange(len(album)))),
        "links": reading(lambda album: (album.entity_names(5), album.entity_links([0, 1, 2]))),
        "names": reading(lambda album: album.listed_entities()),
        "text vectors": reading(lambda album: album.search_vectors("text", vector, 3)),
        "image scores": reading(lambda album: album.scores("image", vector)),
        "channels": reading(lambda album: album.channels()),
        "words": reading(lambda album: album.search_text("harbour", 3)),
        "conversations": reading(lambda album: album.conversations),
        "preferences": reading(lambda album: album.preferred([2, 1])),
        "memories": reading(lambda album: album.prompt_memories([1])),
        "events": reading(lambda album: album.events()),
        "event": reading(lambda album: album.event_of(3)),
        "event search": reading(lambda album: album.search_events("harbour", vector, 3)),
        "images": reading(lambda album: album.row_of_image(image_id("3.jpg"))),
        "export": reading(lambda album: export_jsonl(album, album.path.with_name("aside.gamer"))),
        "add": changing(finish),
        "update": changing(lambda writer: writer.update(items(2))),
        "remove": changing(lambda writer: writer.remove(["3.jpg"])),
        "set events": changing(lambda writer: writer.set_events(EVENTS[1:])),
        "embed": changing(lambda writer: writer.embed(name_vectors)),
        "move": changing(lambda writer: writer.move("3.jpg", "/q")),
        "prefer": changing(lambda writer: writer.prefer("3.jpg", "4.jpg")),
        "merge": changing(lambda writer: writer.merge("thing 3", "thing 4")),
        "merge similar": changing(lambda writer: writer.merge_similar(0.9)),
        "split": changing(lambda writer: writer.split("thing 1")),
        "repair": changing(AlbumWriter.repair),
        "compact": changing(AlbumWriter.compact),
        "known": changing(AlbumWriter.known),
        "renew": lambda path: begin(path, path.with_name("aside.gamer"), META),
    }


def remains(path: Path) -> None:
    for beside in path.parent.glob("hostile*"):
        beside.unlink()
    path.with_name("aside.gamer").unlink(missing_ok=True)


def outcome(path: Path, name: str, operation: Callable[[Path], object]) -> str | None:
    """A complaint about one operation, or None."""
    try:
        operation(path)
    except AlbumError as error:
        return f"{name}: {error}" if "\n" in str(error) else None
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    return None


def complaints(good: bytes, path: Path, sql: str, value: object) -> list[str]:
    """What the operations do with a copy of `good` in which `sql` has stored `value`."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    path.write_bytes(good)
    with contextlib.closing(sqlite3.connect(path)) as db:
        try:
            with db:
                db.execute(sql, (value,))
        except (sqlite3.Error, OverflowError):
            return []  # SQLite itself refuses such a value
    crafted, out = path.read_bytes(), []
    for name, operation in operations().items():
        if path.read_bytes() != crafted:
            remains(path)
            path.write_bytes(crafted)
        if words := outcome(path, name, operation):
            out.append(words)
    remains(path)
    return out


@pytest.mark.slow
@pytest.mark.parametrize("table", COLUMNS)
def test_a_wrong_value_in_any_column_is_answered_or_refused_in_one_line(album: Path, table: str) -> None:
    good, path = album.read_bytes(), album.with_name("hostile.gamer")
    one_row = " WHERE rowid = 1" if table in ("photos", "memories", "entities", "events") else ""
    wrong = []
    for column in COLUMNS[table]:
        for value in VALUES:
            sql = f"UPDATE OR IGNORE {table} SET {column} = ?{one_row}"
            for words in complaints(good, path, sql, value):
                wrong.append(f"{table}.{column} = {value!r}: {words}")
    assert wrong == []


@pytest.mark.parametrize("generation", ["9" * 22, "9" * 18, "-5", "x"])
def test_a_generation_that_no_album_reaches_is_refused_in_one_line(album: Path, generation: str) -> None:
    good, path = album.read_bytes(), album.with_name("hostile.gamer")
    sql = "INSERT OR REPLACE INTO meta VALUES('generation', ?)"
    assert complaints(good, path, sql, generation) == []
    with contextlib.closing(sqlite3.connect(album)) as db, db:
        db.execute(sql, (generation,))
    with pytest.raises(AlbumError, match="damaged or unreadable"), Album.open(album) as opened:
        opened.verify()


def test_a_note_of_removed_photos_that_is_nested_deeply_is_no_note(album: Path) -> None:
    good, path = album.read_bytes(), album.with_name("hostile.gamer")
    nested = "[" * 100_000 + "]" * 100_000
    assert complaints(good, path, "INSERT OR REPLACE INTO meta VALUES('removed', ?)", nested) == []


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "column", ["starts", "ends", "edited", "scale", "data", "id", "name", "place", "crc"]
)
def test_events_whose_checksum_fits_wrong_values_are_answered_or_refused_in_one_line(
    album: Path, column: str, value: object
) -> None:
    """Somebody who makes such a file computes the checksum too."""
    db = apsw.Connection(str(album))
    try:
        db.execute(f"UPDATE OR IGNORE events SET {column} = ? WHERE row = 1", (value,))
        SEALED.seal(db, 1)
    except apsw.ConstraintError:
        return
    finally:
        db.close()
    crafted = album.read_bytes()
    for name in (
        "verify",
        "events",
        "event",
        "event search",
        "stats",
        "remove",
        "update",
        "embed",
        "compact",
    ):
        path = album.with_name("hostile.gamer")
        path.write_bytes(crafted)
        assert outcome(path, name, operations()[name]) is None


ENDLESS = "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n) SELECT"
CRAFTED = {
    "a view that never ends, in a table's place": f"""DROP TABLE changes;
        CREATE VIEW changes AS {ENDLESS} i AS photo, i AS generation FROM n""",
    "a trigger that deletes other photos": """CREATE TRIGGER eats AFTER INSERT ON photos
        BEGIN DELETE FROM memories; END""",
    "another table": "CREATE TABLE letters(text TEXT)",
    "an index on an expression": "CREATE INDEX slow ON memories(hex(text))",
    "a table with a computed column": """DROP TABLE changes;
        CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER AS (photo * 2))""",
    "a table with a column too many": "ALTER TABLE photos ADD COLUMN smell TEXT",
    "a column of another type": """DROP TABLE changes;
        CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation TEXT)""",
    "a table too few": "DROP TABLE preferences",
    "words of another table": """DROP TABLE memories_fts;
        CREATE VIRTUAL TABLE memories_fts USING fts5(text, content='photos', content_rowid='row')""",
    "an index of the right name on an expression": """DROP INDEX memories_photo;
        CREATE INDEX memories_photo ON memories(length(hex(zeroblob(1000 + id))))""",
    "an index of the right name, of some rows": """DROP INDEX memories_photo;
        CREATE INDEX memories_photo ON memories(photo) WHERE length(hex(zeroblob(1))) > 0;
        PRAGMA writable_schema = 1;
        UPDATE sqlite_schema SET sql = replace(sql, 'zeroblob(1)', 'zeroblob(100000000 + photo)')
        WHERE name = 'memories_photo'""",
    "a unique index of the right name": """DROP INDEX memories_photo;
        CREATE UNIQUE INDEX memories_photo ON memories(photo, id)""",
    "a table with a check": """DROP TABLE changes;
        CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER NOT NULL,
        CHECK(length(hex(zeroblob(1000 + photo))) > 0))""",
    "a table with another default": """DROP TABLE changes;
        CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER NOT NULL DEFAULT (random()))""",
    "a column that compares otherwise": """DROP TABLE preferences;
        CREATE TABLE preferences(kind TEXT NOT NULL COLLATE NOCASE, better INTEGER NOT NULL,
        worse INTEGER NOT NULL, PRIMARY KEY(kind, better, worse)) WITHOUT ROWID""",
    "a check in a table of the full-text index": """PRAGMA writable_schema = 1;
        UPDATE sqlite_schema SET sql = replace(sql, 'sz BLOB', 'sz BLOB CHECK(length(zeroblob(9)) > 0)')
        WHERE name = 'memories_fts_docsize'""",
    "a virtual table of another kind": """DROP TABLE memories_fts;
        CREATE VIRTUAL TABLE memories_fts USING rtree(id, a, b)""",
}


@pytest.mark.parametrize("sql", CRAFTED.values(), ids=CRAFTED.keys())
def test_a_file_with_other_tables_is_refused_by_everything_that_opens_albums(album: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(album)) as db:
        db.executescript(sql)
    before = album.read_bytes()
    for name, operation in operations().items():
        with pytest.raises(AlbumError, match="not an album's tables"):
            operation(album)
        assert album.read_bytes() == before, name


def test_albums_of_every_format_and_upgraded_ones_have_the_tables_of_their_format(
    album: Path, tmp_path: Path
) -> None:
    for version in (1, 2, 3):
        old = tmp_path / f"v{version}.gamer"
        old.write_bytes((GOLDEN / f"album_v{version}.gamer").read_bytes())
        with AlbumWriter.extend(old) as writer:
            writer.add(items(1))
        with Album.open(old) as opened:
            assert opened.verify() == []


@pytest.mark.parametrize("value", ["1000000000000", "-5", "0", "1e3", "sixteen"])
def test_a_meta_table_whose_checksum_fits_a_wrong_size_is_refused(album: Path, value: str) -> None:
    _meta_is_refused(album, "dim", value)


@pytest.mark.parametrize("value", ["nan", "inf", "much"])
def test_a_meta_table_whose_checksum_fits_a_wrong_threshold_is_refused(album: Path, value: str) -> None:
    _meta_is_refused(album, "delta", value)


def _meta_is_refused(album: Path, key: str, value: str) -> None:
    with contextlib.closing(sqlite3.connect(album)) as db, db:
        db.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
        meta = dict(db.execute("SELECT key, value FROM meta"))
        db.execute("UPDATE meta SET value = ? WHERE key = 'crc'", (str(loader.meta_crc(meta)),))
    for opening in (Album.open, AlbumWriter.extend):
        with pytest.raises(AlbumError, match="meta table"):
            opening(album)


def test_a_reader_makes_no_text_that_is_longer_than_its_album_can_hold(album: Path) -> None:
    db = schema.open_reader(album)
    with pytest.raises(apsw.TooBigError):
        db.execute("SELECT hex(zeroblob(200000000))").fetchall()
    with pytest.raises(apsw.SQLError, match="depth"):
        db.execute(f"SELECT {'(' * 300}1{')' * 300}" if False else "SELECT " + "1+" * 300 + "1")
    db.close()


def test_a_statement_that_never_ends_is_stopped() -> None:
    db = apsw.Connection(":memory:")
    limit = StepLimit(db, size=10_000)
    with pytest.raises(apsw.InterruptError):
        db.execute(f"{ENDLESS} i FROM n").fetchall()
    limit.restart()
    assert db.execute("SELECT 1").fetchone() == (1,)
