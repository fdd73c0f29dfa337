"""Reads the faces and people of an album, each row checked against its checksum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import numpy as np

from ..album.declarations.face_tables import DIM, FACES, SEALED, SEALED_PEOPLE
from ..album.schema import UNREADABLE, open_reader, unusable
from ..vectors.quantize import dequantize
from .records import People, StoredFace

# The memories that naming wrote, without those of photos that a program which does not know them has removed.
WRITTEN = "SELECT photo, text FROM face_names WHERE photo IN (SELECT id FROM photos)"


def read(path: Path) -> People | None:
    """The people of the album at `path`; None if it has no tables of them. Raises AlbumError."""
    path = Path(path).resolve()
    db = open_reader(path)
    try:
        return of(db, path) if FACES.exist(db) else None
    except UNREADABLE as error:
        raise unusable(path, error) from None
    finally:
        db.close()


def of(db: apsw.Connection, path: Path) -> People:
    """The people of an open album whose tables exist. Faces of photos that are gone are left out."""
    FACES.check_version(db, path)
    rows: list[Any] = db.execute(
        f"SELECT id, crc, {SEALED.columns} FROM faces WHERE photo IN (SELECT id FROM photos) ORDER BY id"
    ).fetchall()
    for row, crc, *values in rows:
        SEALED.check(path, row, crc, values)
        if len(values[9]) != DIM:
            raise SEALED.damaged(path, row)
    faces = tuple(
        StoredFace(row, photo, (x, y, width, height), quality, person, bool(fixed))
        for row, _, photo, x, y, width, height, quality, person, fixed, _, _ in rows
    )
    codes = np.frombuffer(b"".join(record[11] for record in rows), np.int8).reshape(-1, DIM)
    vectors = dequantize(codes, np.array([record[10] for record in rows], np.float32))
    looked: list[Any] = db.execute("SELECT photo, sha256, closed FROM face_photos").fetchall()
    encoder: Any = db.execute("SELECT value FROM face_meta WHERE key='encoder'").fetchone()
    return People(
        faces,
        vectors,
        _names(db, path),
        {photo: sha256 for photo, sha256, _ in looked},
        frozenset(photo for photo, _, closed in looked if closed),
        frozenset((str(photo), str(text)) for photo, text in db.execute(WRITTEN)),
        encoder[0] if encoder else "",
    )


def _names(db: apsw.Connection, path: Path) -> dict[int, str]:
    named = SEALED_PEOPLE.rows(db, path, "WHERE name IS NOT NULL")
    return {int(row): str(name) for row, name in named}
