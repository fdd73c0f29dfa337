"""Columns of many rows, joined by SQLite into one value: a Python object for each takes far longer.

`group_concat` takes the rows in the order in which SQLite reads them; the statements here read one table in
the order of its primary key. It leaves NULL out, so that a column with one has too few values and is refused.
"""

from __future__ import annotations

from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from ..errors import AlbumError
from ..records import RowArray
from ..vectors.quantize import MAX_SCALE, NO_FINE, VectorSet

_AT_ONCE = 1024  # owners whose vectors are joined: those of more leave the processor's cache


def integers(db: apsw.Connection, columns: str, rows: str) -> RowArray:
    """int64 [columns, n]. `columns`: names with commas between; `rows`: what follows FROM.

    Raises ValueError for what is no integer.
    """
    joined = ", ".join(f"group_concat({name})" for name in columns.split(", "))
    record: Any = db.execute(f"SELECT count(*), {joined} FROM {rows}").fetchone()
    count, *texts = record
    return np.stack([_numbers(text, np.int64, count) for text in texts])


def varints(db: apsw.Connection, number: str, value: str, rows: str) -> tuple[RowArray, RowArray]:
    """int64 [n] each: a column of integers, and one of blobs that are each a variable-length integer.

    SQLite writes these in seven bits a byte, the highest first. Raises ValueError for others.
    """
    sql = f"SELECT count(*), group_concat({number}), CAST(group_concat({value}, '') AS BLOB) FROM {rows}"
    record: Any = db.execute(sql).fetchone()
    count, numbers, blob = record
    data = np.frombuffer(blob or b"", np.uint8)
    ends = np.flatnonzero(data < 128)
    if ends.size != count:
        raise ValueError(f"{ends.size} variable-length integers in {count} rows")
    values, lengths = data[ends].astype(np.int64), np.diff(ends, prepend=-1)
    for more in range(1, int(lengths.max(initial=0))):
        longer = lengths > more
        values[longer] |= (data[ends[longer] - more] & 127).astype(np.int64) << 7 * more
    return _numbers(numbers, np.int64, count), values


def vectors(
    db: apsw.Connection, rows: str, owner: str, channel: str | None, limit: int, subject: str, fine: bool
) -> VectorSet | None:
    """The vectors of a table in the order of their owners; None if there are none.

    `rows`: what follows FROM, up to a condition; ?1 in it is `channel`. `owner`: the column of their owners,
    which must be below `limit`. `subject`: the vectors' name in a message. `fine`: whether the table has
    residues; those that a vector lacks are NO_FINE. Raises AlbumError, and ValueError for damage.
    """
    ends = [
        db.execute(f"SELECT {owner}, length(data) FROM {rows} ORDER BY {owner} {way} LIMIT 1", (channel,))
        for way in ("ASC", "DESC")
    ]
    records: list[Any] = [record for end in ends for record in end]
    if not records:
        return None
    (first, dim), (last, _) = records
    if not (isinstance(first, int) and isinstance(last, int) and first >= 0 and last < limit):
        raise ValueError(f"{subject} outside 0..{limit - 1}")
    residue = "CAST(group_concat(coalesce(fine, ?4), '') AS BLOB), count(fine)" if fine else "?4, 0"
    sql = f"""SELECT count(*), group_concat({owner}), group_concat(scale),
        CAST(group_concat(data, '') AS BLOB), {residue}
        FROM {rows} AND {owner} >= ?2 AND {owner} < ?3"""
    width, refined = -(-dim // 4), 0
    owners, scales = list[RowArray](), list[NDArray[np.float64]]()
    codes, digits = _Table(dim, last + 1 - first), _Table(width * fine, last + 1 - first)
    for begin in range(first, last + 1, _AT_ONCE):
        values = (channel, begin, begin + _AT_ONCE, NO_FINE * width)
        record: Any = db.execute(sql, values).fetchone()
        count, whose, scaled, data, rest, known = record
        if not count:
            continue
        if len(data) != dim * count:
            raise AlbumError(f"{subject}: vectors of different lengths; run verify and build the album again")
        codes.add(data, count)
        if fine:
            digits.add(rest, count)
        owners.append(_numbers(whose, np.int64, count))
        scales.append(_numbers(scaled, np.float64, count))
        refined += known
    scale = np.concatenate(scales)
    if not ((scale >= 0) & (scale < MAX_SCALE)).all():
        raise ValueError(f"{subject}: an invalid scale")
    return VectorSet(
        codes.filled.view(np.int8),
        scale.astype(np.float32),
        np.concatenate(owners),
        digits.filled if refined else None,
    )


class _Table:
    """Rows of `width` bytes, to which more are added. `rows`: how many there likely are."""

    def __init__(self, width: int, rows: int) -> None:
        self._bytes, self._used = np.empty((rows, width), np.uint8), 0

    def add(self, data: bytes, count: int) -> None:
        """Raises ValueError for another number of bytes than `count` rows have."""
        end, width = self._used + count, self._bytes.shape[1]
        if end > len(self._bytes):
            self._bytes = np.concatenate([self._bytes[: self._used], np.empty((end, width), np.uint8)])
        self._bytes[self._used : end] = np.frombuffer(data, np.uint8).reshape(count, width)
        self._used = end

    @property
    def filled(self) -> NDArray[np.uint8]:
        return self._bytes[: self._used]


def _numbers(text: str | None, kind: Any, count: int) -> NDArray[Any]:
    """The numbers of a text with commas between. Raises ValueError unless they are `count`."""
    try:
        found = np.fromstring(text or "", kind, sep=",")
    except (DeprecationWarning, ValueError):  # by version of numpy, of other text
        found = np.empty(0, kind)
    if found.size != count:
        raise ValueError(f"{found.size} numbers in {count} rows")
    return found
