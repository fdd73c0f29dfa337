"""CRC-32 checksums over the values of a photo, or of a row, so that a flipped bit in a row is detected.

SQLite's pages carry no checksum, so nothing else in the file would detect a changed digit in a date or a
changed byte in a vector. FORMAT.md describes the bytes that are summed.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import apsw

# The rows are passed as a JSON list, so that one statement serves any number of them.
AMONG = "IN (SELECT value FROM json_each(?))"
PHOTO_COLUMNS = "row, id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256"
# The values of some photos; each record begins with its photo's row.
_OF_PHOTOS = (
    f"SELECT {PHOTO_COLUMNS} FROM photos WHERE row {AMONG}",
    f"SELECT photo, source, text, sharing, sensitivity FROM memories WHERE photo {AMONG} ORDER BY id",
    "SELECT m.photo, e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity "
    f"WHERE m.photo {AMONG} ORDER BY e.name",
)
_VECTORS = (
    f"SELECT photo, channel, chunk, scale, data, fine FROM vectors WHERE photo {AMONG} AND channel=? ORDER "
    "BY photo, chunk"
)


def of_photos(db: apsw.Connection, rows: Sequence[int], channels: Sequence[str]) -> dict[int, int]:
    """Row → checksum. `channels`: all channels of the album, sorted.

    Raises ValueError if SQLite returns a record of a row that is not in `rows`.
    """
    listed = json.dumps([*rows])
    sums = dict.fromkeys(rows, 0)
    queries = [(sql, (listed,)) for sql in _OF_PHOTOS] + [
        (_VECTORS, (listed, channel)) for channel in channels
    ]
    for sql, values in queries:
        for row, *record in db.execute(sql, values):
            if row not in sums:  # a damaged index can return a row that does not match
                raise ValueError(f"a record of photo {row} where others were asked for")
            sums[row] = of_values(record, sums[row])
    return sums


def of_values(values: Sequence[Any], crc: int = 0) -> int:
    """The CRC-32 of the values, continuing from `crc`."""
    return zlib.crc32(b"".join(map(_bytes, values)), crc)


_INTEGER, _FLOAT, _LENGTH = struct.Struct("<cq").pack, struct.Struct("<cd").pack, struct.Struct("<cq").pack


def _bytes(value: Any) -> bytes:
    """A value's bytes, with a letter for its type, so that different lists of values give different bytes."""
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
