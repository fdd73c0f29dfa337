"""Statistics of an album, and checks of the invariants in FORMAT.md. Nothing here changes the album."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apsw

from ..errors import AlbumError
from ..vectors.quantize import MAX_SCALE
from . import loader, segments, words
from .declarations import checksums, optional_tables
from .declarations.event_tables import EVENTS, SEALED
from .declarations.sealed import ENTITIES
from .declarations.tables import APPLICATION_ID, USER_VERSION, version_of
from .results import AlbumStats, ChannelStats, SegmentStats
from .schema import UNREADABLE, lacks_shared_memory, one_line

# (description, SQL): the SQL counts the rows that break the invariant.
_INVARIANTS = (
    (
        "photos: rows are not 0..n-1 without a gap",
        "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM photos",
    ),
    (
        "entities: rows are not 0..m-1 without a gap",
        "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM entities",
    ),
    ("photos with half a position", "SELECT count(*) FROM photos WHERE (lat_e7 IS NULL) <> (lon_e7 IS NULL)"),
    (
        "photos off the globe",
        """SELECT count(*) FROM photos
        WHERE NOT (abs(coalesce(lat_e7, 0)) <= 900000000 AND abs(coalesce(lon_e7, 0)) <= 1800000000)""",
    ),
    (
        "photos with an invalid UTC offset",
        """SELECT count(*) FROM photos
        WHERE NOT abs(coalesce(utc_offset, 0)) < 1440
        OR utc_offset IS NOT NULL AND tz_source IN ('local', 'name')""",
    ),
    (
        "sharing or sensitivity labels other than low, high or NULL",
        """SELECT count(*)
        FROM (SELECT sharing, sensitivity FROM photos UNION ALL SELECT sharing, sensitivity FROM memories)
        WHERE NOT (coalesce(sharing, 'low') IN ('low', 'high')
        AND coalesce(sensitivity, 'low') IN ('low', 'high'))""",
    ),
    ("memory ids below 1", "SELECT count(*) FROM memories WHERE id < 1"),
    ("memories of no photo", "SELECT count(*) FROM memories WHERE photo NOT IN (SELECT row FROM photos)"),
    ("vectors of no photo", "SELECT count(*) FROM vectors WHERE photo NOT IN (SELECT row FROM photos)"),
    (
        "mentions of no photo or entity",
        """SELECT count(*) FROM mentions
        WHERE photo NOT IN (SELECT row FROM photos) OR entity NOT IN (SELECT row FROM entities)""",
    ),
    (
        "edges of no entity",
        """SELECT count(*) FROM edges
        WHERE parent NOT IN (SELECT row FROM entities) OR child NOT IN (SELECT row FROM entities)""",
    ),
    ("edges whose relation is not text", "SELECT count(*) FROM edges WHERE typeof(relation) <> 'text'"),
    (
        "entities merged into an entity that does not exist",
        "SELECT count(*) FROM entities WHERE same_as NOT IN (SELECT row FROM entities)",
    ),
    (
        "preferences that name no photo or entity",
        """SELECT count(*) FROM preferences WHERE kind NOT IN ('photo', 'entity')
        OR kind = 'photo'
        AND (better NOT IN (SELECT row FROM photos) OR worse NOT IN (SELECT row FROM photos))
        OR kind = 'entity'
        AND (better NOT IN (SELECT row FROM entities) OR worse NOT IN (SELECT row FROM entities))""",
    ),
    ("changes of no photo", "SELECT count(*) FROM changes WHERE photo NOT IN (SELECT row FROM photos)"),
    (
        "vectors with an invalid scale",
        f"SELECT count(*) FROM vectors WHERE NOT (scale >= 0 AND scale < {MAX_SCALE!r})",
    ),
    (
        "entities with half a vector",
        """SELECT count(*) FROM entities
        WHERE (data IS NULL) <> (scale IS NULL) OR NOT coalesce(scale, 0) >= 0""",
    ),
    *EVENTS.invariants,
    (
        "memories missing from the text index",
        "SELECT (SELECT count(*) FROM memories) <> (SELECT count(*) FROM memories_fts_docsize)",
    ),
)

_BATCH = 256  # photos whose checksums are read at once


def find_problems(db: apsw.Connection, path: Path) -> list[str]:
    """Every problem found, one line each; empty for a clean album. Never raises for a damaged file."""
    try:
        return _find(db, path)
    except (AlbumError, *UNREADABLE) as error:  # flipped bits can be any value
        return [f"{path}: cannot be read through ({one_line(error)})"]


def _find(db: apsw.Connection, path: Path) -> list[str]:
    out = [str(line) for (line,) in db.execute("PRAGMA integrity_check") if line != "ok"]
    if (
        db.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,)
        or not 1 <= version_of(db) <= USER_VERSION
    ):
        out.append("application_id or user_version is not that of an album")
    for description, sql in _INVARIANTS:
        record = db.execute(sql).fetchone()
        if record and record[0]:
            out.append(f"{description}: {record[0]}")
    meta = loader.read_meta(db, path)
    channels = loader.channel_dims(db)
    for channel, dim in channels.items():
        (wrong,) = db.execute(
            "SELECT count(*) FROM vectors WHERE channel=? AND length(data)<>?", (channel, dim)
        ).fetchone() or (0,)
        if wrong:
            out.append(f"vectors of channel {channel}: {wrong} are not {dim} bytes long")
    for table, subject in (("entities", "entity"), ("events", "event")):
        (wrong,) = db.execute(
            f"SELECT count(*) FROM {table} WHERE length(data)<>?", (meta.dim,)
        ).fetchone() or (0,)
        if wrong:
            out.append(f"{subject} vectors: {wrong} are not {meta.dim} bytes long")
    loader.entity_roots(db)
    out += [
        f"preferences between {kind}s run in a circle"
        for kind in ("photo", "entity")
        if _has_circle(db, kind)
    ]
    if not words.is_full_text(db):
        out += words.problems(db, loader.photo_count(db))
    if version_of(db) > 1:
        out += _checksums(db, sorted(channels))
    for group in optional_tables.GROUPS:
        out += group.problems(db, path)
    return out + segments.problems(db, loader.read_generation(db))


def words_problems(path: Path) -> list[str]:
    """Checks the full-text index against the memories with FTS5's integrity check; returns the problems.

    FTS5 runs the check as a write statement, though it changes nothing. So an album that cannot be written,
    that another program is writing, or whose disk is full is reported as clean here; SQLite's integrity check
    covers the structure of the index in any case.
    """
    if not os.access(path, os.W_OK):
        return []
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(2000)
        if words.is_full_text(db):
            check_words(db)
    except apsw.Error as error:
        if isinstance(error, apsw.BusyError | apsw.LockedError) or lacks_shared_memory(error):
            return []
        return ["the index of words does not fit the memories"]
    finally:
        db.close()
    return []


def check_words(db: apsw.Connection) -> None:
    """Raises apsw.Error unless the full-text index holds exactly the memories' words."""
    db.execute(
        "SAVEPOINT words; INSERT INTO memories_fts(memories_fts, rank) VALUES('integrity-check', 1)"
    ).fetchall()
    db.execute("ROLLBACK TO words; RELEASE words")


