"""The optional tables of faces and the people they are grouped into: declarations, and checks of a file.

An album gets them when its owner asks for people, and loses them when the owner asks that they be forgotten.
FORMAT.md describes them for authors of other readers; change both together. They have a version of their own,
in `face_meta`. `gamer.index.people` reads and writes them.
"""

from __future__ import annotations

from .sealed import Sealed
from .table_group import TableGroup

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
SEALED = Sealed(
    "faces",
    "photo, x, y, width, height, quality, person, fixed, scale, data",
    "face f{}",
    cure="`gamer people forget --all` and find them again",
)
SEALED_PEOPLE = Sealed("face_people", "id, name", "person p{}", cure="give them their name again")
DIM = 128
_INVARIANTS = (
    ("faces of no person", "SELECT count(*) FROM faces WHERE person NOT IN (SELECT id FROM face_people)"),
    ("faces outside of their photo", """SELECT count(*) FROM faces WHERE NOT (x >= 0 AND y >= 0
        AND width >= 0 AND height >= 0 AND x + width <= 1.000001 AND y + height <= 1.000001)"""),
    ("faces with a vector of another length", f"SELECT count(*) FROM faces WHERE length(data) <> {DIM}"),
    ("faces of photos that were not looked at",
        "SELECT count(*) FROM faces WHERE photo NOT IN (SELECT photo FROM face_photos)"),
)  # fmt: skip


FACES = TableGroup(
    "faces",
    _DDL,
    of_photos=("faces", "face_photos", "face_names"),
    version=1,
    sealed=(SEALED, SEALED_PEOPLE),
    invariants=_INVARIANTS,
)
