"""Writes events and their photos, and keeps them true when photos change. Runs in the caller's transaction.

The times of an event are always computed from its photos. Rows stay 0..e-1: when an event is deleted, the
last one moves to its row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import apsw
import numpy as np

from ...errors import AlbumError
from ...records import Event
from ...vectors.quantize import quantize
from ..declarations.event_tables import SEALED
from ..ids import EVENT_ID

_TIMES = """UPDATE events SET (starts, ends) = (
    SELECT min(taken_at + 60000 * coalesce(utc_offset, 0)), max(taken_at + 60000 * coalesce(utc_offset, 0))
    FROM event_photos JOIN photos ON photos.row = photo WHERE event = events.row) WHERE row = ?"""


def replace_all(
    db: apsw.Connection, where: str, events: Sequence[Event], dim: int, find: Callable[[str], int]
) -> None:
    """Stores these events in place of all others. `dim`: length of the vectors; `find`: photo id → row.

    An event without photos is left out. Raises AlbumError for an event that cannot be stored.
    """
    db.execute("DELETE FROM event_photos; DELETE FROM events")
    names: set[str] = set()
    owners: dict[str, str] = {}
    for row, event in enumerate(event for event in events if event.photos):
        _check(event, where, dim)
        if event.id in names:
            raise AlbumError(f"{where}: two events have the id {event.id!r}; give every event its own id")
        names.add(event.id)
        _insert(db, row, event)
        for photo in event.photos:
            if photo in owners:
                raise AlbumError(
                    f"{where}: photo {photo!r} is in event {owners[photo]} and in event {event.id}; "
                    "a photo is in one event at most, once"
                )
            owners[photo] = event.id
            db.execute("INSERT INTO event_photos(photo, event) VALUES(?,?)", (find(photo), row))
        _refresh(db, row)


def count(db: apsw.Connection) -> int:
    record = db.execute("SELECT coalesce(max(row), -1) + 1 FROM events").fetchone()
    return int(record[0]) if record else 0


def of_photo(db: apsw.Connection, photo: int) -> set[int]:
    """The row of the event that a photo row is in, if it is in one."""
    return {int(row) for (row,) in db.execute("SELECT event FROM event_photos WHERE photo=?", (photo,))}


def refresh_all(db: apsw.Connection, events: set[int]) -> None:
    """Computes these events' times and checksums from their photos; deletes those that have none left."""
    for event in sorted(events, reverse=True):  # a deletion moves the last row, which has had its turn
        if db.execute("SELECT 1 FROM event_photos WHERE event=? LIMIT 1", (event,)).fetchone():
            _refresh(db, event)
        else:
            _delete(db, event)


def _refresh(db: apsw.Connection, event: int) -> None:
    db.execute(_TIMES, (event,))
    SEALED.seal(db, event)


def text_of(name: str, summary: str) -> str:
    """The text that an event's vector is made of."""
    return f"{name}. {summary}"


def _insert(db: apsw.Connection, row: int, event: Event) -> None:
    scale, data = None, None
    if event.vector is not None:
        codes, scales = quantize(np.asarray(event.vector, np.float32)[None])
        scale, data = float(scales[0]), codes[0].tobytes()
    values = (row, event.id, event.name, event.summary, event.place, int(event.edited), scale, data)
    db.execute(
        "INSERT INTO events(row, id, name, summary, place, edited, scale, data) VALUES(?,?,?,?,?,?,?,?)",
        values,
    )


def _delete(db: apsw.Connection, event: int) -> None:
    db.execute("DELETE FROM events WHERE row=?", (event,))
    last = count(db) - 1
    if last > event:
        db.execute("UPDATE events SET row=? WHERE row=?", (event, last))
        db.execute("UPDATE event_photos SET event=? WHERE event=?", (event, last))


def _check(event: Event, where: str, dim: int) -> None:
    if not EVENT_ID.fullmatch(event.id):
        raise AlbumError(f"{where}: event id {event.id!r}: 'ev_' and ten hexadecimal digits are needed")
    for text in (event.name, event.summary, event.place or ""):
        if not _is_storable(text):
            raise AlbumError(f"{where}: event {event.id}: its words cannot be stored as UTF-8; correct them")
    if event.vector is not None:
        shape = np.asarray(event.vector, np.float32).shape
        if shape != (dim,) or not np.isfinite(event.vector).all():
            raise AlbumError(
                f"{where}: event {event.id}: a vector {shape} where finite [{dim}] is needed; "
                "check the encoder"
            )


def _is_storable(text: str) -> bool:
    """False for half of a surrogate pair, which has no UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)
