"""Reads an album's tables into numpy arrays and data classes: meta, points, vectors, links, photos."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from ..entities.entity_vectors import NodeVectors
from ..errors import AlbumError
from ..records import Memory, Photo, RowArray
from ..space.cubes import E7
from ..space.kdtree import LOWEST, Int64Array
from ..vectors.quantize import VectorSet
from . import in_bulk
from .declarations import checksums
from .declarations.checksums import PHOTO_COLUMNS
from .results import AlbumMeta

MAX_DIM = 65_536  # as the manifest of a bundle admits
_MOST_CHANGES = 1 << 53  # a century of a million a second; what an INTEGER holds is far above
_POINT = (
    "SELECT coalesce(lat_e7, ?1), coalesce(lon_e7, ?1), coalesce(taken_at, ?1), coalesce(utc_offset, 0) "
    "FROM photos"
)


def read_meta(db: apsw.Connection, path: Path) -> AlbumMeta:
    meta = {str(key): str(value) for key, value in db.execute("SELECT key, value FROM meta")}
    try:
        if "crc" in meta and int(meta["crc"]) != meta_crc(meta):
            raise AlbumError(
                f"{path}: the meta table is damaged (its checksum differs); build the album again"
            )
        dim, delta = int(meta["dim"]), float(meta["delta"])
        if not (1 <= dim <= MAX_DIM and math.isfinite(delta)):
            raise ValueError(f"dim {dim} or delta {delta}")
        return AlbumMeta(meta["text_encoder"], meta["image_encoder"], dim, delta)
    except (KeyError, ValueError, TypeError) as error:
        raise AlbumError(f"{path}: the meta table lacks or spoils {error}; build the album again") from None


def meta_crc(meta: Mapping[str, str]) -> int:
    return checksums.of_values(tuple(meta[key] for key in ("text_encoder", "image_encoder", "dim", "delta")))


def read_generation(db: apsw.Connection) -> int:
    """How many changes the album has seen. Raises ValueError for a number that no album reaches."""
    record = db.execute("SELECT value FROM meta WHERE key='generation'").fetchone()
    generation = int(record[0]) if record else 0
    if not 0 <= generation <= _MOST_CHANGES:
        raise ValueError(f"generation must be from 0 to {_MOST_CHANGES}")
    return generation


def photo_count(db: apsw.Connection) -> int:
    """The number of photos: the last row + 1, since rows are 0..n-1. count(*) would read a whole index.

    Raises ValueError for a row number larger than the file, which only damage can cause.
    """
    (count,) = db.execute("SELECT coalesce(max(row), -1) + 1 FROM photos").fetchone() or (0,)
    (size,) = db.execute(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchone() or (0,)
    if not 0 <= count <= size:  # a damaged row number must not allocate all memory
        raise ValueError(f"a photo in row {count - 1}")
    return int(count)


def photo_ids(db: apsw.Connection) -> list[str]:
    """The photos' ids in order of row."""
    records: list[Any] = db.execute("SELECT row, id FROM photos ORDER BY row").fetchall()
    for at, (row, photo_id) in enumerate(records):
        if row != at or not isinstance(photo_id, str):
            raise ValueError("photo rows are not 0..n-1, or an id is not text")
    return [photo_id for _, photo_id in records]


def points(db: apsw.Connection) -> Int64Array:
    """int64 [n, 3] of (lat_e7, lon_e7, wall time), LOWEST where unknown, in order of row."""
    out = _in_wall_time(db.execute(f"{_POINT} ORDER BY row", (LOWEST,)).fetchall())
    if len(out) != photo_count(db):
        raise ValueError("photo rows are not 0..n-1")
    return out


def points_of(db: apsw.Connection, rows: RowArray) -> Int64Array:
    """As `points`, of the given rows only, in their order."""
    records = [db.execute(f"{_POINT} WHERE row=?2", (LOWEST, row)).fetchone() for row in rows.tolist()]
    if None in records:
        raise ValueError("photo rows are not 0..n-1")
    return _in_wall_time(records)


def _in_wall_time(records: list[Any]) -> Int64Array:
    """int64 [n, 3] with the time converted from UTC to wall time, to which cues refer."""
    raw = np.array(records, np.int64).reshape(-1, 4)
    raw[:, 2] += np.where(raw[:, 2] == LOWEST, 0, 60_000 * raw[:, 3])
    return np.ascontiguousarray(raw[:, :3])


def channel_dims(db: apsw.Connection) -> dict[str, int]:
    """Channel → dimensions.

    Jumps from channel to channel through the primary key, so that not every vector is read.
    """
    out: dict[str, int] = {}
    record = db.execute("SELECT channel, length(data) FROM vectors ORDER BY channel LIMIT 1").fetchone()
    while record:
        out[str(record[0])] = int(record[1])
        record = db.execute(
            "SELECT channel, length(data) FROM vectors WHERE channel > ? ORDER BY channel LIMIT 1",
            (record[0],),
        ).fetchone()
    return out


def vectors(db: apsw.Connection, channel: str, photos: int) -> VectorSet | None:
    """Those of a channel, by photo and chunk; None if it has none. `photos`: their number."""
    rows, subject = "vectors WHERE channel = ?1", f"channel {channel!r}"
    return in_bulk.vectors(db, rows, "photo", channel, photos, subject, fine=True)


