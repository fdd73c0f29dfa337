"""The outline of a country: which positions lie inside of it, exactly, in whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64Array = NDArray[np.int64]

_PAIRS = 1_000_000  # of an edge and a position, compared at once


class Border:
    """Rings, of which each is an int64 array [n, 2] of (latitude, longitude) in 1e-7 degrees, n >= 3.

    A ring closes from its last point to its first, and none crosses the antimeridian. A ring inside another
    is a hole: a position is inside if a line from it westwards crosses the rings an odd number of times.
    """

    def __init__(self, code: str, rings: Sequence[Int64Array]) -> None:
        self.code, self.rings = code, tuple(rings)
        begin = np.concatenate([np.zeros((0, 2), np.int64), *rings])
        end = np.concatenate([np.zeros((0, 2), np.int64), *(np.roll(ring, -1, axis=0) for ring in rings)])
        up = begin[:, :1] <= end[:, :1]
        self._low, self._high = np.where(up, begin, end), np.where(up, end, begin)

    def __str__(self) -> str:
        return self.code

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> Any:
        """How a web framework that is asked to writes it: as its code."""
        from pydantic_core import core_schema

        return core_schema.any_schema(serialization=core_schema.to_string_ser_schema())

    def holds(self, positions: Int64Array) -> NDArray[np.bool_]:
        """bool [n] for positions int64 [n, 2]; of a border's own points, those at its south and west."""
        order = np.argsort(positions[:, 0], kind="stable")
        lats, lons = positions[order, 0], positions[order, 1]
        first, last = (np.searchsorted(lats, ends[:, 0], "left") for ends in (self._low, self._high))
        crossing = np.flatnonzero(last > first)
        crossed = np.zeros(len(positions), np.int64)
        done, pairs = 0, np.cumsum(last[crossing] - first[crossing])
        while done < len(crossing):
            before = int(pairs[done - 1]) if done else 0
            upto = max(done + 1, int(np.searchsorted(pairs, before + _PAIRS, "right")))
            edges = crossing[done:upto]
            lengths = last[edges] - first[edges]
            edge = np.repeat(edges, lengths)
            starts = np.cumsum(lengths) - lengths
            point = np.arange(len(edge)) + np.repeat(first[edges] - starts, lengths)
            low, high = self._low[edge], self._high[edge]
            along = (lons[point] - low[:, 1]) * (high[:, 0] - low[:, 0])
            np.add.at(crossed, point, along >= (high[:, 1] - low[:, 1]) * (lats[point] - low[:, 0]))
            done = upto
        inside = np.zeros(len(positions), np.bool_)
        inside[order] = crossed % 2 == 1
        return inside
