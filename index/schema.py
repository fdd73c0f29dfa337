"""The album file's tables, numbers and front door: what makes an SQLite file an album, and the errors for files that are not one.

FORMAT.md says the same in words for people who write readers; change both together. Knows SQLite; knows no layer.
"""

from __future__ import annotations

import struct
from pathlib import Path

import apsw

from .errors import AlbumError

APPLICATION_ID = 0x47414D52  # "GAMR"
USER_VERSION = 1
_SQLITE_MAGIC = b"SQLite format 3\x00"

DDL = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE photos(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT, taken_at INTEGER, tz_source TEXT NOT NULL,
    lat_e7 INTEGER, lon_e7 INTEGER, sharing TEXT, sensitivity TEXT, sha256 TEXT);
CREATE TABLE memories(
    id INTEGER PRIMARY KEY, photo INTEGER NOT NULL REFERENCES photos(row), source TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX memories_photo ON memories(photo);
CREATE VIRTUAL TABLE memories_fts USING fts5(text, content='memories', content_rowid='id', tokenize='porter unicode61');
CREATE TABLE entities(
    row INTEGER PRIMARY KEY, canonical TEXT NOT NULL UNIQUE, name TEXT NOT NULL, kind TEXT NOT NULL, scale REAL, data BLOB);
CREATE TABLE mentions(entity INTEGER NOT NULL REFERENCES entities(row), photo INTEGER NOT NULL REFERENCES photos(row),
    PRIMARY KEY(entity, photo)) WITHOUT ROWID;
CREATE TABLE edges(parent INTEGER NOT NULL REFERENCES entities(row), child INTEGER NOT NULL REFERENCES entities(row),
    PRIMARY KEY(parent, child)) WITHOUT ROWID;
CREATE TABLE vectors(channel TEXT NOT NULL, photo INTEGER NOT NULL REFERENCES photos(row), chunk INTEGER NOT NULL,
    scale REAL NOT NULL, data BLOB NOT NULL, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID;
CREATE TABLE segments(
    name TEXT PRIMARY KEY, version INTEGER NOT NULL, generation INTEGER NOT NULL, sha256 TEXT NOT NULL, blob BLOB NOT NULL);
"""


def create_tables(connection: apsw.Connection) -> None:
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={USER_VERSION}")
    connection.execute(DDL)


def check_file(path: Path) -> None:
    """Raise AlbumError, naming the cause, unless the file's first 100 bytes are those of an album that this program reads."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
        size = path.stat().st_size
    except FileNotFoundError:
        raise AlbumError(f"{path}: no such album; build one with `gamer index build`") from None
    except OSError as error:
        raise AlbumError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None
    if head[:16] != _SQLITE_MAGIC[: len(head[:16])] or not head:
        raise AlbumError(f"{path}: not an album (not an SQLite file); give a file that `gamer index build` wrote")
    if len(head) < 100:
        raise AlbumError(f"{path}: truncated ({size} bytes); build or copy the album again")
    (version,) = struct.unpack_from(">I", head, 60)
    (application,) = struct.unpack_from(">I", head, 68)
    if application != APPLICATION_ID:
        raise AlbumError(f"{path}: an SQLite file of another application (id 0x{application:08X}); give a file that `gamer index build` wrote")
    if version > USER_VERSION:
        raise AlbumError(f"{path}: album format {version}, this program reads up to {USER_VERSION}; update the program")
    if version < 1:
        raise AlbumError(f"{path}: album format {version} is not a version that was ever written; build the album again")
    _check_length(path, head, size)


def _check_length(path: Path, head: bytes, size: int) -> None:
    page_size, pages = struct.unpack_from(">H", head, 16)[0], struct.unpack_from(">I", head, 28)[0]
    page_size = 65536 if page_size == 1 else page_size
    has_wal = path.with_name(path.name + "-wal").exists()  # then the header may be behind the log
    if not has_wal and size < page_size * pages:
        raise AlbumError(f"{path}: truncated ({size} of {page_size * pages} bytes); build or copy the album again")


def check_replaceable(path: Path) -> None:
    """Raise AlbumError if something that is no album stands at `path`. A damaged album may be; other files are not ours."""
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise AlbumError(f"{path}: cannot be replaced ({error.strerror}); choose another name") from None
    if head and (head[:16] != _SQLITE_MAGIC or head[68:72] != struct.pack(">I", APPLICATION_ID)):
        raise AlbumError(f"{path}: a file that is not an album stands there; choose another name or move it away")


def open_reader(path: Path) -> apsw.Connection:
    check_file(path)
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(2000)
        connection.execute("PRAGMA query_only=1; PRAGMA trusted_schema=0; SELECT count(*) FROM sqlite_schema").fetchall()
    except (apsw.Error, ValueError) as error:
        raise damaged(path, error) from None
    return connection


def damaged(path: Path, error: Exception) -> AlbumError:
    return AlbumError(f"{path}: damaged or unreadable ({one_line(error)}); build the album again")


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
