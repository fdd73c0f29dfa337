"""The album file's schema, version numbers and header checks, and the errors for files that are no albums.

FORMAT.md describes the same for authors of other readers; change both together. Format 2 is written. Format 1
is read through temporary views that add the newer columns, empty, and is upgraded to format 2 when a writer
opens it.
"""

from __future__ import annotations

import struct
from pathlib import Path

import apsw

from ..errors import AlbumError

APPLICATION_ID = 0x47414D52  # "GAMR"
USER_VERSION = 2
_SQLITE_MAGIC = b"SQLite format 3\x00"

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
# Tables and indexes that format 1 lacks; both the DDL and the upgrade end with them.
_NEW_IN_2 = """
CREATE INDEX entities_canonical ON entities(canonical);
CREATE INDEX entities_same_as ON entities(same_as) WHERE same_as IS NOT NULL;
CREATE INDEX mentions_photo ON mentions(photo);
CREATE TABLE preferences(kind TEXT NOT NULL, better INTEGER NOT NULL, worse INTEGER NOT NULL,
    PRIMARY KEY(kind, better, worse)) WITHOUT ROWID;
CREATE TABLE changes(photo INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
"""
DDL = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE photos(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT, taken_at INTEGER, tz_source TEXT NOT NULL,
    utc_offset INTEGER, lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT,
    crc INTEGER);
CREATE TABLE memories{_MEMORIES};
CREATE INDEX memories_photo ON memories(photo);
CREATE VIRTUAL TABLE memories_fts USING
    fts5(text, content='memories', content_rowid='id', tokenize='porter unicode61');
CREATE TABLE entities{_ENTITIES};
CREATE TABLE mentions{_MENTIONS};
CREATE TABLE edges(
    parent INTEGER NOT NULL REFERENCES entities(row), child INTEGER NOT NULL REFERENCES entities(row),
    PRIMARY KEY(parent, child)) WITHOUT ROWID;
CREATE TABLE vectors(
    channel TEXT NOT NULL, photo INTEGER NOT NULL REFERENCES photos(row), chunk INTEGER NOT NULL,
    scale REAL NOT NULL, data BLOB NOT NULL, fine BLOB, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID;
CREATE TABLE segments{_SEGMENTS};
{_NEW_IN_2}"""

_LEAF_IN_1 = """NOT EXISTS (SELECT 1 FROM main.edges e
    JOIN main.mentions c ON c.entity = e.child AND c.photo = m.photo WHERE e.parent = m.entity)"""
_UPGRADE = f"""
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
{_NEW_IN_2}
PRAGMA user_version={USER_VERSION};
"""
# Views of the full-text index: one row per word, with the number of memories that hold it; and one row per
# occurrence of a word.
_WORDS = """
CREATE VIRTUAL TABLE temp.word_counts USING fts5vocab(main, memories_fts, row);
CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, memories_fts, instance);
"""

# A temporary view hides a table of the same name, so that the same SQL reads both formats.
_VIEWS_OF_1 = f"""
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


def create_tables(connection: apsw.Connection) -> None:
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={USER_VERSION}")
    connection.execute(DDL)


def version_of(connection: apsw.Connection) -> int:
    found = connection.execute("PRAGMA main.user_version").fetchone()
    return int(found[0]) if found else 0


def upgrade(connection: apsw.Connection) -> None:
    """Format 1 → 2, in the caller's transaction. Segments are dropped; `AlbumWriter.finish` rebuilds them."""
    connection.execute(_UPGRADE)


def open_reader(path: Path) -> apsw.Connection:
    """A read-only connection that sees one snapshot of the album until it is closed. Raises AlbumError."""
    try:
        connection = connect(path)
    except apsw.Error as error:
        raise damaged(path, error) from None
    try:
        _pin(connection)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # The folder is read-only, so SQLite cannot create the WAL's shared-memory file in it.
        connection.close()
        connection = _immutable(path)
    except (apsw.Error, ValueError) as error:
        connection.close()
        raise damaged(path, error) from None
    # Checked again, since the WAL may hold a newer header than the file.
    if not 1 <= (version := version_of(connection)) <= USER_VERSION:
        connection.close()
        raise AlbumError(
            f"{path}: album format {version}, this program reads up to {USER_VERSION}; update the program"
        )
    return connection


