"""A CRC-32 over everything that belongs to one photo, or to one entity, so that a flipped bit in a row is
noticed.

SQLite has no checksum on its pages, and no other part of the file notices a changed digit in a date or byte
in a vector. FORMAT.md describes the bytes. Knows the tables.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import apsw

# the rows come as a JSON list, so that one statement serves any number of them
AMONG = "IN (SELECT value FROM json_each(?1))"
# Of some photos, each record led by its photo's row.
_OF_PHOTOS = (
    f"SELECT row, id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256 FROM photos WHERE row {AMONG}",
    f"SELECT photo, source, text, sharing, sensitivity FROM memories WHERE photo {AMONG} ORDER BY id",
    f"SELECT m.photo, e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity WHERE m.photo {AMONG} ORDER BY e.name",
)
_VECTORS = f"SELECT photo, channel, chunk, scale, data, fine FROM vectors WHERE channel=?2 AND photo {AMONG} ORDER BY photo, chunk"
ENTITY_COLUMNS = "canonical, name, kind, scale, data"


def of_photos(db: apsw.Connection, rows: Sequence[int], channels: Sequence[str]) -> dict[int, int]:
    """By row. `channels`: the album's, sorted. Raises ValueError for rows that were not asked for."""
    listed = json.dumps([*rows])
    found = dict.fromkeys(rows, 0)
    queries = [(sql, (listed,)) for sql in _OF_PHOTOS] + [
        (_VECTORS, (listed, channel)) for channel in channels
    ]
    for sql, values in queries:
        for row, *record in db.execute(sql, values):
            if row not in found:  # an index that leads to another row than it says
                raise ValueError(f"a record of photo {row} where others were asked for")
            found[row] = of_values(record, found[row])
    return found


def of_values(values: Sequence[Any], crc: int = 0) -> int:
    return zlib.crc32(b"".join(map(_bytes, values)), crc)


_INTEGER, _FLOAT, _LENGTH = struct.Struct("<cq").pack, struct.Struct("<cd").pack, struct.Struct("<cq").pack


def _bytes(value: Any) -> bytes:
    """Each with a letter for its type, so that no two lists of values have the same bytes."""
    if value is None:
        return b"n"
    if isinstance(value, str):
        data = value.encode("utf-8")
        return _LENGTH(b"t", len(data)) + data
    if isinstance(value, int):
        return _INTEGER(b"i", value)
    if isinstance(value, float):
        return _FLOAT(b"f", value)
    return _LENGTH(b"b", len(value)) + bytes(value)
