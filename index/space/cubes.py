"""Layer 1: maps photos to points of the K-D tree and space-time cubes to boxes.

A cue never excludes a photo because a field is unknown. An unknown field is stored as LOWEST on its axis, a
value that no known field takes. So one tree holds every photo, and "inside, or unknown" needs only a few more
boxes rather than a second list beside the tree. Degrees are compared in steps of 1e-7 (about a centimetre);
bounds are inclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import cos, radians

import numpy as np
from numpy.typing import NDArray

from ..borders import Border
from ..errors import AlbumError
from ..records import Cube, RowArray
from ..row_sets import RowSet
from .kdtree import HIGHEST, LOWEST, Box, Int64Array, KDTree, build

E7 = 10_000_000
_METRES_E7 = 111_320 / E7  # metres per 1e-7 degrees of latitude
_Span = tuple[int, int]
_ALL: _Span = (LOWEST, HIGHEST)
_BORDERS = 8


@dataclass(frozen=True, eq=False)
class CubeResult:
    """`found`: photos inside some cube, or not excluded because a field is unknown; `within`: photos inside
    by known fields.
    """

    found: RowSet
    within: RowSet

    @property
    def rows(self) -> RowArray:
        """Row numbers of `found`, ascending."""
        return self.found.rows

    @property
    def inside(self) -> RowArray:
        """Row numbers of `within`, ascending."""
        return self.within.rows


def to_e7(degrees: float) -> int:
    return round(degrees * E7)


@dataclass(frozen=True, eq=False)
class Space:
    """The points of all `n` photos, in two trees.

    `tree` holds the photos as they were when the segment was built. `late_tree` is a small tree of the rows
    in `late`, which were added or changed since.
    """

    tree: KDTree
    n: int
    late: RowArray
    late_tree: KDTree

    @classmethod
    def of(cls, tree: KDTree, n: int, late: RowArray, points: Int64Array) -> Space:
        return cls(tree, n, late, build(points))

    def points(self) -> Int64Array:
        """int64 [n, 3] of (lat_e7, lon_e7, wall time in ms), in order of row."""
        out = np.full((max(self.n, len(self.tree)), 3), LOWEST, np.int64)
        out[self.tree.order] = self.tree.columns.T
        out = out[: self.n]
        out[self.late[self.late_tree.order]] = self.late_tree.columns.T
        return out

    @property
    def _stale(self) -> NDArray[np.bool_]:
        """bool, true for rows whose points in `tree` are out of date."""
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

    def walked(self) -> Space:
        """The same photos, whose trees are descended for every box, as the paper does."""
        trees = [KDTree(tree.order, tree.columns, tree.leaf) for tree in (self.tree, self.late_tree)]
        for tree in trees:
            tree.how = "walk"
        return Space(trees[0], self.n, self.late, trees[1])

    def in_cubes(self, cubes: Sequence[Cube]) -> CubeResult:
        """The photos in any of the cubes. Empty `cubes` is the paper's "N/A": every photo."""
        if not cubes:
            every = RowSet(np.ones(self.n, np.bool_))
            return CubeResult(every, every)
        within, unknown = self._marked(cubes)
        return CubeResult(RowSet(within | unknown), RowSet(within))

    def within(self, cubes: Sequence[Cube]) -> RowSet:
        """The same as `in_cubes(cubes).within`, except that no photo is within empty `cubes`."""
        return RowSet(self._marked(cubes)[0])

    def _marked(self, cubes: Sequence[Cube]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """bool [n] each: the photos inside some cube, and those whose unknown fields leave one open."""
        within, open_ = np.zeros(self.n, np.bool_), np.zeros(self.n, np.bool_)
        for border in dict.fromkeys(cube.border for cube in cubes):
            known, unknown = _all_boxes([cube for cube in cubes if cube.border is border])
            for marked, boxes in ((within, known), (open_, unknown)):
                inside = self.inside(boxes)
                marked |= inside if border is None else inside & (self._held(border) | ~self._placed)
        return within, open_

    @cached_property
    def _placed(self) -> NDArray[np.bool_]:
        return np.asarray(self.points()[:, 0] != LOWEST)

    @cached_property
    def _held(self) -> Callable[[Border], NDArray[np.bool_]]:
        """Whether each photo lies inside a border, bool [n]; the last few borders' answers are kept."""
        return lru_cache(maxsize=_BORDERS)(self._inside_border)

    def _inside_border(self, border: Border) -> NDArray[np.bool_]:
        placed = np.flatnonzero(self._placed)
        held = np.zeros(self.n, np.bool_)
        held[placed] = border.holds(self.points()[placed, :2])
        return held

    def near(
        self, k: int, lat: float | None, lon: float | None, taken_at: int | None, metres_an_hour: float
    ) -> RowArray:
        """The k rows nearest to a place, a time, or both.

        Distances are computed on the tangent plane at the place, which is accurate for short distances only.
        `metres_an_hour`: how many metres an hour's difference counts for. Raises AlbumError if neither a
        place nor a time is given, or only one coordinate of a place.
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
        stale = self._stale  # ask for as many more as may be dropped below
        rows, distances = self.tree.nearest(at, unit, k + int(stale.sum()), 360 * E7)
        late, late_distances = self.late_tree.nearest(at, unit, k, 360 * E7)
        fresh = ~stale[rows]
        rows, distances = (
            np.concatenate([rows[fresh], self.late[late]]),
            np.concatenate([distances[fresh], late_distances]),
        )
        return np.asarray(rows[np.lexsort((rows, distances))][: max(k, 0)], np.int64)


def _all_boxes(cubes: Sequence[Cube]) -> tuple[list[Box], list[Box]]:
    """The known and unknown boxes of all cubes, without repeats: cubes often share such a box."""
    parts = [_boxes(cube) for cube in cubes]
    known, unknown = (list(dict.fromkeys(box for part in parts for box in part[side])) for side in (0, 1))
    return known, unknown


def _boxes(cube: Cube) -> tuple[list[Box], list[Box]]:
    """Boxes of photos inside the cube, and boxes of photos whose unknown fields leave it open."""
    time = _span(cube.start, cube.end) if cube.has_time else _ALL
    bounded = any(side is not None for side in (cube.south, cube.north, cube.west, cube.east))
    places = _places(cube) if bounded else [(_ALL, _ALL)]
    known = [Box((lat[0], lon[0], time[0]), (lat[1], lon[1], time[1])) for lat, lon in places]
    unknown = []
    if bounded:
        unknown.append(Box((LOWEST, LOWEST, time[0]), (LOWEST, LOWEST, time[1])))
    if cube.has_time:
        unknown += [Box((lat[0], lon[0], LOWEST), (lat[1], lon[1], LOWEST)) for lat, lon in places]
    if bounded and cube.has_time:
        unknown.append(Box((LOWEST,) * 3, (LOWEST,) * 3))
    return known, unknown


def _places(cube: Cube) -> list[tuple[_Span, _Span]]:
    lat = _span(*(None if side is None else to_e7(side) for side in (cube.south, cube.north)))
    west, east = (None if side is None else to_e7(side) for side in (cube.west, cube.east))
    if west is not None and east is not None and west > east:  # across the antimeridian
        return [(lat, _span(west, None)), (lat, _span(None, east))]
    return [(lat, _span(west, east))]


def _span(low: int | None, high: int | None) -> _Span:
    """Inclusive bounds; an open end covers every known value, but not LOWEST, which means unknown."""
    return (LOWEST + 1 if low is None else max(low, LOWEST + 1), HIGHEST if high is None else high)
