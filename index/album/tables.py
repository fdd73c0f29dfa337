"""The album's tables: how each format declares them, the upgrade, and the check that a file holds just these.

FORMAT.md describes the same for authors of other readers; change both together. Format 3 is written. Formats
1 and 2 are read through temporary views that add the newer columns and tables, empty, and are upgraded to
format 3 when a writer opens them.
"""

from __future__ import annotations

import re
from pathlib import Path

import apsw

from ..errors import AlbumError
from . import person_tables

APPLICATION_ID = 0x47414D52  # "GAMR"
USER_VERSION = 3

_MEMORIES = """(
    id INTEGER PRIMARY KEY, photo INTEGER NOT NULL REFERENCES photos(row), source TEXT NOT NULL,
    text TEXT NOT NULL, sharing TEXT, sensitivity TEXT)"""
_ENTITIES = """(
    row INTEGER PRIMARY KEY, canonical TEXT NOT NULL, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    scale REAL,
    data BLOB, same_as INTEGER REFERENCES entities(row), split INTEGER NOT NULL DEFAULT 0, crc INTEGER)"""
_MENTIONS = """(
    entity INTEGER NOT NULL REFERENCES entities(row), photo INTEGER NOT NULL REFERENCES photos(row),
    leaf INTEGER NOT NULL, PRIMARY KEY(entity, photo)) WITHOUT ROWID"""
_SEGMENTS = """(
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, generation INTEGER NOT NULL, rows INTEGER NOT NULL,
    sha256 TEXT NOT NULL, blob BLOB NOT NULL)"""
_EDGES = """(
    parent INTEGER NOT NULL REFERENCES entities(row), child INTEGER NOT NULL REFERENCES entities(row),
    relation TEXT NOT NULL DEFAULT '', PRIMARY KEY(parent, child, relation)) WITHOUT ROWID"""
# Tables and indexes that an older format lacks; both the DDL and the upgrade end with them.
_NEW_IN_2 = """
CREATE INDEX entities_canonical ON entities(canonical);
CREATE INDEX entities_same_as ON entities(same_as) WHERE same_as IS NOT NULL;
CREATE INDEX mentions_photo ON mentions(photo);
CREATE TABLE preferences(kind TEXT NOT NULL, better INTEGER NOT NULL, worse INTEGER NOT NULL,
    PRIMARY KEY(kind, better, worse)) WITHOUT ROWID;
CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
"""
_NEW_IN_3 = """
CREATE TABLE events(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, summary TEXT NOT NULL, place TEXT,
    starts INTEGER, ends INTEGER, edited INTEGER NOT NULL DEFAULT 0, scale REAL, data BLOB, crc INTEGER);
CREATE TABLE event_photos(
    photo INTEGER PRIMARY KEY REFERENCES photos(row), event INTEGER NOT NULL REFERENCES events(row));
CREATE INDEX event_photos_event ON event_photos(event);
"""
# An album that a program without FTS5 wrote may lack this table, or have one that is out of date: words.py.
FULL_TEXT = """CREATE VIRTUAL TABLE memories_fts USING
    fts5(text, content='memories', content_rowid='id', tokenize='porter unicode61')"""
_DDL = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE photos(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT, taken_at INTEGER, tz_source TEXT NOT NULL,
    utc_offset INTEGER, lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT,
    crc INTEGER);