def _has_circle(db: apsw.Connection, kind: str) -> bool:
    """Whether the preferences contain a cycle.

    Repeatedly drops the pairs whose better item is the worse item of no other pair; a cycle cannot be
    dropped.
    """
    left = {
        (int(a), int(b)) for a, b in db.execute("SELECT better, worse FROM preferences WHERE kind=?", (kind,))
    }
    while left:
        worse = {b for _, b in left}
        rest = {(a, b) for a, b in left if a in worse}
        if len(rest) == len(left):
            return True
        left = rest
    return False


def _checksums(db: apsw.Connection, channels: list[str]) -> list[str]:
    out = []
    photos: list[Any] = db.execute("SELECT row, id, crc FROM photos ORDER BY row").fetchall()
    for start in range(0, len(photos), _BATCH):
        batch = photos[start : start + _BATCH]
        sums = checksums.of_photos(db, [row for row, _, _ in batch], channels)
        for row, photo_id, wanted in batch:
            if sums[row] != wanted:
                out.append(f"photo {photo_id!r} in row {row}: its rows do not match their checksum")
    names = dict(db.execute("SELECT row, id FROM events"))
    return [
        *out,
        *ENTITIES.problems(db),
        *(f"event {names[row]!r} in row {row}: {SEALED.mismatch}" for row in SEALED.wrong(db)),
    ]


def measure(db: apsw.Connection, path: Path, generation: int) -> AlbumStats:
    def integers(sql: str) -> tuple[int, ...]:
        return tuple(int(value or 0) for value in db.execute(sql).fetchone() or ())

    photos, with_time, with_place = integers("SELECT count(*), count(taken_at), count(lat_e7) FROM photos")
    memories, memory_bytes = integers("SELECT count(*), sum(length(CAST(text AS BLOB))) FROM memories")
    entities, entity_bytes, unembedded = integers(
        """SELECT sum(same_as IS NULL), sum(coalesce(length(data), 0)), sum(data IS NULL AND same_as IS NULL)
        FROM entities"""
    )
    channels = tuple(
        ChannelStats(str(name), int(dim), int(count), int(size))
        for name, dim, count, size in db.execute(
            "SELECT channel, max(length(data)), count(*), sum(length(data)) FROM vectors GROUP BY channel"
        )
    )
    built: list[Any] = db.execute(
        "SELECT name, length(blob), generation, rows FROM segments ORDER BY name"
    ).fetchall()
    segment_stats = tuple(
        SegmentStats(str(name), int(size), int(segments.behind(db, at, rows, photos).size))
        for name, size, at, rows in built
    )
    return AlbumStats(
        generation=generation,
        photos=photos,
        with_time=with_time,
        with_place=with_place,
        memories=memories,
        memory_bytes=memory_bytes,
        entities=entities,
        mentions=integers("SELECT count(*) FROM mentions")[0],
        edges=integers("SELECT count(*) FROM edges")[0],
        entity_bytes=entity_bytes,
        aliases=integers("SELECT count(*) FROM entities WHERE same_as IS NOT NULL")[0],
        unembedded=unembedded,
        preferences=integers("SELECT count(*) FROM preferences")[0],
        events=integers("SELECT count(*) FROM events")[0],
        kept_home=integers("SELECT count(*) FROM photos WHERE sharing = 'low' OR sensitivity = 'high'")[0],
        channels=channels,
        segments=segment_stats,
        file_bytes=path.stat().st_size,
    )
