"""Layer 1's meaning: photos' times and places as tree points, cubes as boxes, and the rule that a cue never
drops an unknown field.

An unknown field is a point at LOWEST on its axis, which no known value takes. So one tree holds every photo,
and "inside, or unknown" is a handful of boxes more rather than a second list beside the tree. Degrees are
compared at 1e-7 (about a centimetre), ends included. Knows cubes and kdtree; knows no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, radians

import numpy as np
from numpy.typing import NDArray

from ..errors import AlbumError
from ..records import Cube, RowArray
from ..row_sets import RowSet
from .kdtree import HIGHEST, LOWEST, Box, Int64Array, KDTree, build

E7 = 10_000_000
_METRES_E7 = 111_320 / E7  # metres in 1e-7 degrees of latitude
_Span = tuple[int, int]
_ALL: _Span = (LOWEST, HIGHEST)


@dataclass(frozen=True, eq=False)
class CubeResult:
    """`found`: inside some cube or of unknown field. `within`: inside by known fields alone."""

    found: RowSet
    within: RowSet

    @property
    def rows(self) -> RowArray:
        """Of `found`, sorted."""
        return self.found.rows

    @property
    def inside(self) -> RowArray:
        """Of `within`, sorted."""
        return self.within.rows


def to_e7(degrees: float) -> int:
    return round(degrees * E7)


@dataclass(frozen=True, eq=False)
class Space:
    """All photos' points: a tree of those of some moment, and beside it a small tree of `late` rows, which
    came or changed since.
    """

    tree: KDTree
    n: int
    late: RowArray
    late_tree: KDTree

    @classmethod
    def of(cls, tree: KDTree, n: int, late: RowArray, points: Int64Array) -> Space:
        return cls(tree, n, late, build(points))

    def points(self) -> Int64Array:
        """int64 [n, 3] in order of row."""
        out = np.full((max(self.n, len(self.tree)), 3), LOWEST, np.int64)
        out[self.tree.order] = self.tree.columns.T
        out = out[: self.n]
        out[self.late[self.late_tree.order]] = self.late_tree.columns.T
        return out

    @property
    def _stale(self) -> NDArray[np.bool_]:
        """Rows of which the tree says nothing true."""
        stale = np.zeros(max(self.n, len(self.tree)), np.bool_)
        stale[self.late] = stale[self.n :] = True
        return stale

    def inside(self, boxes: Sequence[Box]) -> NDArray[np.bool_]:
        """bool [n], true for the photos in any of the boxes."""
        mask = np.zeros(max(self.n, len(self.tree)), np.bool_)
        self.tree.mark(boxes, mask)
        mask = mask[: self.n]
        if self.late.size:
            late = np.zeros(self.late.size, np.bool_)
            self.late_tree.mark(boxes, late)
            mask[self.late] = late
        return mask

    def in_cubes(self, cubes: Sequence[Cube]) -> CubeResult:
        """Empty `cubes` is the paper's "N/A": every photo."""
        if not cubes:
            every = RowSet(np.ones(self.n, np.bool_))
            return CubeResult(every, every)
        known, unknown = _all_boxes(cubes)
        within = self.inside(known)
        return CubeResult(RowSet(within | self.inside(unknown)), RowSet(within))

    def within(self, cubes: Sequence[Cube]) -> RowSet:
        """`in_cubes(cubes).within` alone. Empty `cubes` hold nothing."""
        return RowSet(self.inside(_all_boxes(cubes)[0]))

    def near(
        self, k: int, lat: float | None, lon: float | None, taken_at: int | None, metres_an_hour: float
    ) -> RowArray:
        """The k rows nearest to a place, a time, or both.

        Distances on the plane that touches the globe there: for neighbours, not continents.
        """
        if (lat is None) != (lon is None) or (lat is None and taken_at is None):
            raise AlbumError(
                "nearest photos: give a place, a time, or both; a place is a latitude and a longitude"
            )
        at = (to_e7(lat or 0.0), to_e7(lon or 0.0), taken_at or 0)
        east = _METRES_E7 * max(cos(radians(lat or 0.0)), 1e-3)
        unit = (
            0.0 if lat is None else _METRES_E7,
            0.0 if lon is None else east,
            0.0 if taken_at is None else metres_an_hour / 3_600_000,
        )
        stale = self._stale  # as many more are asked for as may fall away
        rows, far = self.tree.nearest(at, unit, k + int(stale.sum()), 360 * E7)
        late, late_far = self.late_tree.nearest(at, unit, k, 360 * E7)
        fresh = ~stale[rows]
        rows, far = np.concatenate([rows[fresh], self.late[late]]), np.concatenate([far[fresh], late_far])
        return np.asarray(rows[np.lexsort((rows, far))][: max(k, 0)], np.int64)


def _all_boxes(cubes: Sequence[Cube]) -> tuple[list[Box], list[Box]]:
    """Of all cubes, each box once: every month of October has the same photos without a date beside it."""
    parts = [_boxes(cube) for cube in cubes]
    known, unknown = (list(dict.fromkeys(box for part in parts for box in part[side])) for side in (0, 1))
    return known, unknown


def _boxes(cube: Cube) -> tuple[list[Box], list[Box]]:
    """Boxes of photos truly inside, and boxes of photos that the cube cannot judge on some axis and that fit
    on the others.
    """
    time = _span(cube.start, cube.end) if cube.has_time else _ALL
    bounded = any(side is not None for side in (cube.south, cube.north, cube.west, cube.east))
    places = _places(cube) if bounded else [(_ALL, _ALL)]
    known = [Box((lat[0], lon[0], time[0]), (lat[1], lon[1], time[1])) for lat, lon in places]
    beside = []
    if bounded:
        beside.append(Box((LOWEST, LOWEST, time[0]), (LOWEST, LOWEST, time[1])))
    if cube.has_time:
        beside += [Box((lat[0], lon[0], LOWEST), (lat[1], lon[1], LOWEST)) for lat, lon in places]
    if bounded and cube.has_time:
        beside.append(Box((LOWEST,) * 3, (LOWEST,) * 3))
    return known, beside


def _places(cube: Cube) -> list[tuple[_Span, _Span]]:
    lat = _span(*(None if side is None else to_e7(side) for side in (cube.south, cube.north)))
    west, east = (None if side is None else to_e7(side) for side in (cube.west, cube.east))
    if west is not None and east is not None and west > east:  # across the antimeridian
        return [(lat, _span(west, None)), (lat, _span(None, east))]
    return [(lat, _span(west, east))]


def _span(low: int | None, high: int | None) -> _Span:
    """An open end reaches every known value, but not the unknown one."""
    return (LOWEST + 1 if low is None else max(low, LOWEST + 1), HIGHEST if high is None else high)