CREATE TABLE memories{_MEMORIES};
CREATE INDEX memories_photo ON memories(photo);
{FULL_TEXT};
CREATE TABLE entities{_ENTITIES};
CREATE TABLE mentions{_MENTIONS};
CREATE TABLE edges{_EDGES};
CREATE TABLE vectors(
    channel TEXT NOT NULL, photo INTEGER NOT NULL REFERENCES photos(row), chunk INTEGER NOT NULL,
    scale REAL NOT NULL, data BLOB NOT NULL, fine BLOB, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID;
CREATE TABLE segments{_SEGMENTS};
{_NEW_IN_2}{_NEW_IN_3}"""

_LEAF_IN_1 = """NOT EXISTS (SELECT 1 FROM main.edges e
    JOIN main.mentions c ON c.entity = e.child AND c.photo = m.photo WHERE e.parent = m.entity)"""
# By format: what makes it the next one.
_UPGRADES = {
    1: f"""
ALTER TABLE photos ADD COLUMN utc_offset INTEGER;
ALTER TABLE photos ADD COLUMN crc INTEGER;
ALTER TABLE memories ADD COLUMN sharing TEXT;
ALTER TABLE memories ADD COLUMN sensitivity TEXT;
ALTER TABLE vectors ADD COLUMN fine BLOB;
CREATE TABLE new_entities{_ENTITIES.replace("REFERENCES entities", "REFERENCES new_entities")};
INSERT INTO new_entities(row, canonical, name, kind, scale, data)
    SELECT row, canonical, name, kind, scale, data FROM entities;
DROP TABLE entities;
ALTER TABLE new_entities RENAME TO entities;
CREATE TABLE new_mentions{_MENTIONS};
INSERT INTO new_mentions SELECT m.entity, m.photo, {_LEAF_IN_1} FROM mentions m;
DROP TABLE mentions;
ALTER TABLE new_mentions RENAME TO mentions;
DROP TABLE segments;
CREATE TABLE segments{_SEGMENTS};
{_NEW_IN_2}""",
    2: f"""
CREATE TABLE new_edges{_EDGES};
INSERT INTO new_edges(parent, child) SELECT parent, child FROM edges;
DROP TABLE edges;
ALTER TABLE new_edges RENAME TO edges;
{_NEW_IN_3}""",
}
# Views of the full-text index: one row per word, with the number of memories that hold it; and one row per
# occurrence of a word.
WORDS = """
CREATE VIRTUAL TABLE temp.word_counts USING fts5vocab(main, memories_fts, row);
CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, memories_fts, instance);
"""

# A temporary view hides a table of the same name, so that the same SQL reads all formats.
_LACKING_IN_2 = """
CREATE TEMP VIEW edges AS SELECT *, '' AS relation FROM main.edges;
CREATE TEMP TABLE events(row INTEGER PRIMARY KEY, id TEXT, name TEXT, summary TEXT, place TEXT,
    starts INTEGER, ends INTEGER, edited INTEGER, scale REAL, data BLOB, crc INTEGER);
CREATE TEMP TABLE event_photos(photo INTEGER PRIMARY KEY, event INTEGER);
"""
_LACKING_IN_1 = f"""
CREATE TEMP VIEW photos AS SELECT *, NULL AS utc_offset, NULL AS crc FROM main.photos;
CREATE TEMP VIEW memories AS SELECT *, NULL AS sharing, NULL AS sensitivity FROM main.memories;
CREATE TEMP VIEW vectors AS SELECT *, NULL AS fine FROM main.vectors;
CREATE TEMP VIEW entities AS SELECT *, NULL AS same_as, 0 AS split, NULL AS crc FROM main.entities;
CREATE TEMP VIEW mentions AS SELECT m.entity, m.photo, {_LEAF_IN_1} AS leaf FROM main.mentions m;
CREATE TEMP VIEW segments AS
    SELECT name, version, generation, (SELECT count(*) FROM main.photos) AS rows, sha256, blob
    FROM main.segments
    WHERE generation = (SELECT CAST(value AS INTEGER) FROM main.meta WHERE key = 'generation');
