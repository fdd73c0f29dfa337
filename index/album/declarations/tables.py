"""The album's tables: how each format declares them, the upgrade, and the check that a file holds just these.

FORMAT.md describes the same for authors of other readers; change both together. Format 3 is written. Formats
1 and 2 are read through temporary views that add the newer columns and tables, empty, and are upgraded to
format 3 when a writer opens them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import apsw

from ...errors import AlbumError
from . import field_tables, optional_tables
from .event_tables import EVENTS

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
_EDGES_1 = """(
    parent INTEGER NOT NULL REFERENCES entities(row), child INTEGER NOT NULL REFERENCES entities(row),
    PRIMARY KEY(parent, child)) WITHOUT ROWID"""
# Tables and indexes that an older format lacks; both the DDL and the upgrade end with them.
_NEW_IN_2 = """
CREATE INDEX entities_canonical ON entities(canonical);
CREATE INDEX entities_same_as ON entities(same_as) WHERE same_as IS NOT NULL;
CREATE INDEX mentions_photo ON mentions(photo);
CREATE TABLE preferences(kind TEXT NOT NULL, better INTEGER NOT NULL, worse INTEGER NOT NULL,
    PRIMARY KEY(kind, better, worse)) WITHOUT ROWID;
CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
"""
_NEW_IN_3 = EVENTS.ddl
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

# By format: how an album that was created in it declares its tables.
_DECLARATIONS = {
    1: f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE photos(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT, taken_at INTEGER, tz_source TEXT NOT NULL,
    lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT);
CREATE TABLE memories(
    id INTEGER PRIMARY KEY, photo INTEGER NOT NULL REFERENCES photos(row), source TEXT NOT NULL,
    text TEXT NOT NULL);
CREATE INDEX memories_photo ON memories(photo);
{FULL_TEXT};
CREATE TABLE entities(
    row INTEGER PRIMARY KEY, canonical TEXT NOT NULL UNIQUE, name TEXT NOT NULL, kind TEXT NOT NULL,
    scale REAL, data BLOB);
CREATE TABLE mentions(
    entity INTEGER NOT NULL REFERENCES entities(row), photo INTEGER NOT NULL REFERENCES photos(row),
    PRIMARY KEY(entity, photo)) WITHOUT ROWID;
CREATE TABLE edges{_EDGES_1};
CREATE TABLE vectors(
    channel TEXT NOT NULL, photo INTEGER NOT NULL REFERENCES photos(row), chunk INTEGER NOT NULL,
    scale REAL NOT NULL, data BLOB NOT NULL, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID;
CREATE TABLE segments(
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, generation INTEGER NOT NULL, sha256 TEXT NOT NULL,
    blob BLOB NOT NULL);
""",
    2: _DDL.replace(_EDGES, _EDGES_1).replace(_NEW_IN_3, ""),
    3: _DDL,
}

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

_TEXTS = "memories_fts"
# The tables that SQLite makes for a full-text table, by the end of their names.
_SHADOWS = {
    "data": "(id integer primary key,block blob)",
    "idx": "(segid,term,pgno,primary key(segid,term))without rowid",
    "docsize": "(id integer primary key,sz blob)",
    "config": "(k primary key,v)without rowid",
}
_SHADOW_NAMES = {f"{_TEXTS}_{part}" for part in _SHADOWS}
_TABLES_1 = {"meta", "photos", "memories", "entities", "mentions", "edges", "vectors", "segments"}
_TABLES_2 = _TABLES_1 | {"preferences", "changes"}
# By format: the tables that every album has.
TABLES = {1: _TABLES_1, 2: _TABLES_2, 3: _TABLES_2 | {"events", "event_photos"}}
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
    added, a CHECK, DEFAULT, COLLATE or partial index that fills the memory, or a virtual table of another
    kind. So every declaration is compared as a whole, but for case, spaces and quotes: with those of its
    format, and with what the upgrade from an older format makes of them.
    """
    names = set[str]()
    for kind, raw_name, sql in db.execute("SELECT type, name, sql FROM main.sqlite_schema").fetchall():
        name = str(raw_name)
        names.add(name)
        if name in optional_tables.NAMES:
            fits = (
                version == USER_VERSION
                and optional_tables.fits(str(kind), name, sql)
                and _fits_shadow(name, sql)
            )
        elif name in _SHADOW_NAMES:
            fits = kind == "table" and _fits_shadow(name, sql)
        elif kind == "index" and sql is None:
            fits = name.startswith("sqlite_autoindex_")  # of a declaration that was compared
        else:
            fits = kind in ("table", "index") and (
                (sql in _WRITTEN and name in TABLES[version])
                or _plain(str(sql)) in _declared(version).get(name, ())
                or (version == USER_VERSION and field_tables.fits(name, sql))
            )
        if not fits:
            raise _not_an_album(path, f"the {kind} {name[:60]!r} is not declared as in format {version}")
    full_text = _SHADOW_NAMES | {_TEXTS}
    needed = TABLES[version] | (full_text if names & full_text else set[str]())
    if missing := needed - names:
        raise _not_an_album(path, f"there is no table {min(missing)!r}")
    if lacking := optional_tables.lacking(names):
        raise _not_an_album(path, f"there is no {lacking!r} beside the others of its group")


def _fits_shadow(name: str, sql: object) -> bool:
    """True for a name that is not of a table which SQLite makes for a full-text table."""
    stem, _, part = name.rpartition("_")
    if stem not in {_TEXTS, *optional_tables.SHADOWED} or part not in _SHADOWS:
        return True
    return _plain(str(sql)) == f"create table {name}{_SHADOWS[part]}"


@cache
def _declared(version: int) -> dict[str, set[str]]:
    """Table or index → its declarations in albums of a format, written in it or upgraded to it.

    Made by SQLite, because only it knows how it rewrites a declaration that is altered.
    """
    out: dict[str, set[str]] = {}
    for first in range(1, version + 1):
        db = apsw.Connection(":memory:")
        db.execute(_DECLARATIONS[first])
        for step in range(first, version):
            db.execute(_UPGRADES[step])
        for name, sql in db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"):
            out.setdefault(str(name), set()).add(_plain(str(sql)))
        db.close()
    return out


def _plain(sql: str) -> str:
    """Lower case, single spaces, no quotes, no space beside punctuation."""
    return re.sub(r" ?([(),=]) ?", r"\1", " ".join(re.sub(r"[\"'`\[\]]", "", sql.lower()).split()))


def _not_an_album(path: Path, detail: str) -> AlbumError:
    return AlbumError(f"{path}: not an album's tables ({detail}); give a file that `gamer index build` wrote")
