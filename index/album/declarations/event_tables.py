"""The tables of events: their declarations and the checks of a file. Every album since format 3 has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from ...vectors.quantize import MAX_SCALE
from .sealed import Sealed
from .table_group import TableGroup

_DDL = """
CREATE TABLE events(
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, summary TEXT NOT NULL, place TEXT,
    starts INTEGER, ends INTEGER, edited INTEGER NOT NULL DEFAULT 0, scale REAL, data BLOB, crc INTEGER);
CREATE TABLE event_photos(
    photo INTEGER PRIMARY KEY REFERENCES photos(row), event INTEGER NOT NULL REFERENCES events(row));
CREATE INDEX event_photos_event ON event_photos(event);
"""
_INVARIANTS = (
    ("events: rows are not 0..e-1 without a gap",
        "SELECT count(*) <> coalesce(max(row), -1) + 1 OR coalesce(min(row), 0) <> 0 FROM events"),
    ("photos of no event, or events of no photo", """SELECT count(*) FROM event_photos
        WHERE photo NOT IN (SELECT row FROM photos) OR event NOT IN (SELECT row FROM events)"""),
    ("events without photos",
        "SELECT count(*) FROM events WHERE row NOT IN (SELECT event FROM event_photos)"),
    ("events with an invalid id", f"SELECT count(*) FROM events WHERE id NOT GLOB 'ev_{'[0-9a-f]' * 10}'"),
    ("events whose words are not text", """SELECT count(*) FROM events
        WHERE typeof(name) <> 'text' OR typeof(summary) <> 'text'
        OR typeof(place) NOT IN ('text', 'null')"""),
    ("events with an invalid time", """SELECT count(*) FROM events
        WHERE (starts IS NULL) <> (ends IS NULL) OR NOT coalesce(starts, 0) <= coalesce(ends, 0)"""),
    ("events whose times are not those of their photos",
        """WITH members AS (SELECT event, taken_at + 60000 * coalesce(utc_offset, 0) AS wall
            FROM event_photos JOIN photos ON photos.row = photo),
        spans AS (SELECT event, min(wall) AS first, max(wall) AS last FROM members GROUP BY event)
        SELECT count(*) FROM events JOIN spans ON event = row
        WHERE starts IS NOT first OR ends IS NOT last"""),
    ("events neither edited nor not", "SELECT count(*) FROM events WHERE edited NOT IN (0, 1)"),
    ("events with half a vector", f"""SELECT count(*) FROM events WHERE (data IS NULL) <> (scale IS NULL)
        OR NOT (coalesce(scale, 0) >= 0 AND coalesce(scale, 0) < {MAX_SCALE!r})"""),
)  # fmt: skip


def _photos(db: apsw.Connection, row: Any) -> Sequence[str]:
    """The ids of an event's photos, by id: their rows change."""
    sql = "SELECT p.id FROM event_photos m JOIN photos p ON p.row = m.photo WHERE m.event = ? ORDER BY p.id"
    return [str(photo) for (photo,) in db.execute(sql, (row,))]


SEALED = Sealed(
    "events",
    "id, name, summary, place, starts, ends, edited, scale, data",
    "event in row {}",
    key="row",
    cure="run verify",
    more=_photos,
)
EVENTS = TableGroup("events", _DDL, sealed=(SEALED,), invariants=_INVARIANTS)
