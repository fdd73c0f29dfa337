"""The events of an open album, and the search among them by words and by meaning.

A search ranks the events twice, by BM25 of their words and by the cosine of their vectors, and adds
1 / (60 + rank) of both rankings (reciprocal rank fusion): it needs no scale that both scores share. The index
of words is made in memory on first use, since an album has few events; it is not stored in the file.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import apsw
import numpy as np

from ...entities.words import query_terms
from ...errors import AlbumError
from ...records import Event, FloatArray
from ...vectors.quantize import MAX_SCALE, dequantize
from ..album_file import Layer
from ..declarations.event_tables import SEALED
from .lexical import MAX_WORDS

_RANK_OFFSET = 60  # the constant of reciprocal rank fusion (Cormack et al. 2009)
_MEMBERS = """SELECT m.photo, m.event, p.id, p.taken_at + 60000 * coalesce(p.utc_offset, 0)
    FROM event_photos m LEFT JOIN photos p ON p.row = m.photo ORDER BY p.id"""


class EventLayer(Layer):
    """Events, loaded once, on first use, each checked against its checksum."""

    def events(self) -> list[Event]:
        """Every event, ordered by its start, those without a date last, then by id.

        Raises AlbumError if an event is damaged.
        """
        return list(self._loaded_events[0])

    def event_of(self, row: int) -> Event | None:
        """The event that the photo in this row is in. Raises AlbumError for a row that does not exist."""
        if not 0 <= row < self._file.photos:
            raise AlbumError(f"{self._file.path}: no photo in row {row}; rows are 0..{self._file.photos - 1}")
        events, of = self._loaded_events
        return events[of[row]] if row in of else None

    def search_events(self, text: str, vector: FloatArray | None, k: int) -> list[tuple[Event, float]]:
        """The `k` best events with their scores, best first (see the module's docstring).

        `vector`: the query's, float32 [dim], or None to search by words alone. An event that holds none of
        the words is found by its vector only. Raises AlbumError for a vector of another length.
        """
        events = self._loaded_events[0]
        rankings = [self._event_words.ranked(text)]
        if vector is not None:
            rankings.append(self._similar(self._file.query(vector, self.meta.dim, "events")))
        scores: dict[int, float] = defaultdict(float)
        for ranking in rankings:
            for rank, at in enumerate(ranking, 1):
                scores[at] += 1 / (_RANK_OFFSET + rank)
        best = sorted(scores, key=lambda at: (-scores[at], at))[: max(k, 0)]
        return [(events[at], scores[at]) for at in best]

    def _similar(self, query: FloatArray) -> list[int]:
        """Positions of the events that have a vector, the most similar first."""
        at, vectors = self._event_vectors
        return [int(row) for row in at[np.argsort(-(vectors @ query), kind="stable")]]

    @cached_property
    def _loaded_events(self) -> tuple[list[Event], dict[int, int]]:
        """The events in order, and photo row → position of its event."""
        return self._file.load(lambda db: read(db, self._file.photos, self.meta.dim, str(self._file.path)))

    @cached_property
    def _event_vectors(self) -> tuple[Any, FloatArray]:
        """Positions int64 [n] and vectors float32 [n, dim] of the events that have one."""
        known = [
            (at, event.vector) for at, event in enumerate(self._loaded_events[0]) if event.vector is not None
        ]
        stacked = (
            np.stack([vector for _, vector in known]) if known else np.zeros((0, self.meta.dim), np.float32)
        )
        norms = np.linalg.norm(stacked.astype(np.float64), axis=1, keepdims=True)
        unit = (stacked / np.maximum(norms, 1e-9)).astype(np.float32)
        return np.array([at for at, _ in known], np.int64), unit

    @cached_property
    def _event_words(self) -> EventWords:
        return EventWords(self._loaded_events[0])


class EventWords:
    """Name, summary and place of some events, searched by words with FTS5 in memory."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._lock, self._db = threading.Lock(), apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE texts USING fts5(name, summary, place, tokenize='porter unicode61')"
        )
        self._db.executemany(
            "INSERT INTO texts(rowid, name, summary, place) VALUES(?,?,?,?)",
            [(at, event.name, event.summary, event.place or "") for at, event in enumerate(events)],
        )

    def ranked(self, text: str) -> list[int]:
        """Positions of the events that hold a word of the text, the greatest BM25 first."""
        # Quoted, so that no word is read as FTS5's syntax.
        words = " OR ".join(f'"{word}"' for word in query_terms(text)[:MAX_WORDS])
        if not words:
            return []
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY bm25(texts), rowid"
        with self._lock:
            return [int(at) for (at,) in self._db.execute(sql, (words,))]


def read(db: apsw.Connection, photos: int, dim: int, where: str) -> tuple[list[Event], dict[int, int]]:
    """All events in order, and photo row → position of its event.

    Raises AlbumError for an event whose checksum differs, and ValueError or TypeError for what no writer
    writes.
    """
    records: list[Any] = db.execute(f"SELECT row, crc, {SEALED.columns} FROM events ORDER BY row").fetchall()
    if [record[0] for record in records] != list(range(len(records))):
        raise ValueError("event rows are not 0..e-1")
    members: list[list[tuple[str, int | None]]] = [[] for _ in records]
    row_of: dict[int, int] = {}
    for photo, event, photo_id, wall in db.execute(_MEMBERS):
        if not isinstance(photo_id, str) or not 0 <= photo < photos or not 0 <= event < len(records):
            raise ValueError(f"a photo in row {photo} of an event in row {event}")
        members[event].append((photo_id, None if wall is None else _integer(wall)))
        row_of[photo] = event
    events = []
    for (row, crc, *values), linked in zip(records, members, strict=True):
        SEALED.check(where, row, crc, [*values, *(photo_id for photo_id, _ in linked)])
        events.append(_event(values, linked, dim))
    order = sorted(
        range(len(events)),
        key=lambda row: (events[row].start is None, events[row].start or 0, events[row].id),
    )
    position = {row: at for at, row in enumerate(order)}
    return [events[row] for row in order], {photo: position[event] for photo, event in row_of.items()}


def _event(values: Sequence[Any], photos: list[tuple[str, int | None]], dim: int) -> Event:
    event_id, name, summary, place, starts, ends, edited, scale, data = values
    if not all(isinstance(text, str) for text in (event_id, name, summary, "" if place is None else place)):
        raise TypeError("an event whose words are not text")
    ordered = sorted(photos, key=lambda photo: (photo[1] is None, photo[1] or 0, photo[0]))
    return Event(
        event_id,
        name,
        summary,
        tuple(photo_id for photo_id, _ in ordered),
        None if starts is None else _integer(starts),
        None if ends is None else _integer(ends),
        place,
        bool(_integer(edited)),
        _vector(scale, data, dim),
    )


def _vector(scale: Any, data: Any, dim: int) -> FloatArray | None:
    if scale is None and data is None:
        return None
    codes = np.frombuffer(data, np.int8)
    if codes.size != dim or not 0 <= scale < MAX_SCALE:
        raise ValueError("an event's vector of another length or scale")
    vector: FloatArray = dequantize(codes[None], np.array([scale], np.float32))[0]
    vector.setflags(write=False)  # every caller gets the same one
    return vector


def _integer(value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{str(value)[:40]!r} where an event's number is needed")
    return value