def entity_roots(db: apsw.Connection) -> RowArray:
    """int64 [m]: the root entity of each entity row: the row itself unless it was merged.

    Raises ValueError if aliases form a cycle, or rows are not 0..m-1.
    """
    count, first, end = db.execute(
        "SELECT count(*), coalesce(min(row), 0), coalesce(max(row), -1) + 1 FROM entities"
    ).fetchone() or (0, 0, 0)
    if first != 0 or count != end:
        raise ValueError("entity rows are not 0..m-1")
    roots = np.arange(count, dtype=np.int64)
    merged = np.array(
        db.execute("SELECT row, same_as FROM entities WHERE same_as IS NOT NULL").fetchall(), np.int64
    ).reshape(-1, 2)
    within(merged, count, "merged entities")
    roots[merged[:, 0]] = merged[:, 1]
    for _ in range(int(count).bit_length()):  # each step halves the distance to the root
        roots = roots[roots]
    if np.isin(roots[merged[:, 0]], merged[:, 0]).any():
        raise ValueError("entities merged in a circle")
    return roots


def node_count(db: apsw.Connection) -> int:
    """The number of entities that have a vector."""
    (count,) = db.execute("SELECT count(data) FROM entities").fetchone() or (0,)
    return int(count)


def entity_vectors(db: apsw.Connection) -> NodeVectors | None:
    roots, rows = entity_roots(db), "entities WHERE data IS NOT NULL AND ?1 IS NULL"
    found = in_bulk.vectors(db, rows, "row", None, len(roots), "entities", fine=False)
    return None if found is None else NodeVectors(found, roots)


def pairs(db: apsw.Connection, table: str, limits: tuple[int, int]) -> RowArray:
    """int64 [2, n]: the pairs of links of one kind, each once, with merged entities replaced by their root.

    `limits`: the number of rows that each column may refer to; ValueError for a link beyond it.
    """
    links = in_bulk.integers(
        db,
        *{
            "mentions": ("entity, photo", "mentions"),
            "hanging": ("entity, photo", "mentions WHERE leaf <> 2"),  # without what describes another
            # Two entities may be related in several ways.
            "edges": ("parent, child", "(SELECT DISTINCT parent, child FROM edges)"),
        }[table],
    )
    for column, limit in zip(links, limits, strict=True):
        within(column, limit, f"{table} links")
    roots = entity_roots(db)
    within(links[0], len(roots), f"{table} links")
    if not np.array_equal(roots, np.arange(len(roots))):
        links[0] = roots[links[0]]
        if table == "edges":
            links[1] = roots[links[1]]
            links = links[:, links[0] != links[1]]
        links = np.unique(links, axis=1)
    return links


def memory_owners(db: apsw.Connection, photos: int) -> RowArray:
    """int64 [greatest id + 1]: the photo of each memory id; 0 for ids not in use. Ids start at 1.

    The number of gaps is bounded by the numbers of photos and memories; ValueError beyond that.
    """
    ids, owners = in_bulk.integers(db, "id, photo", "memories")
    within(ids, 16 * (ids.size + 1 + photos) + 1024, "memory ids")
    within(owners, photos, "memories")
    owner = np.zeros(int(ids.max(initial=0)) + 1, np.int64)
    owner[ids] = owners
    return owner


def within(numbers: NDArray[np.int64], limit: int, subject: str) -> None:
    """Raises ValueError unless all numbers lie in 0..limit-1. `subject`: their name in the message.

    Numbers outside come from damage only; as indices they would select wrong items or make numpy fail.
    """
    if numbers.size and not (int(numbers.min()) >= 0 and int(numbers.max()) < limit):
        raise ValueError(f"{subject} outside 0..{limit - 1}")


def photos(db: apsw.Connection, rows: Sequence[int]) -> dict[int, tuple[Photo, int | None]]:
    """Row → the photo with its memories, and its stored checksum (None in format 1), if it exists."""
    listed = json.dumps([*rows])
    memories: dict[Any, list[Memory]] = defaultdict(list)
    for row, *memory in db.execute(
        "SELECT photo, source, text, sharing, sensitivity FROM memories "
        f"WHERE photo {checksums.AMONG} ORDER BY id",
        (listed,),
    ):
        memories[row].append(Memory(*memory))
    records = db.execute(f"SELECT crc, {PHOTO_COLUMNS} FROM photos WHERE row {checksums.AMONG}", (listed,))
    return {
        record[0]: (to_photo(record, tuple(memories[record[0]])), checksum) for checksum, *record in records
    }


def to_photo(record: Any, memories: tuple[Memory, ...]) -> Photo:
    _, photo_id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256 = record
    lat, lon = (None, None) if lat_e7 is None or lon_e7 is None else (lat_e7 / E7, lon_e7 / E7)
    return Photo(
        id=photo_id,
        path=path,
        taken_at=taken_at,
        tz_source=tz_source,
        lat=lat,
        lon=lon,
        memories=memories,
        sharing=sharing,
        sensitivity=sensitivity,
        sha256=sha256,
        utc_offset=utc_offset,
    )
