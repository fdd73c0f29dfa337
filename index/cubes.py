"""Layer 1's meaning: photos' times and places as tree points, cubes as boxes, and the rule that a cue never drops an unknown field.

An unknown field is a point at LOWEST on its axis, which no known value takes. So one tree holds every photo, and "inside, or unknown" is
a handful of boxes more rather than a second list beside the tree. Degrees are compared at 1e-7 (about a centimetre), ends included.
Knows cubes and kdtree; knows no file.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .kdtree import HIGHEST, LOWEST, Box, Int64Array, KDTree
from .records import Cube, RowArray
from .results import CubeResult

E7 = 10_000_000
_Span = tuple[int, int]
_ALL: _Span = (LOWEST, HIGHEST)


def to_e7(degrees: float) -> int:
    return round(degrees * E7)


def in_cubes(tree: KDTree, cubes: Sequence[Cube]) -> CubeResult:
    """Empty `cubes` is the paper's "N/A": every photo."""
    if not cubes:
        everything: Int64Array = np.arange(len(tree), dtype=np.int64)
        return CubeResult(everything, everything, 0)
    known, unknown = [], []
    for cube in cubes:
        inside, beside = _boxes(cube)
        known += inside
        unknown += beside
    rows, box, visited = tree.hits([*known, *unknown])
    return CubeResult(_sorted_set(rows, len(tree)), _sorted_set(rows[box < len(known)], len(tree)), visited)


def _sorted_set(rows: RowArray, n: int) -> RowArray:
    seen = np.zeros(n, np.bool_)
    seen[rows] = True
    return np.asarray(np.flatnonzero(seen), np.int64)


def _boxes(cube: Cube) -> tuple[list[Box], list[Box]]:
    """Boxes of photos truly inside, and boxes of photos that the cube cannot judge on some axis and that fit on the others."""
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