def connect(path: Path) -> apsw.Connection:
    """Opens the file if its header is that of a readable album; else raises AlbumError with the cause.

    The header is read through SQLite: closing a file descriptor of our own would drop every POSIX lock that
    this process holds on the file.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise AlbumError(f"{path}: no such album; build one with `gamer index build`") from None
    except OSError as error:
        raise AlbumError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from None
    if not path.is_file():
        raise AlbumError(f"{path}: not an album (not a file); give a file that `gamer index build` wrote")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.CantOpenError as error:
        raise AlbumError(
            f"{path}: cannot be read ({one_line(error)}); check the path and its permissions"
        ) from None
    try:
        connection.set_busy_timeout(2000)
        _check_header(path, connection.read("main", 0, 0, 100)[1][: min(size, 100)], size)
    except BaseException:
        connection.close()
        raise
    return connection


def _pin(connection: apsw.Connection) -> None:
    """Starts a read transaction that lasts until close, so that all reads see the same snapshot."""
    connection.execute(
        "PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=0; BEGIN; SELECT count(*) FROM main.sqlite_schema"
    ).fetchall()
    if version_of(connection) == 1:
        connection.execute(_VIEWS_OF_1)
    connection.execute(_WORDS)
    connection.execute("PRAGMA query_only=1")


def _immutable(path: Path) -> apsw.Connection:
    if path.with_name(path.name + "-wal").exists():
        raise AlbumError(
            f"{path}: a log lies beside it and the folder cannot be written; "
            "copy both files to a folder that can"
        )
    uri = path.absolute().as_uri() + "?immutable=1"
    connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        _pin(connection)
    except (apsw.Error, ValueError) as error:
        connection.close()
        raise damaged(path, error) from None
    return connection


def _check_header(path: Path, head: bytes, size: int) -> None:
    if head[:16] != _SQLITE_MAGIC[: len(head[:16])] or not head:
        raise AlbumError(
            f"{path}: not an album (not an SQLite file); give a file that `gamer index build` wrote"
        )
    if len(head) < 100:
        raise AlbumError(f"{path}: truncated ({size} bytes); build or copy the album again")
    (version,) = struct.unpack_from(">I", head, 60)
    (application,) = struct.unpack_from(">I", head, 68)
    if application != APPLICATION_ID:
        raise AlbumError(
            f"{path}: an SQLite file of another application (id 0x{application:08X}); "
            "give a file that `gamer index build` wrote"
        )
    if version > USER_VERSION:
        raise AlbumError(
            f"{path}: album format {version}, this program reads up to {USER_VERSION}; update the program"
        )
    if version < 1:
        raise AlbumError(
            f"{path}: album format {version} is not a version that was ever written; build the album again"
        )
    _check_length(path, head)


def _check_length(path: Path, head: bytes) -> None:
    page_size, pages = struct.unpack_from(">H", head, 16)[0], struct.unpack_from(">I", head, 28)[0]
    page_size = 65536 if page_size == 1 else page_size
    # A log means that header and file may be between two states. The size is taken after that question: a
    # writer
    # that ended since the header was read has grown the file before it took its log away.
    if path.with_name(path.name + "-wal").exists():
        return
    size = path.stat().st_size
    if size < page_size * pages:
        raise AlbumError(
            f"{path}: truncated ({size} of {page_size * pages} bytes); build or copy the album again"
        )


def check_output(path: Path) -> None:
    """Raises AlbumError if `path` exists and is no regular file, such as a folder, device or pipe."""
    if path.exists() and not path.is_file():
        raise AlbumError(f"{path}: no file stands there (a folder, device or pipe): give the name of a file")


def check_replaceable(path: Path) -> None:
    """Raises AlbumError if `path` exists and is not an album. A damaged album may be replaced."""
    if not path.exists():
        return
    check_output(path)
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            head = connection.read("main", 0, 0, 100)[1][: path.stat().st_size]
        finally:
            connection.close()
    except (apsw.Error, OSError) as error:
        raise AlbumError(f"{path}: cannot be replaced ({one_line(error)}); choose another name") from None
    if head and (head[:16] != _SQLITE_MAGIC or head[68:72] != struct.pack(">I", APPLICATION_ID)):
        raise AlbumError(
            f"{path}: a file that is not an album stands there; choose another name or move it away"
        )


def damaged(path: Path, error: Exception) -> AlbumError:
    return AlbumError(f"{path}: damaged or unreadable ({one_line(error)}); build the album again")


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
