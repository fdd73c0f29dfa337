"""The tree against a numpy mask over the same columns."""

from __future__ import annotations

import numpy as np
import pytest
from gamer.index import AlbumError, Box, KDTree
from gamer.index.kdtree import HIGHEST, LOWEST, Int64Array, build
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

# Few distinct values, so that ties are the rule; and the extremes.
VALUES = st.one_of(st.integers(-5, 5), st.sampled_from([LOWEST, HIGHEST, LOWEST + 1]), st.integers(-(2**62), 2**62))
BOXES = st.lists(st.builds(Box, st.tuples(VALUES, VALUES, VALUES), st.tuples(VALUES, VALUES, VALUES)), max_size=4)
POINTS = st.integers(0, 150).flatmap(lambda n: arrays(np.int64, (n, 3), elements=VALUES))


def by_mask(points: Int64Array, boxes: list[Box]) -> Int64Array:
    inside = np.zeros(len(points), np.bool_)
    for box in boxes:
        inside |= ((points >= np.array(box.low, np.int64)) & (points <= np.array(box.high, np.int64))).all(axis=1)
    return np.flatnonzero(inside)


@settings(max_examples=150, deadline=None)
@given(POINTS, BOXES, st.integers(1, 8))
def test_range_equals_mask(points: Int64Array, boxes: list[Box], leaf: int) -> None:
    tree = KDTree.from_bytes(build(points, leaf).to_bytes())
    assert np.array_equal(tree.range(boxes), by_mask(points, boxes))


def test_large_tree_visits_few() -> None:
    points = np.random.default_rng(0).integers(-(10**9), 10**9, (50_000, 3))
    box = Box((0, 0, 0), (10**8, 10**8, 10**8))
    tree = build(points)
    rows, _, visited = tree.hits([box])
    assert np.array_equal(np.sort(rows), by_mask(points, [box]))
    assert visited < 5_000


@pytest.mark.parametrize("spoil", [lambda b: b[:10], lambda b: b"XXXX" + b[4:], lambda b: b[:-1], lambda b: b[:-4] + b"\xff\xff\xff\x7f"])
def test_damaged_bytes_are_refused(spoil) -> None:  # type: ignore[no-untyped-def]
    blob = build(np.zeros((3, 3), np.int64)).to_bytes()
    with pytest.raises(AlbumError, match="rebuild"):
        KDTree.from_bytes(spoil(blob))
