"""Borders: which positions lie inside, and photos by country in a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gamer.index.borders import Border
from gamer.index.records import Cube
from gamer.index.space.cubes import Space, to_e7
from gamer.index.space.kdtree import LOWEST, Int64Array, build

SQUARE = np.array([[0, 0], [10, 0], [10, 10], [0, 10]])
HOLE = np.array([[4, 4], [6, 4], [6, 6], [4, 6]])
ISLAND = np.array([[20, 20], [22, 21], [20, 22]])


def _plainly(rings: list[Int64Array], lat: int, lon: int) -> bool:
    """The rule in plain Python: the number of edges that a line westwards crosses is odd."""
    crossed = 0
    for ring in rings:
        for (y0, x0), (y1, x1) in zip(ring.tolist(), np.roll(ring, -1, 0).tolist(), strict=True):
            if y0 > y1:
                y0, x0, y1, x1 = y1, x1, y0, x0
            crossed += y0 <= lat < y1 and (lon - x0) * (y1 - y0) >= (x1 - x0) * (lat - y0)
    return crossed % 2 == 1


def test_a_hole_is_outside_an_island_inside_and_of_the_edges_those_at_the_south_and_west() -> None:
    border = Border("XX", [SQUARE, HOLE, ISLAND])
    points = [(1, 1), (5, 5), (21, 21), (15, 15), (0, 0), (10, 5), (5, 10), (4, 4)]
    held = border.holds(np.array(points)).tolist()
    assert held == [True, False, True, False, True, False, False, False]
    assert str(border) == "XX"


@given(
    rings=st.lists(
        st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=7), max_size=4
    ),
    points=st.lists(st.tuples(st.integers(-10, 10), st.integers(-10, 10)), max_size=40),
)
def test_many_positions_at_once_give_what_one_by_one_gives(
    rings: list[list[tuple[int, int]]], points: list[tuple[int, int]]
) -> None:
    drawn = [np.array(ring, np.int64) * 100_000_000 for ring in rings]
    positions = np.array(points, np.int64).reshape(-1, 2) * 100_000_000
    held = Border("XX", drawn).holds(positions).tolist()
    assert held == [_plainly(drawn, lat, lon) for lat, lon in positions.tolist()]


def test_a_cube_with_a_border_leaves_out_what_lies_beyond_it_and_keeps_what_has_no_place() -> None:
    degrees = [(1.0, 1.0, 5), (5.0, 5.0, 5), (1.0, 9.0, 50), (1.0, 9.0, LOWEST)]
    points = [(to_e7(lat), to_e7(lon), time) for lat, lon, time in degrees] + [(LOWEST, LOWEST, 5)]
    space = Space.of(build(np.array(points)), 5, np.empty(0, np.int64), np.empty((0, 3), np.int64))
    border = Border("XX", [SQUARE * 10_000_000, HOLE * 10_000_000])
    box: dict[str, Any] = {"south": 0.0, "north": 10.0, "west": 0.0, "east": 10.0}
    assert space.within([Cube(**box)]).rows.tolist() == [0, 1, 2, 3]
    assert space.within([Cube(**box, border=border)]).rows.tolist() == [0, 2, 3]
    assert space.in_cubes([Cube(**box, border=border)]).rows.tolist() == [0, 2, 3, 4]
    timed = Cube(start=0, end=9, **box, border=border)
    assert space.in_cubes([timed]).inside.tolist() == [0]
    assert space.in_cubes([timed]).rows.tolist() == [0, 3, 4]
    # The second cube has no border, and lies where the first has its hole.
    beside = Cube(south=4.5, north=5.5, west=4.5, east=5.5)
    assert space.within([Cube(**box, border=border), beside]).rows.tolist() == [0, 1, 2, 3]
