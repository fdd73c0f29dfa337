"""The data classes that the rooms exchange: Photo, Memory, Mention, Cube, Clip, Encoded, Event.

All are frozen and hold data only. Times are integers: milliseconds since 1970-01-01 UTC, or wall time stored
as if it were UTC where a field says so. Positions are degrees, WGS 84.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .borders import Border
from .fields import Details

FloatArray = NDArray[np.float32]
RowArray = NDArray[np.int64]
# The channel by which copies of a picture are recognised. No query is asked of it, so that it gets no graph.
COPIES = "copies"
# The channel of what its owner might call a photo, made from its memories (export/training/writing.py).
TITLE = "title"
# Stands for an unknown time in columns of times.
UNKNOWN_TIME = int(np.iinfo(np.int64).min)

MEMORY_SOURCES = ("chat", "social", "ocr", "caption", "note", "people", "label", "place")
Level = Literal["low", "high"]
TzSource = Literal["offset", "position", "local", "name", "chat"]


@dataclass(frozen=True)
class Memory:
    """A sentence that somebody (or some program) attached to a photo.

    `source` is one of MEMORY_SOURCES: the five that people write, "people" (names that an exporter knew, with
    commas between), "label" (what the image encoder recognised) and "place" (the name that reverse geocoding
    gives the GPS position).
    """

    source: str
    text: str
    sharing: Level | None = None
    sensitivity: Level | None = None


# How a person's mark is kept: a word that any reader of albums finds, and that says nothing of the picture.
FAVOURITE = Memory("social", "favourite")


@dataclass(frozen=True)
class Photo(Details):
    """One photo as ingested, before any model has seen it.

    `taken_at`: milliseconds UTC or None when unknown. `tz_source` says how local time became UTC: "offset"
    (OffsetTime or ISO offset), "position" (the time zone of the position), "local" (no zone known: wall
    time stored as if UTC; most albums are of this kind and are compared with wall-time cues), "name" (as
    "local", read from the file's name because no metadata held a time), or "chat" (as "local", when a chat's
    message sent the picture, because nothing else held a time). `utc_offset`: whole minutes (rounded
    down) by which the clock on the wall was ahead of UTC, east positive; None when "local", "name" or "chat",
    or when the zone of a true UTC time is not known. `lat`, `lon`: degrees or None, both or neither.
    `path`: absolute path of the pixels or None (a memory without a file). Details: what its header says.
    """

    id: str
    path: str | None = None
    taken_at: int | None = None
    tz_source: TzSource = "local"
    lat: float | None = None
    lon: float | None = None
    memories: tuple[Memory, ...] = ()
    sharing: Level | None = None
    sensitivity: Level | None = None
    sha256: str | None = None
    utc_offset: int | None = None

    def told(self, source: str) -> tuple[str, ...]:
        """The texts of its memories of one source, in order."""
        return tuple(memory.text for memory in self.memories if memory.source == source)

    @property
    def wall(self) -> int | None:
        """Local wall-clock time in milliseconds, as if UTC; None when `taken_at` is unknown.

        People mean this time by "at night" and "on 11 April". Without a known offset it equals `taken_at`.
        """
        return None if self.taken_at is None else self.taken_at + 60_000 * (self.utc_offset or 0)


@dataclass(frozen=True)
class IndexedPhoto:
    """A photo already in the album: the fields by which a folder scan recognises it."""

    id: str
    path: str | None
    sha256: str | None


@dataclass(frozen=True)
class Skip:
    """An input that was not ingested, with the reason in one line. `where`: a path or "album.jsonl:17"."""

    where: str
    reason: str


@dataclass(frozen=True)
class Mention:
    """An entity found in a memory.

    `kind`: person | place | thing | price | date. `parent`: what it describes (119 → chair). `relation`: how
    it is related to its parent ("costs", "at"); empty where nothing says.
    """

    name: str
    kind: str
    parent: str | None = None
    relation: str = ""


@dataclass(frozen=True)
class Cube:
    """A box in space-time (paper section 3.2, layer 1), in wall time.

    A side that is None is unbounded. `west > east` means that the box crosses the antimeridian. `border`: of
    the positions in the box, only those inside of it.
    """

    start: int | None = None
    end: int | None = None
    south: float | None = None
    north: float | None = None
    west: float | None = None
    east: float | None = None
    border: Border | None = None

    @property
    def has_time(self) -> bool:
        return self.start is not None or self.end is not None

    @property
    def has_place(self) -> bool:
        return self.south is not None


@dataclass(frozen=True)
class EntityMatch:
    """An entity node chosen in layer 2.

    `photos`: rows of the photos whose own memories name it; `reached`: of those that hang on an entity above
    it in the graph, because another photo's memory says that it describes that one. Both ascending.
    """

    row: int
    name: str
    kind: str
    similarity: float
    photos: tuple[int, ...] = ()
    reached: tuple[int, ...] = ()

    def leads_to(self, row: int) -> bool:
        """Whether a photo's row is among `photos` or `reached`, of which each may hold thousands."""
        places = ((rows, bisect_left(rows, row)) for rows in (self.photos, self.reached))
        return any(at < len(rows) and rows[at] == row for rows, at in places)


@dataclass(frozen=True)
class Clip:
    """What an album knows of a video, or of a part of one, beyond a photo. All in ms from the file's begin.

    `start`, `end`: of the item. `length`: of the whole file. `frames`: of chunk after chunk of the channel
    "image", the time of the frame that it was made from.
    """

    start: int
    end: int
    length: int
    frames: tuple[int, ...]


@dataclass(frozen=True)
class Encoded:
    """A photo with its vectors and mentions, as `AlbumWriter.add` takes it.

    `vectors`: channel name → float32 [n, d] (n ≥ 1: a long memory has several chunks), L2-normalised.
    Channels: "image", "text", COPIES, and those of a bundle's trained experts. `clip`: of a video, None of a
    photo.
    """

    photo: Photo
    vectors: dict[str, FloatArray] = field(default_factory=dict)
    mentions: tuple[Mention, ...] = ()
    clip: Clip | None = None


@dataclass(frozen=True)
class Event:
    """Photos that belong together and follow one another in time: a dinner, a walk, a journey's day.

    `id`: "ev_" and ten hexadecimal digits, kept when the event grows. `name`: a few words; `summary`: one or
    a few sentences. `start`, `end`: wall time in ms of the first and last dated photo, None if none is dated.
    `photos`: ids, in order of time. `edited`: whether a person named, split or merged it; a new segmentation
    keeps such an event. `vector`: of name and summary by the text encoder, float32 [dim], L2-normalised.
    """

    id: str
    name: str
    summary: str
    photos: tuple[str, ...]
    start: int | None = None
    end: int | None = None
    place: str | None = None
    edited: bool = False
    vector: FloatArray | None = field(default=None, compare=False, repr=False)
