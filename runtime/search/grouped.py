"""How many of some photos are of each day, month, year or place, and which of these has the most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from gamer.index import Album
from gamer.index.records import UNKNOWN_TIME

UNKNOWN = "unknown"
SHOWN = 24  # days, months, years or places in a line
_LENGTHS = {"day": 10, "month": 7, "year": 4}
_PLACE = 80  # characters of a place's name


def names(album: Album, by: str, rows: Sequence[int]) -> list[str]:
    """For each row its day, month, year or place; UNKNOWN where the album does not say."""
    if by == "place":
        places = {row: " ".join(text.split())[:_PLACE] for row, text in reversed(album.memories_of("place"))}
        return [places.get(row, UNKNOWN) for row in rows]
    times = album.times()[np.asarray(rows, np.int64)]
    iso = np.datetime_as_string(times.astype("datetime64[ms]"), "D")
    return [
        UNKNOWN if ms == UNKNOWN_TIME or len(day) != _LENGTHS["day"] else str(day)[: _LENGTHS[by]]
        for ms, day in zip(times, iso, strict=True)
    ]


def counted(of: Sequence[str], most: bool) -> dict[str, int]:
    """How often each known name is in `of`, by name; only those with the most, if `most`."""
    counts = Counter(name for name in of if name != UNKNOWN)
    greatest = max(counts.values(), default=0)
    return {name: count for name, count in sorted(counts.items()) if not most or count == greatest}


def line(counts: Mapping[str, int]) -> str:
    """ "2025-01: 1, 2025-06: 9", in any language."""
    told = [f"{name}: {count}" for name, count in list(counts.items())[:SHOWN]]
    more = [f"… (+{len(counts) - SHOWN})"] if len(counts) > SHOWN else []
    return ", ".join([*told, *more])
