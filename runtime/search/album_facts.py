"""What a search asks of an album's columns again and again, computed once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, Cube
from gamer.index.records import UNKNOWN_TIME

from ..cues.home import learn_home
from ..cues.recurring import into_day, into_week
from .ranking import Conversations

NAMES = 500  # the most linked entities, of which a refinement may be shown some


class AlbumFacts:
    """Columns over all photos of one open album, in row order; thread-safe once made."""

    def __init__(self, album: Album) -> None:
        self._album = album
        times, latitudes = album.times(), album.positions()[:, 0]
        self.dated: NDArray[np.bool_] = times != UNKNOWN_TIME
        self.placed: NDArray[np.bool_] = np.isfinite(latitudes)
        known, placed = times[self.dated], latitudes[self.placed]
        # First and last moment in ms of wall time; None where no photo has one.
        self.extent = (int(known.min()), int(known.max())) if len(known) else None
        # Seasons follow the half of the earth where most photos lie. np.median would load numpy.ma.
        self.southern = bool(len(placed) and np.count_nonzero(placed < 0) * 2 > len(placed))

    @cached_property
    def home(self) -> Cube | None:
        """Where the album's nights are; learned when a query first says "at home"."""
        return learn_home(self._album.positions(), self._album.times())

    @cached_property
    def names(self) -> list[str]:
        """The most linked entities."""
        return self._album.entity_names(NAMES)

    @cached_property
    def conversations(self) -> Conversations:
        """Which messages follow which."""
        return Conversations(self._album.times(), self._album.conversations)

    @cached_property
    def into_week(self) -> NDArray[np.int32]:
        """Milliseconds of wall time since Monday's midnight."""
        return np.asarray(into_week(self._album.times()), np.int32)

    @cached_property
    def into_day(self) -> NDArray[np.int32]:
        """Milliseconds of wall time since midnight."""
        return np.asarray(into_day(self._album.times()), np.int32)
