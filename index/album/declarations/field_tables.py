"""The optional tables of the fields that pictures' headers give (`gamer.index.fields`): all declared alike.

The first photo with a value makes the table of its field. FORMAT.md describes them for authors of other
readers.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from ...errors import AlbumError
from ...fields import FIELDS, Field
from . import checksums
from .sealed import Sealed
from .table_group import TableGroup

_TABLE = re.compile("[a-z_]{1,40}")


def declaration(table: str) -> str:
    """How the table of any field is declared, those of later programs included."""
    columns = "photo TEXT PRIMARY KEY, name TEXT NOT NULL, crc INTEGER NOT NULL"
    return f"CREATE TABLE {table}({columns}) WITHOUT ROWID"


def fits(name: str, sql: object) -> bool:
    """Whether a table is declared as that of a field, which may be one of a later program."""
    return _TABLE.fullmatch(name) is not None and sql == declaration(name)


def write(db: apsw.Connection, photo_id: str, known: Mapping[str, str]) -> None:
    """Stores a photo's fields, by name, and forgets its others; in the caller's transaction."""
    for field in FIELDS:
        if field.name in known:
            _put(db, photo_id, field, known[field.name])
        else:
            GROUPS[field].drop_photo(db, photo_id)


def _put(db: apsw.Connection, photo_id: str, field: Field, value: str) -> None:
    if not field.fits(value):
        raise AlbumError(f"{photo_id}: the {field.name} must be {field.rule}, not {value[:40]!r}")
    if not GROUPS[field].exist(db):
        GROUPS[field].create(db)
    _SEALED[field].insert(db, (photo_id, value))


def read(
    db: apsw.Connection, path: Path, photo_ids: Sequence[str] | None = None
) -> dict[str, dict[str, str]]:
    """Id → name → value, of the photos that have a field; of all for None.

    Raises AlbumError for a row that does not fit its checksum.
    """
    where, given = "", list[str]()
    if photo_ids is not None:
        where, given = f"WHERE photo {checksums.AMONG}", [json.dumps([*photo_ids])]
    out = defaultdict[str, dict[str, str]](dict)
    for field in FIELDS:
        if GROUPS[field].exist(db):
            for photo, value in _SEALED[field].rows(db, path, where, given):
                out[str(photo)][field.name] = str(value)
    return dict(out)


_SEALED = {
    field: Sealed(field.table, "photo, name", f"{field.name} of {{!r}}", key="photo") for field in FIELDS
}
GROUPS = {
    field: TableGroup(
        field.table, declaration(field.table), (field.table,), sealed=(_SEALED[field],), derived=True
    )
    for field in FIELDS
}
