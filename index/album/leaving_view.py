"""Opens an album as it may be told elsewhere: what must stay on the device is not in it (see sharing.py).

The album's file is not changed. Temporary views and tables in memory hide the tables of the same names, so
everything that reads the album, also code that is written later, sees a photo that must stay as an empty row,
and nothing of a memory that must stay: not its words, its vector, its entities, or what an event was called
because of it. Rows keep their numbers.

What still depends on something withheld, and cannot be read off a single answer: the order that a person's
preferences between entities give, and that an empty row exists.
"""

from __future__ import annotations

import re
from typing import Any

import apsw
import numpy as np

from ..records import RowArray
from . import checksums, optional_tables
from .album import Album
from .ids import event_id
from .schema import UNREADABLE, damaged, open_reader

_STAYS = "(sharing = 'low' OR sensitivity = 'high')"
# `unshown`: photos that must stay. `closed`: these, and photos with a memory that must stay, of which vectors
# and entities cannot be told apart by memory. `unplaced`: photos whose place's name must stay.
_MARKS = f"""
CREATE TEMP TABLE unshown(row INTEGER PRIMARY KEY);
INSERT INTO unshown SELECT row FROM photos WHERE {_STAYS};
CREATE TEMP TABLE closed(row INTEGER PRIMARY KEY);
INSERT INTO closed SELECT row FROM unshown UNION SELECT photo FROM memories WHERE {_STAYS};
CREATE TEMP TABLE unplaced(row INTEGER PRIMARY KEY);
INSERT INTO unplaced SELECT row FROM unshown
    UNION SELECT photo FROM memories WHERE source = 'place' AND {_STAYS};
"""
_MEMORIES = f"""
CREATE TEMP TABLE told(id INTEGER PRIMARY KEY, photo INTEGER, source TEXT, text TEXT, sharing TEXT,
    sensitivity TEXT);
INSERT INTO told(photo, source, text, sharing, sensitivity)
    SELECT photo, source, text, sharing, sensitivity FROM memories
    WHERE photo NOT IN unshown AND NOT coalesce({_STAYS}, 0) ORDER BY id;
"""
_MENTIONED = "EXISTS (SELECT 1 FROM main.mentions m WHERE m.entity = t.row AND m.photo NOT IN closed)"
# An edge comes from one memory, whose photo mentions both of its ends.
_RELATED = """EXISTS (SELECT 1 FROM main.mentions a JOIN main.mentions b ON b.photo = a.photo
    WHERE a.entity = t.parent AND b.entity = t.child AND a.photo NOT IN closed)"""
_SHOWN, _PLACED, _OPEN = "t.row NOT IN unshown", "t.row NOT IN unplaced", "t.row NOT IN closed"
# By table: what the view selects from the table `t`.
_VIEWS = {
    "photos": f"""SELECT t.row, iif({_SHOWN}, t.id, 'withheld ' || t.row) AS id,
        iif({_SHOWN}, t.path, NULL) AS path,
        iif({_SHOWN}, t.taken_at, NULL) AS taken_at, iif({_SHOWN}, t.tz_source, 'local') AS tz_source,
        iif({_SHOWN}, t.utc_offset, NULL) AS utc_offset, iif({_PLACED}, t.lat_e7, NULL) AS lat_e7,
        iif({_PLACED}, t.lon_e7, NULL) AS lon_e7, t.sharing, t.sensitivity,
        iif({_SHOWN}, t.sha256, NULL) AS sha256, iif({_OPEN}, t.crc, NULL) AS crc FROM {{source}} t""",
    "vectors": """SELECT t.* FROM {source} t
        WHERE t.photo NOT IN closed OR t.channel = 'image' AND t.photo NOT IN unshown""",
    "mentions": "SELECT t.* FROM {source} t WHERE t.photo NOT IN closed",
    "edges": f"SELECT t.* FROM {{source}} t WHERE {_RELATED}",
    "entities": f"""SELECT t.row, iif({_MENTIONED}, t.canonical, '') AS canonical,
        iif({_MENTIONED}, t.name, '') AS name, t.kind, t.scale, t.data, t.same_as, t.split, t.crc
        FROM {{source}} t""",
    "segments": "SELECT t.* FROM {source} t WHERE 0",  # they hold all photos; without them rows are scanned
}  # fmt: skip
_WORDS = """
DROP TABLE temp.word_counts;
DROP TABLE temp.word_places;
DROP VIEW IF EXISTS temp.memories;
ALTER TABLE told RENAME TO memories;
CREATE INDEX temp.told_photo ON memories(photo);
DROP TABLE IF EXISTS temp.memories_fts;
CREATE VIRTUAL TABLE temp.memories_fts USING
    fts5(text, content='memories', content_rowid='id', tokenize='porter unicode61');
INSERT INTO temp.memories_fts(rowid, text) SELECT id, text FROM temp.memories;
CREATE VIRTUAL TABLE temp.word_counts USING fts5vocab(temp, memories_fts, row);
CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(temp, memories_fts, instance);
"""
_EVENTS = """
CREATE TEMP TABLE new_events(row INTEGER PRIMARY KEY, id TEXT, name TEXT, summary TEXT, place TEXT,
    starts INTEGER, ends INTEGER, edited INTEGER, scale REAL, data BLOB, crc INTEGER);
CREATE TEMP TABLE new_event_photos(photo INTEGER PRIMARY KEY, event INTEGER);
"""
_RENAMED = """
DROP TABLE IF EXISTS temp.events;
DROP TABLE IF EXISTS temp.event_photos;
ALTER TABLE new_events RENAME TO events;
ALTER TABLE new_event_photos RENAME TO event_photos;
"""
_MEMBERS = """SELECT p.row, p.id, p.taken_at + 60000 * coalesce(p.utc_offset, 0),
    p.row IN closed, p.row IN unshown
    FROM event_photos m JOIN photos p ON p.row = m.photo WHERE m.event = ? ORDER BY p.id"""
