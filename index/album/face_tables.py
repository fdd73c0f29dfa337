"""The optional tables of faces and the people they are grouped into: declarations, and checks of a file.

An album gets them when its owner asks for people, and loses them when the owner asks that they be forgotten.
FORMAT.md describes them for authors of other readers; change both together. They have a version of their own,
in `face_meta`. `gamer.index.people` reads and writes them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from ..errors import AlbumError
from . import checksums
from .table_group import TableGroup

FACE_VERSION = 1
_DDL = """
CREATE TABLE face_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE face_people(id INTEGER PRIMARY KEY, name TEXT, crc INTEGER NOT NULL);
CREATE TABLE faces(
    id INTEGER PRIMARY KEY, photo TEXT NOT NULL, x REAL NOT NULL, y REAL NOT NULL, width REAL NOT NULL,
    height REAL NOT NULL, quality REAL NOT NULL, person INTEGER NOT NULL, fixed INTEGER NOT NULL,
    scale REAL NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX faces_photo ON faces(photo);
CREATE INDEX faces_person ON faces(person);
CREATE TABLE face_photos(
    photo TEXT PRIMARY KEY, sha256 TEXT, closed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE face_names(
    photo TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(photo, text)) WITHOUT ROWID;
"""
FACE_COLUMNS = "photo, x, y, width, height, quality, person, fixed, scale, data"
DIM = 128
_INVARIANTS = (
    ("faces of no person", "SELECT count(*) FROM faces WHERE person NOT IN (SELECT id FROM face_people)"),
    ("faces outside of their photo", """SELECT count(*) FROM faces WHERE NOT (x >= 0 AND y >= 0
        AND width >= 0 AND height >= 0 AND x + width <= 1.000001 AND y + height <= 1.000001)"""),
    ("faces with a vector of another length", f"SELECT count(*) FROM faces WHERE length(data) <> {DIM}"),
    ("faces of photos that were not looked at",
        "SELECT count(*) FROM faces WHERE photo NOT IN (SELECT photo FROM face_photos)"),
)  # fmt: skip


def check_version(db: apsw.Connection, path: Path) -> None:
    """Raises AlbumError unless this program can read the tables, which must exist."""
    found = db.execute("SELECT value FROM face_meta WHERE key='version'").fetchone()
    if found != (str(FACE_VERSION),):
        shown = str(found[0])[:20] if found else "none"
        raise AlbumError(
            f"{path}: faces in version {shown}, this program reads {FACE_VERSION}; update the program"
        )


def crc_of(values: tuple[Any, ...]) -> int:
    """Of a face (FACE_COLUMNS) or a person (id, name)."""
    return checksums.of_values(values)


def _problems(db: apsw.Connection, path: Path) -> list[str]:
    check_version(db, path)
    out = []
    for description, sql in _INVARIANTS:
        (count,) = db.execute(sql).fetchone() or (0,)
        if count:
            out.append(f"{description}: {count}")
    for row, crc, *values in db.execute(f"SELECT id, crc, {FACE_COLUMNS} FROM faces"):
        if crc_of(tuple(values)) != crc:
            out.append(f"face f{row}: its row does not match its checksum")
    for row, name, crc in db.execute("SELECT id, name, crc FROM face_people"):
        if crc_of((row, name)) != crc:
            out.append(f"person p{row}: their row does not match its checksum")
    return out


FACES = TableGroup(
    "faces",
    _DDL,
    of_photos=("faces", "face_photos", "face_names"),
    settings=f"INSERT INTO face_meta VALUES('version', '{FACE_VERSION}')",
    find_problems=_problems,
)
