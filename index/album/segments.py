"""Derived segments: blobs that can be rebuilt from the rows, kept with a hash and with what they were built
from.

A segment speaks for the photos 0..rows-1 as they were at its generation. Photos added since, and photos that
took another's row or were encoded again since (table `changes`), are `behind`: whoever uses the blob drops
them from its answers and scans their rows on top. So adding a photo costs no rebuild. A segment whose bytes
do not match its hash is not there: `load` gives None and the caller scans everything.

Knows the tables segments and changes; knows nothing of what is inside a blob.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import apsw
import numpy as np

from ..records import RowArray

KDTREE = "kdtree"
REBUILD_SHARE = 20  # a segment is built again when more than one in so many of the album's photos are behind


@dataclass(frozen=True, eq=False)
class Segment:
    """`behind`: sorted rows, all below the album's number of photos, that the blob says nothing true about."""

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
    """`photos`: how many the album has now."""
    found = connection.execute(
        "SELECT version, generation, rows, sha256, blob FROM segments WHERE name=?", (name,)
    ).fetchone()
    if (
        found is None
        or found[0] != version
        or not isinstance(found[4], bytes)
        or hashlib.sha256(found[4]).hexdigest() != found[3]
    ):
        return None
    return Segment(found[4], int(found[2]), behind(connection, int(found[1]), int(found[2]), photos))


def behind(connection: apsw.Connection, generation: int, rows: int, photos: int) -> RowArray:
    sql = "SELECT photo FROM changes WHERE generation > ? AND photo < ? ORDER BY photo"
    changed = [int(row) for (row,) in connection.execute(sql, (generation, min(rows, photos)))]
    return np.concatenate([np.array(changed, np.int64), np.arange(rows, photos, dtype=np.int64)])


def is_due(connection: apsw.Connection, name: str, photos: int) -> bool:
    """Whether a segment is missing, or so far behind that scanning the rest costs more than building it
    again.
    """
    found = connection.execute("SELECT generation, rows FROM segments WHERE name=?", (name,)).fetchone()
    if found is None:
        return True
    gone = max(0, int(found[1]) - photos)
    return (gone + behind(connection, int(found[0]), int(found[1]), photos).size) * REBUILD_SHARE > photos


def problems(connection: apsw.Connection, generation: int) -> list[str]:
    """Every segment that a reader would pass over, in words."""
    out = []
    for name, built, rows, digest, blob in connection.execute(
        "SELECT name, generation, rows, sha256, blob FROM segments ORDER BY name"
    ):
        if not (isinstance(built, int) and isinstance(rows, int) and 0 <= built <= generation and rows >= 0):
            out.append(
                f"segment {name}: says generation {built}, {rows} photos; the album is at generation {generation}"
            )
        if not isinstance(blob, bytes) or hashlib.sha256(blob).hexdigest() != digest:
            out.append(f"segment {name}: bytes do not match their hash")
    return out
