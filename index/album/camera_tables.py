"""The optional table of cameras: which camera took a photo, as its header names it.

The first photo with a camera's name creates it. FORMAT.md describes it for authors of other readers; change
both together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import apsw

from ..errors import AlbumError
from ..records import MAX_CAMERA
from . import checksums
from .table_group import TableGroup, sealed, unsealed

_DDL = """
CREATE TABLE cameras(photo TEXT PRIMARY KEY, name TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
"""


def write(db: apsw.Connection, photo_id: str, name: str | None) -> None:
    """Stores a photo's camera, and forgets it for None; in the caller's transaction."""
    if name is None:
        CAMERAS.drop_photo(db, photo_id)
        return
    if not 0 < len(name) <= MAX_CAMERA:
        raise AlbumError(f"{photo_id}: a camera's name has 1 to {MAX_CAMERA} characters, not {len(name)}")
    if not CAMERAS.exist(db):
        CAMERAS.create(db)
    values = (photo_id, name)
    db.execute("INSERT OR REPLACE INTO cameras VALUES(?,?,?)", (*values, checksums.of_values(values)))


def read(db: apsw.Connection, path: Path, photo_ids: Sequence[str] | None = None) -> dict[str, str]:
    """Id → camera, of the photos that have one; of all for None.

    Raises AlbumError for a row that does not fit its checksum.
    """
    if not CAMERAS.exist(db):
        return {}
    sql, given = "SELECT crc, photo, name FROM cameras", list[str]()
    if photo_ids is not None:
        sql, given = f"{sql} WHERE photo {checksums.AMONG}", [json.dumps([*photo_ids])]
    rows = sealed(db, sql, given, path, "the camera of {!r}")
    return {str(photo): str(name) for photo, name in rows}


CAMERAS = TableGroup(
    "cameras",
    _DDL,
    of_photos=("cameras",),
    find_problems=lambda db: unsealed(db, "SELECT photo, crc, photo, name FROM cameras", "camera of {!r}"),
)