CREATE TEMP TABLE preferences(kind TEXT, better INTEGER, worse INTEGER);
CREATE TEMP TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER);
"""
# By older format: the views that its reader needs.
VIEWS = {1: _LACKING_IN_1 + _LACKING_IN_2, 2: _LACKING_IN_2}

# By format: table → its columns, each with its declared type. Written out, because deriving them from the
# declarations would cost a millisecond at every start; a test compares them.
_TEXTS = "memories_fts"
_FTS5 = (
    "create virtual table memories_fts using "
    "fts5(text,content=memories,content_rowid=id,tokenize=porter unicode61)"
)
_SHADOWS = {f"{_TEXTS}_{part}" for part in ("data", "idx", "docsize", "config")}
_INDEXES = {
    1: {"memories_photo"},
    2: {"memories_photo", "entities_canonical", "entities_same_as", "mentions_photo"},
    3: {"memories_photo", "entities_canonical", "entities_same_as", "mentions_photo", "event_photos_event"},
}
COLUMNS = {
    1: {
        "meta": "key TEXT, value TEXT",
        "photos": "row INTEGER, id TEXT, path TEXT, taken_at INTEGER, tz_source TEXT, lat_e7 INTEGER, "
        "lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT",
        "memories": "id INTEGER, photo INTEGER, source TEXT, text TEXT",
        "entities": "row INTEGER, canonical TEXT, name TEXT, kind TEXT, scale REAL, data BLOB",
        "mentions": "entity INTEGER, photo INTEGER",
        "edges": "parent INTEGER, child INTEGER",
        "vectors": "channel TEXT, photo INTEGER, chunk INTEGER, scale REAL, data BLOB",
        "segments": "name TEXT, version INTEGER, generation INTEGER, sha256 TEXT, blob BLOB",
    },
    2: {
        "meta": "key TEXT, value TEXT",
        "photos": "row INTEGER, id TEXT, path TEXT, taken_at INTEGER, tz_source TEXT, utc_offset INTEGER, "
        "lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT, crc INTEGER",
        "memories": "id INTEGER, photo INTEGER, source TEXT, text TEXT, sharing TEXT, sensitivity TEXT",
        "entities": "row INTEGER, canonical TEXT, name TEXT, kind TEXT, scale REAL, data BLOB, "
        "same_as INTEGER, split INTEGER, crc INTEGER",
        "mentions": "entity INTEGER, photo INTEGER, leaf INTEGER",
        "edges": "parent INTEGER, child INTEGER",
        "vectors": "channel TEXT, photo INTEGER, chunk INTEGER, scale REAL, data BLOB, fine BLOB",
        "segments": "name TEXT, version INTEGER, generation INTEGER, rows INTEGER, sha256 TEXT, blob BLOB",
        "preferences": "kind TEXT, better INTEGER, worse INTEGER",
        "changes": "photo INTEGER, generation INTEGER",
    },
}
COLUMNS[3] = COLUMNS[2] | {
    "edges": "parent INTEGER, child INTEGER, relation TEXT",
    "events": "row INTEGER, id TEXT, name TEXT, summary TEXT, place TEXT, starts INTEGER, ends INTEGER, "
    "edited INTEGER, scale REAL, data BLOB, crc INTEGER",
    "event_photos": "photo INTEGER, event INTEGER",
}
# The declarations as this program writes them. A table with one of these needs no further check.
_WRITTEN = {statement.strip() for statement in _DDL.split(";")}


def create_tables(connection: apsw.Connection) -> None:
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={USER_VERSION}")
    connection.execute(_DDL)


def version_of(connection: apsw.Connection) -> int:
    record = connection.execute("PRAGMA main.user_version").fetchone()
    return int(record[0]) if record else 0


def upgrade(connection: apsw.Connection) -> None:
    """An older format → the current one, in the caller's transaction.

    Format 1 loses its segments, which `AlbumWriter.finish` rebuilds; its caller adds the checksums.
    """
    for version in range(version_of(connection), USER_VERSION):
        connection.execute(_UPGRADES[version])
    connection.execute(f"PRAGMA user_version={USER_VERSION}")


def check_tables(db: apsw.Connection, path: Path, version: int) -> None:
    """Raises AlbumError unless the file has exactly the tables and indexes of its format.

    A file that somebody else made could hold a view in a table's place, a trigger that runs when a photo is
    added, generated columns, or a virtual table of another kind. Columns are compared by name and declared
    type, in any order, since an upgraded album has its newer columns last.
    """
    wanted, names = COLUMNS[version], set()
    for kind, name, sql in db.execute("SELECT type, name, sql FROM main.sqlite_schema").fetchall():
        names.add(name)
        if name in person_tables.NAMES:
            if version < USER_VERSION or not person_tables.fits(str(kind), str(name), sql):
                raise _not_an_album(path, f"the {kind} {name} is declared differently")
        elif kind == "index":
            if name not in _INDEXES[version] and not str(name).startswith("sqlite_autoindex_"):
                raise _not_an_album(path, f"there is an index {str(name)[:60]!r}")
        elif kind != "table" or name not in wanted.keys() | _SHADOWS | {_TEXTS}:
            raise _not_an_album(path, f"there is a {kind} {str(name)[:60]!r}")
        elif name == _TEXTS:
            if sql not in _WRITTEN and _plain(str(sql)) != _FTS5:
                raise _not_an_album(path, f"the full-text table {name} is declared differently")
        elif name in wanted and sql not in _WRITTEN:
            columns = db.execute(
                "SELECT name, type, hidden FROM pragma_table_xinfo(?, 'main')", (name,)
            ).fetchall()
            declared = sorted(f"{column} {kind}" for column, kind, _ in columns)
            if declared != sorted(wanted[name].split(", ")) or any(hidden for _, _, hidden in columns):
                raise _not_an_album(path, f"the table {name} has other columns")
    full_text = _SHADOWS | {_TEXTS}
    needed = wanted.keys() | (full_text if names & full_text else frozenset[str]())
    if missing := needed - names:
        raise _not_an_album(path, f"there is no table {min(missing)!r}")
    if person_tables.NAMES & names and (lacking := person_tables.NAMES - names):
        raise _not_an_album(path, f"there is no {min(lacking)!r} beside the person's other tables")


def _plain(sql: str) -> str:
    """Lower case, single spaces, no quotes, no space beside punctuation."""
    return re.sub(r" ?([(),=]) ?", r"\1", " ".join(re.sub(r"[\"'`\[\]]", "", sql.lower()).split()))


def _not_an_album(path: Path, detail: str) -> AlbumError:
    return AlbumError(f"{path}: not an album's tables ({detail}); give a file that `gamer index build` wrote")
