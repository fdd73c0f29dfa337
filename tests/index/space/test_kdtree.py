"""The K-D tree compared with a numpy mask over the same columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gamer.index import AlbumError, Box, KDTree
from gamer.index.space.cubes import Space
from gamer.index.space.kdtree import CUT_FROM, HIGHEST, LOWEST, How, Int64Array, build

# Few distinct values, so that ties are common, and the extremes.
VALUES = st.one_of(
    st.integers(-5, 5), st.sampled_from([LOWEST, HIGHEST, LOWEST + 1]), st.integers(-(2**62), 2**62)
)
BOXES = st.lists(
    st.builds(Box, st.tuples(VALUES, VALUES, VALUES), st.tuples(VALUES, VALUES, VALUES)), max_size=4
)
WAYS: st.SearchStrategy[How] = st.sampled_from(["auto", "cut", "walk", "mask"])
POINTS = st.integers(0, 150).flatmap(lambda n: arrays(np.int64, (n, 3), elements=VALUES))


def by_mask(points: Int64Array, boxes: list[Box]) -> Int64Array:
    inside = np.zeros(len(points), np.bool_)
    for box in boxes:
        inside |= ((points >= np.array(box.low, np.int64)) & (points <= np.array(box.high, np.int64))).all(
            axis=1
        )
    return np.flatnonzero(inside)


@settings(max_examples=150, deadline=None)
@given(POINTS, BOXES, st.integers(1, 8), WAYS)
def test_a_range_gives_the_rows_of_a_numpy_mask(
    points: Int64Array, boxes: list[Box], leaf: int, how: How
) -> None:
    tree = KDTree.from_bytes(build(points, leaf).to_bytes())
    tree.how = how
    assert np.array_equal(tree.range(boxes), by_mask(points, boxes))
    marked = np.zeros(len(points), np.bool_)
    tree.mark(boxes, marked)
    assert np.array_equal(np.flatnonzero(marked), by_mask(points, boxes))


def test_a_large_tree_gives_the_same_rows_each_time_it_is_asked() -> None:
    points = np.random.default_rng(0).integers(0, 1_000, (CUT_FROM, 3))
    tree = build(points)
    boxes = [Box((10, LOWEST, LOWEST), (20, HIGHEST, HIGHEST)), Box((0, 5, 5), (30, 40, 50))]
    for box in boxes:
        want = by_mask(points, [box])
        assert want.size
        for _ in range(3):  # an axis is sorted when it is bounded for the second time
            assert np.array_equal(tree.range([box]), want)


NEAR = st.integers(-180, 180)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(0, 120).flatmap(
        lambda n: arrays(np.int64, (n, 3), elements=st.one_of(NEAR, st.just(LOWEST)))
    ),
    st.tuples(NEAR, NEAR, NEAR),
    st.sampled_from([(1.0, 1.0, 1.0), (2.0, 0.5, 0.0), (0.0, 0.0, 3.0), (1e-6, 1e-6, 1e3)]),
    st.integers(0, 12),
    WAYS,
)
def test_nearest_gives_the_rows_that_sorting_by_distance_gives(
    points: Int64Array, at: tuple[int, int, int], unit: tuple[float, float, float], k: int, how: How
) -> None:
    tree = build(points, 4)
    tree.how = how
    apart = np.abs(points.astype(np.float64) - at)
    apart[:, 1] = np.minimum(apart[:, 1], np.abs(360 - apart[:, 1]))
    far = np.sqrt(((apart * unit) ** 2).sum(axis=1))
    known = np.flatnonzero(~((points == LOWEST) & (np.array(unit) > 0)).any(axis=1))
    wanted = known[np.lexsort((known, far[known]))][:k]
    rows, distances = tree.nearest(at, unit, k, 360)
    assert np.allclose(distances, far[wanted], rtol=1e-9)
    assert np.allclose(far[rows], distances)
    assert len(set(rows.tolist())) == len(wanted)


@settings(max_examples=60, deadline=None)
@given(POINTS, BOXES, st.data())
def test_points_added_after_the_tree_was_built_are_found_too(
    points: Int64Array, boxes: list[Box], data: st.DataObject
) -> None:
    """An old tree with the rows that changed, were added or removed since answers as a new tree."""
    before = data.draw(POINTS)
    late = np.array(
        [
            row
            for row, point in enumerate(points)
            if row >= len(before) or not np.array_equal(point, before[row])
        ],
        np.int64,
    )
    space = Space.of(build(before, 4), len(points), late, points[late])
    assert np.array_equal(np.flatnonzero(space.inside(boxes)), by_mask(points, boxes))
    assert np.array_equal(space.points(), points)


def test_nearest_photos_lie_across_the_antimeridian_and_at_current_positions() -> None:
    def at(lon: float, hour: int) -> list[int]:
        return [0, round(lon * 1e7), hour * 3_600_000]

    old = np.array([at(179.99, 0), at(-179.98, 0), at(0.0, 0), [LOWEST, LOWEST, 0]], np.int64)
    space = Space.of(build(old), 5, np.array([0, 4]), np.array([at(10.0, 0), at(-179.99, 9)], np.int64))
    assert space.near(2, 0.0, 180.0, None, 1000).tolist() == [4, 1]
    assert space.near(2, 0.0, 180.0, 0, 1000).tolist() == [1, 4]
    assert space.near(9, None, None, 0, 1000).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(AlbumError, match="give a place"):
        space.near(1, 0.0, None, None, 1000)


def test_a_walk_in_a_tree_of_50000_points_visits_fewer_than_5000() -> None:
    points = np.random.default_rng(0).integers(-(10**9), 10**9, (50_000, 3))
    box = Box((0, 0, 0), (10**8, 10**8, 10**8))
    tree = build(points)
    tree.how = "walk"
    marked = np.zeros(len(points), np.bool_)
    assert tree.mark([box], marked) < 5_000
    assert np.array_equal(np.flatnonzero(marked), by_mask(points, [box]))


def test_each_box_is_searched_in_the_way_that_suits_its_size() -> None:
    points = np.random.default_rng(0).integers(-(10**9), 10**9, (60_000, 3))
    month, city, corner = (
        Box((LOWEST, LOWEST, 0), (HIGHEST, HIGHEST, 10**6)),
        Box((0, 0, 0), (10**9, 10**9, 10**8)),
        Box((0, 0, 0), (10**9,) * 3),
    )
    tree = build(points)
    assert np.array_equal(tree.range([month, city, corner]), by_mask(points, [month, city, corner]))
    seen = np.zeros(len(points), np.bool_)
    assert (
        tree.mark([month], seen)
        < 100
        < tree.mark([city], seen)
        < 4_000
        < tree.mark([corner], seen)
        <= len(points)
    )


@pytest.mark.parametrize(
    "spoil",
    [lambda b: b[:10], lambda b: b"XXXX" + b[4:], lambda b: b[:-1], lambda b: b[:-4] + b"\xff\xff\xff\x7f"],
)
def test_damaged_bytes_are_refused(spoil) -> None:  # type: ignore[no-untyped-def]
    blob = build(np.zeros((3, 3), np.int64)).to_bytes()
    with pytest.raises(AlbumError, match="rebuild"):
        KDTree.from_bytes(spoil(blob))
