"""When the photos of an album were taken: years, months or days, with what each holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np

from gamer.index import Album
from gamer.index.records import UNKNOWN_TIME

Unit = Literal["year", "month", "day"]
_LENGTH = {"year": 4, "month": 7, "day": 10}
_EPOCH = datetime(1970, 1, 1)
UNDATED = ""  # the period of photos without a date, which comes last


@dataclass(frozen=True)
class Period:
    """`name`: "2026", "2026-11" or "2026-11-21"; UNDATED. `photos`: ids, the newest first."""

    name: str
    photos: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.photos)


def periods(album: Album, by: Unit) -> tuple[Period, ...]:
    """By wall time, the newest first."""
    ids, times, found = album.ids(), album.times(), dict[str, list[str]]()
    for row in np.argsort(-times, kind="stable").tolist():
        found.setdefault(_name(int(times[row]), by), []).append(ids[row])
    return tuple(Period(name, tuple(photos)) for name, photos in found.items())


def _name(wall: int, by: Unit) -> str:
    if wall == UNKNOWN_TIME:
        return UNDATED
    return (_EPOCH + timedelta(milliseconds=wall)).isoformat()[: _LENGTH[by]]
