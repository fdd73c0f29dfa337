"""Counts an album and looks for what is wrong in it. Changes nothing. Knows the tables and the invariants of FORMAT.md."""

from __future__ import annotations

from pathlib import Path

import apsw

from . import loader, segments
from .errors import AlbumError
from .results import AlbumStats, ChannelStats, SegmentStats
from .schema import APPLICATION_ID, USER_VERSION, one_line

# Each counts rows that break an invariant; the words say which.
_INVARIANTS = (
    (
        "photos: rows are not 0..n-1 without a gap",
        "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM photos",
    ),
    (
        "entities: rows are not 0..n-1 without a gap",
        "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM entities",
    ),
    ("photos with half a position", "SELECT count(*) FROM photos WHERE (lat_e7 IS NULL) <> (lon_e7 IS NULL)"),
    ("memories of no photo", "SELECT count(*) FROM memories WHERE photo NOT IN (SELECT row FROM photos)"),
    ("vectors of no photo", "SELECT count(*) FROM vectors WHERE photo NOT IN (SELECT row FROM photos)"),
    (
        "mentions of no photo or entity",
        "SELECT count(*) FROM mentions WHERE photo NOT IN (SELECT row FROM photos) OR entity NOT IN (SELECT row FROM entities)",
    ),
    (
        "edges of no entity",
        "SELECT count(*) FROM edges WHERE parent NOT IN (SELECT row FROM entities) OR child NOT IN (SELECT row FROM entities)",
    ),
    ("entities without a vector", "SELECT count(*) FROM entities WHERE data IS NULL"),
    ("vectors with a negative scale", "SELECT count(*) FROM vectors WHERE NOT scale >= 0"),
    ("memories missing from the text index", "SELECT (SELECT count(*) FROM memories) <> (SELECT count(*) FROM memories_fts_docsize)"),
)


def find_problems(db: apsw.Connection, path: Path) -> list[str]:
    try:
        return _find(db, path)
    except (apsw.Error, AlbumError, ValueError, TypeError, OverflowError) as error:  # flipped bits can be any value
        return [f"{path}: cannot be read through ({one_line(error)})"]


def _find(db: apsw.Connection, path: Path) -> list[str]:
    out = [str(line) for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,) or db.execute("PRAGMA user_version").fetchone() != (USER_VERSION,):
        out.append("application_id or user_version is not that of an album")
    for words, sql in _INVARIANTS:
        found = db.execute(sql).fetchone()
        if found and found[0]:
            out.append(f"{words}: {found[0]}")
    meta = loader.read_meta(db, path)
    for channel, dim in loader.channel_dims(db).items():
        (wrong,) = db.execute("SELECT count(*) FROM vectors WHERE channel=? AND length(data)<>?", (channel, dim)).fetchone() or (0,)
        if wrong:
            out.append(f"vectors of channel {channel}: {wrong} are not {dim} bytes long")
    (wrong,) = db.execute("SELECT count(*) FROM entities WHERE length(data)<>?", (meta.dim,)).fetchone() or (0,)
    if wrong:
        out.append(f"entity vectors: {wrong} are not {meta.dim} bytes long")
    return out + segments.problems(db, loader.read_generation(db))


def measure(db: apsw.Connection, path: Path, generation: int) -> AlbumStats:
    def one(sql: str) -> tuple[int, ...]:
        return tuple(int(value or 0) for value in db.execute(sql).fetchone() or ())

    photos, with_time, with_place = one("SELECT count(*), count(taken_at), count(lat_e7) FROM photos")
    memories, memory_bytes = one("SELECT count(*), sum(length(CAST(text AS BLOB))) FROM memories")
    entities, entity_bytes = one("SELECT count(*), sum(coalesce(length(data), 0)) FROM entities")
    channels = tuple(
        ChannelStats(str(name), int(dim), int(count), int(size))
        for name, dim, count, size in db.execute("SELECT channel, max(length(data)), count(*), sum(length(data)) FROM vectors GROUP BY channel")
    )
    found = tuple(
        SegmentStats(str(name), int(size), built == generation)
        for name, size, built in db.execute("SELECT name, length(blob), generation FROM segments ORDER BY name")
    )
    return AlbumStats(
        generation=generation,
        photos=photos,
        with_time=with_time,
        with_place=with_place,
        memories=memories,
        memory_bytes=memory_bytes,
        entities=entities,
        mentions=one("SELECT count(*) FROM mentions")[0],
        edges=one("SELECT count(*) FROM edges")[0],
        entity_bytes=entity_bytes,
        channels=channels,
        segments=found,
        file_bytes=path.stat().st_size,
    )