UNNAMED = "unnamed"  # an event whose name could tell what must stay


def open_leaving(album: Album) -> tuple[Album, RowArray]:
    """The album without what must stay on the device, and its rows that may be shown, int64 ascending.

    Reads the file again, as it is now. Raises AlbumError as Album.open does.
    """
    connection = open_reader(album.path)
    try:
        hidden = _hide(connection)
        view = Album(connection, album.path)
    except UNREADABLE as error:
        connection.close()
        raise damaged(album.path, error) from None
    except BaseException:
        connection.close()
        raise
    shown = np.ones(len(view), np.bool_)
    shown[hidden] = False
    return view, np.flatnonzero(shown)


def _hide(db: apsw.Connection) -> RowArray:
    """Hides what must stay; the rows of photos that must. What optional tables hold is told to nobody."""
    db.execute("PRAGMA query_only=0")
    db.execute(_MARKS)
    for group in optional_tables.GROUPS:
        group.hide(db)
    if db.execute("SELECT 1 FROM closed").fetchone() is not None:
        db.execute(_MEMORIES)
        _hide_in_events(db)
        db.execute(_WORDS)
        for table, select in _VIEWS.items():
            # Older formats are read through views of their own, which this one contains.
            older: Any = db.execute(
                "SELECT sql FROM temp.sqlite_schema WHERE type = 'view' AND name = ?", (table,)
            ).fetchone()
            body = re.split(r"\sAS\s", older[0], maxsplit=1)[1] if older else ""
            source = f"({body})" if older else f"main.{table}"
            db.execute(f"DROP VIEW IF EXISTS temp.{table}")
            db.execute(f"CREATE TEMP VIEW {table} AS {select.format(source=source)}")
    db.execute("PRAGMA query_only=1")
    return np.array(db.execute("SELECT row FROM unshown").fetchall(), np.int64).reshape(-1)


def _hide_in_events(db: apsw.Connection) -> None:
    """Events of shown photos alone; one that lost a photo, or holds a memory that must stay, has no words."""
    db.execute(_EVENTS)
    records = db.execute(f"SELECT row, crc, {checksums.EVENT_COLUMNS} FROM events ORDER BY row").fetchall()
    for row, crc, *values in records:
        everyone: list[Any] = db.execute(_MEMBERS, (row,)).fetchall()
        members = [member for member in everyone if not member[4]]
        if not members:
            continue
        if any(closed for _, _, _, closed, _ in everyone):
            times = [wall for _, _, wall, *_ in members if wall is not None]
            first = min(members, key=lambda member: (member[2] is None, member[2] or 0, member[1]))
            start, end = (min(times), max(times)) if times else (None, None)
            values = [event_id(first[1]), UNNAMED, "", None, start, end, values[6], None, None]
            crc = checksums.of_values([*values, *(photo_id for _, photo_id, *_ in members)])
        db.execute(
            "INSERT INTO new_events SELECT count(*), ?,?,?,?,?,?,?,?,?,? FROM new_events", (*values, crc)
        )
        db.executemany(
            "INSERT INTO new_event_photos SELECT ?, max(row) FROM new_events",
            [(member[0],) for member in members],
        )
    db.execute(_RENAMED)
