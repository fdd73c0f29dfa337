"""The optional tables of faces and the people they are grouped into: declarations, and checks of a file.

An album gets them when its owner asks for people, and loses them when the owner asks that they be forgotten.
FORMAT.md describes them for authors of other readers; change both together. They have a version of their own,
in `face_meta`. `gamer.index.people` reads and writes them.
"""

from __future__ import annotations

from typing import Any

import apsw

from . import checksums
from .table_group import TableGroup, unsealed

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


def _problems(db: apsw.Connection) -> list[str]:
    people: list[Any] = db.execute("SELECT id, crc, name FROM face_people").fetchall()
    return unsealed(db, f"SELECT id, crc, {FACE_COLUMNS} FROM faces", "face f{}") + [
        f"person p{row}: their row does not match its checksum"
        for row, crc, name in people
        if checksums.of_values((row, name)) != crc
    ]


FACES = TableGroup(
    "faces",
    _DDL,
    of_photos=("faces", "face_photos", "face_names"),
    version=1,
    invariants=_INVARIANTS,
    find_problems=_problems,
)
