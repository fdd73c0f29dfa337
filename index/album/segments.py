"""Segments: search structures derived from the rows, stored as blobs with a hash and a generation.

A segment covers the photos 0..rows-1 as they were at its generation. Photos added since, and photos that
moved to another row or were encoded again since (table `changes`), are `behind`: the reader drops them from
the segment's results and scans their rows in addition. So adding a photo needs no rebuild. A segment whose
bytes do not match its hash is treated as missing: `load` returns None and the caller scans everything.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import apsw
import numpy as np

from ..records import RowArray

KDTREE = "kdtree"
REBUILD_SHARE = 20  # a segment is rebuilt when more than 1/20 of the album's photos are behind


@dataclass(frozen=True, eq=False)
class Segment:
    """`behind`: int64, ascending rows of the photos for which the blob is out of date or holds nothing."""

    blob: bytes
    rows: int
    behind: RowArray


def hnsw_name(channel: str) -> str:
    return f"hnsw:{channel}"


def store(
    connection: apsw.Connection, name: str, version: int, generation: int, rows: int, blob: bytes
) -> None:
    digest = hashlib.sha256(blob).hexdigest()
    sql = "INSERT OR REPLACE INTO segments(name, version, generation, rows, sha256, blob) VALUES(?,?,?,?,?,?)"
    connection.execute(sql, (name, version, generation, rows, digest, blob))


def load(connection: apsw.Connection, name: str, version: int, photos: int) -> Segment | None:
    """The segment, or None if it is missing, damaged or of another version. `photos`: their number now."""
    record = connection.execute(
        "SELECT version, generation, rows, sha256, blob FROM segments WHERE name=?", (name,)
    ).fetchone()
    if (
        record is None
        or record[0] != version
        or not isinstance(record[2], int)
        or record[2] < 0
        or not isinstance(record[4], bytes)
        or hashlib.sha256(record[4]).hexdigest() != record[3]
    ):
        return None
    return Segment(record[4], int(record[2]), behind(connection, int(record[1]), int(record[2]), photos))


def behind(connection: apsw.Connection, generation: int, rows: int, photos: int) -> RowArray:
    """int64, ascending: photos changed or added since a segment of `rows` photos was built."""
    rows = min(max(rows, 0), photos)
    sql = "SELECT photo FROM changes WHERE generation > ? AND photo < ? ORDER BY photo"
    changed = [int(row) for (row,) in connection.execute(sql, (generation, rows))]
    return np.concatenate([np.array(changed, np.int64), np.arange(rows, photos, dtype=np.int64)])


def is_due(connection: apsw.Connection, name: str, photos: int) -> bool:
    """Whether a segment is missing, or so far behind that scanning the rest costs more than a rebuild."""
    record = connection.execute("SELECT generation, rows FROM segments WHERE name=?", (name,)).fetchone()
    if record is None:
        return True
    removed = max(0, int(record[1]) - photos)
    return (
        removed + behind(connection, int(record[0]), int(record[1]), photos).size
    ) * REBUILD_SHARE > photos


def problems(connection: apsw.Connection, generation: int) -> list[str]:
    """One line for every segment that a reader would ignore."""
    out = []
    for name, built, rows, digest, blob in connection.execute(
        "SELECT name, generation, rows, sha256, blob FROM segments ORDER BY name"
    ):
        if not (isinstance(built, int) and isinstance(rows, int) and 0 <= built <= generation and rows >= 0):
            out.append(
                f"segment {name}: says generation {built}, {rows} photos; "
                f"the album is at generation {generation}"
            )
        if not isinstance(blob, bytes) or hashlib.sha256(blob).hexdigest() != digest:
            out.append(f"segment {name}: bytes do not match their hash")
    return out
