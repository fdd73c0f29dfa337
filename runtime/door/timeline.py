"""When the photos of an album were taken: years, months or days, with what each holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gamer.index import Album

from ..wall_time import iso

Unit = Literal["year", "month", "day"]
_LENGTH = {"year": 4, "month": 7, "day": 10}
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
        name = (iso(int(times[row])) or UNDATED)[: _LENGTH[by]]
        found.setdefault(name, []).append(ids[row])
    return tuple(Period(name, tuple(photos)) for name, photos in found.items())
