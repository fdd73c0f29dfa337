"""A CRC-32 over everything that belongs to one photo, or to one entity, so that a flipped bit in a row is noticed.

SQLite has no checksum on its pages, and no other part of the file notices a changed digit in a date or byte in a vector. FORMAT.md describes
the bytes. Knows the tables.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import apsw

_OF_A_PHOTO = (
    "SELECT id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256 FROM photos WHERE row=?",
    "SELECT source, text, sharing, sensitivity FROM memories WHERE photo=? ORDER BY id",
    "SELECT e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity WHERE m.photo=? ORDER BY e.name",
)
_VECTORS = "SELECT channel, chunk, scale, data, fine FROM vectors WHERE channel=? AND photo=? ORDER BY chunk"
ENTITY_COLUMNS = "canonical, name, kind, scale, data"


def of_photo(db: apsw.Connection, row: int, channels: list[str]) -> int:
    """`channels`: the album's, sorted."""
    crc = 0
    for sql in _OF_A_PHOTO:
        for record in db.execute(sql, (row,)):
            crc = of_values(record, crc)
    for channel in channels:
        for record in db.execute(_VECTORS, (channel, row)):
            crc = of_values(record, crc)
    return crc


def of_values(values: tuple[Any, ...], crc: int = 0) -> int:
    return zlib.crc32(b"".join(_bytes(value) for value in values), crc)


def _bytes(value: Any) -> bytes:
    """Each with a letter for its type, so that no two lists of values have the same bytes."""
    if value is None:
        return b"n"
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    data = value.encode("utf-8") if isinstance(value, str) else bytes(value)
    return (b"t" if isinstance(value, str) else b"b") + struct.pack("<q", len(data)) + data
