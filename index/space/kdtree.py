"""An implicit, balanced K-D tree over (latitude, longitude, time): integer columns and a permutation.

The node of a range [lo, hi) of the permutation is its middle, (lo + hi) // 2; its left child is [lo, mid),
its right child [mid + 1, hi). The axis cycles with depth: latitude, longitude, time. A range of LEAF points
or fewer is a leaf and is scanned.

A box query takes one of three ways, each the cheapest in numpy for its kind of box. "walk" descends the tree
level by level for all boxes together: a level of few nodes in plain Python, a wide one with numpy arrays,
whose calls cost the same for one node and for hundreds. "cut" serves a box that one axis nearly decides
("in 2019"): it takes the slice of that axis's sorted column. "mask" serves a box that holds much of a small
album: it compares every point.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import AlbumError

Int64Array = NDArray[np.int64]

How = Literal["auto", "cut", "walk", "mask"]
PositionArray = NDArray[np.int64] | NDArray[np.int32]  # positions in tree order
Matches = tuple[PositionArray, int]  # positions of the points inside, and how many points were compared
Range = tuple[int, int, int]  # begin, end, index of the box

LOWEST = int(np.iinfo(np.int64).min)
HIGHEST = int(np.iinfo(np.int64).max)
LEAF = 32
MASK_BELOW = 50_000
CUT_FROM = (
    8_000  # points: in a smaller tree comparing all is faster than a cut, unless the box bounds one axis
)
# The most points that a cut gathers to test their other axes; above that a walk may read fewer points.
CUT = 32_768
NARROW = 64  # nodes: levels up to this width are walked in plain Python
# The cost of a point that a walk reads, in comparisons of a column's point with one side of a box.
WALKED = 25
GATHERED = 3  # the same cost, in points that a cut gathers
MAGIC = b"GKDT"
VERSION = 1
_HEADER = struct.Struct("<4sHHQ")  # magic, version, leaf size, points


@dataclass(frozen=True)
class Box:
    """Integer bounds, both ends inclusive.

    Open ends are LOWEST and HIGHEST. A box with a low above its high is empty.
    """

    low: tuple[int, int, int] = (LOWEST, LOWEST, LOWEST)
    high: tuple[int, int, int] = (HIGHEST, HIGHEST, HIGHEST)


class _Walk(NamedTuple):
    """The state of a walk over the tree.

    `mids`: (node position, box index) of the nodes visited; `leaves`: ranges to scan; `ranges`: the ranges of
    the next level; `depth`: that level's depth.
    """

    mids: list[tuple[int, int]]
    leaves: list[Range]
    ranges: list[Range]
    depth: int


class KDTree:
    """A K-D tree over n points.

    `order`: int32 [n], row numbers in tree order. `columns`: int64 [3, n], the points in tree order (so
    leaves are contiguous). `how`: the way in which box queries are answered; "auto" takes the cheapest.
    """

    def __init__(self, order: NDArray[np.int32], columns: Int64Array, leaf: int = LEAF) -> None:
        self.order = order
        self.columns = columns
        self.leaf = leaf
        self.how: How = "auto"
        self._sorted: dict[int, tuple[Int64Array, NDArray[np.int32]]] = {}
        self._asked: set[int] = set()

    def __len__(self) -> int:
        return int(self.order.size)

    def range(self, boxes: Sequence[Box]) -> Int64Array:
        """Sorted, unique row numbers of the points in any of the boxes."""
        mask = np.zeros(int(self.order.max(initial=-1)) + 1, np.bool_)
        self.mark(boxes, mask)
        return np.asarray(np.flatnonzero(mask), np.int64)

    def mark(self, boxes: Sequence[Box], mask: NDArray[np.bool_]) -> int:
        """Sets `mask`, by row number, for the points in any of the boxes.

        Returns the number of comparisons of a point with a box.
        """
        most = len(self) if self.how == "cut" else 0 if len(self) < CUT_FROM else min(CUT, len(self) // 4)
        left, parts = list[Box](), list[Matches]()
        for box in boxes:
            if self.how == "auto" and self._is_new(box):
                parts.append(self._by_mask(box))
                continue
            cut = self._cut(box, most) if self.how in ("auto", "cut") else None
            if cut is None:
                left.append(box)
            else:
                parts.append(cut)
        parts += self._walked(left) if left and len(self) else []
        for positions, _ in parts:
            mask[self.order[positions]] = True
        return sum(seen for _, seen in parts)

    def _is_new(self, box: Box) -> bool:
        """Whether a box bounds an axis for the first time, which takes longer to sort than to compare."""
        new = set(_bounded(box)) - self._asked if len(self) >= CUT_FROM else set()
        self._asked |= new
        return bool(new)

    def _cut(self, box: Box, most: int) -> Matches | None:
        """Answers a box from its most selective axis: positions inside, and how many points were compared.

        None if the box bounds several axes and more than `most` points lie within that axis's bounds.
        """
        bounded = _bounded(box)
        if not bounded or (len(bounded) > 1 and not most):
            return None
        narrowest, begin, end = self._narrowest(box, bounded)
        if len(bounded) > 1 and end - begin > most:
            return None
        positions: PositionArray = self._by(narrowest)[1][begin:end]
        for axis in bounded:
            if axis != narrowest:
                values = self.columns[axis][positions]
                positions = positions[(values >= box.low[axis]) & (values <= box.high[axis])]
        return positions, end - begin

    def _narrowest(self, box: Box, axes: Sequence[int]) -> tuple[int, int, int]:
        """The axis with the fewest points between its bounds, and their [begin, end) in its sorted column."""
        ends = {axis: self._between(axis, box.low[axis], box.high[axis]) for axis in axes}
        axis = min(axes, key=lambda axis: ends[axis][1] - ends[axis][0])
        return axis, *ends[axis]

    def _between(self, axis: int, low: int, high: int) -> tuple[int, int]:
        column = self._by(axis)[0]
        begin = 0 if low == LOWEST else int(column.searchsorted(low, "left"))
        return begin, len(self) if high == HIGHEST else max(begin, int(column.searchsorted(high, "right")))

    def _by(self, axis: int) -> tuple[Int64Array, NDArray[np.int32]]:
        """The axis's values in ascending order, and the tree position of each; sorted on first use."""
        if axis not in self._sorted:
            order = np.argsort(self.columns[axis], kind="stable").astype(np.int32)
            self._sorted[axis] = self.columns[axis][order], order
        return self._sorted[axis]

    def _walked(self, boxes: Sequence[Box]) -> list[Matches]:
        if self.how == "mask" or (self.how == "auto" and len(self) < MASK_BELOW):
            return [self._by_mask(box) for box in boxes]
        lows = np.array([box.low for box in boxes], np.int64)  # [b, 3]
        highs = np.array([box.high for box in boxes], np.int64)
        walk = self._narrow(lows.tolist(), highs.tolist())
        left = sum(hi - lo for lo, hi, _ in walk.ranges)
        if self.how == "auto" and (
            WALKED * left > len(self) * sum(map(_sides, boxes)) or left * GATHERED > self._cut_size(boxes)
        ):
            # The boxes hold many points: cut each if its narrowest axis leaves at most a quarter of all,
            # else compare all.
            return [self._cut(box, len(self) // 4) or self._by_mask(box) for box in boxes]
        positions, owner = self._candidates(walk, lows, highs)
        inside = np.ones(positions.size, np.bool_)
        for axis in range(3):
            values = self.columns[axis][positions]
            inside &= (values >= lows[owner, axis]) & (values <= highs[owner, axis])
        return [(positions[inside], int(positions.size))]

    def _cut_size(self, boxes: Sequence[Box]) -> int:
        """How many points cuts of all the boxes would read."""
        return sum(end - begin for box in boxes for _, begin, end in [self._narrowest(box, range(3))])

    def _by_mask(self, box: Box) -> Matches:
        """Compares whole columns: cheaper than a walk for few points, or a box that holds many of them."""
        inside: NDArray[np.bool_] | None = None
        for axis in range(3):
            for bound, open_end, compare in (
                (box.low[axis], LOWEST, np.greater_equal),
                (box.high[axis], HIGHEST, np.less_equal),
            ):
                if bound != open_end:
                    fits = compare(self.columns[axis], bound)
                    inside = fits if inside is None else np.logical_and(inside, fits, out=inside)
        return np.arange(len(self)) if inside is None else np.flatnonzero(inside), len(self)

    def nearest(
        self, point: tuple[int, int, int], unit: tuple[float, float, float], k: int, period: int = 0
    ) -> tuple[Int64Array, NDArray[np.float64]]:
        """Row numbers of the k nearest points and their distances, nearest first, ties in order of row.

        `unit`: the distance of one step on each axis; 0 ignores the axis. `period`: the length of the second
        axis if it is circular (longitude), else 0. A point that is LOWEST on an axis in use is not
        returned. The search box around the point grows until k points lie nearer than its sides.
        """
        if k < 1 or not len(self) or not max(unit) > 0:
            return np.empty(0, np.int64), np.empty(0, np.float64)
        radius = max(unit)
        while True:
            boxes, covers_all = _around(point, unit, radius, period)
            rows = self.range(boxes)
            distances = self._distances(rows, point, unit, period)
            certain = np.ones(rows.size, np.bool_) if covers_all else distances <= radius
            if covers_all or int(certain.sum()) >= k:
                order = np.lexsort((rows[certain], distances[certain]))[:k]
                return rows[certain][order], distances[certain][order]
            radius *= 4

    @cached_property
    def _place_of(self) -> Int64Array:
        """Tree position of each row."""
        out = np.empty(len(self), np.int64)
        out[self.order] = np.arange(len(self))
        return out

    def _distances(
        self, rows: Int64Array, point: tuple[int, int, int], unit: tuple[float, float, float], period: int
    ) -> NDArray[np.float64]:
        total = np.zeros(rows.size, np.float64)
        at = self._place_of[rows]
        for axis in range(3):
            if unit[axis] > 0:
                apart = np.abs(self.columns[axis][at].astype(np.float64) - point[axis])
                if axis == 1 and period:
                    apart = np.minimum(apart, np.abs(period - apart))
                total += (apart * unit[axis]) ** 2
        return np.asarray(np.sqrt(total), np.float64)

    def _candidates(self, walk: _Walk, lows: Int64Array, highs: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Tree positions of the points that may lie in a box, each with the index of its box."""
        depth, mids = walk.depth, np.array(walk.mids, np.int64).reshape(-1, 2)
        leaves, ranges = (np.array(part, np.int64).reshape(-1, 3).T for part in (walk.leaves, walk.ranges))
        positions, which = _spread(leaves[0], leaves[1])
        position_parts, owner_parts = [mids[:, 0], positions], [mids[:, 1], leaves[2][which]]
        lo, hi, owner = ranges
        while lo.size:
            is_leaf = hi - lo <= self.leaf
            positions, which = _spread(lo[is_leaf], hi[is_leaf])
            position_parts.append(positions)
            owner_parts.append(owner[is_leaf][which])
            lo, hi, owner = lo[~is_leaf], hi[~is_leaf], owner[~is_leaf]
            axis = depth % 3
            mid = (lo + hi) // 2
            value = self.columns[axis][mid]
            position_parts.append(mid)
            owner_parts.append(owner)
            # Equal values may lie on both sides of the middle, so both comparisons include equality.
            left, right = lows[owner, axis] <= value, highs[owner, axis] >= value
            lo = np.concatenate([lo[left], mid[right] + 1])
            hi = np.concatenate([mid[left], hi[right]])
            owner = np.concatenate([owner[left], owner[right]])
            depth += 1
        return np.concatenate(position_parts), np.concatenate(owner_parts)

    def _narrow(self, lows: list[list[int]], highs: list[list[int]]) -> _Walk:
        """Walks the upper levels in plain Python: a level of so few nodes costs less than numpy's calls."""
        walk = _Walk([], [], [(0, len(self), owner) for owner in range(len(lows))], 0)
        while walk.ranges and len(walk.ranges) <= NARROW:
            axis, below = walk.depth % 3, list[Range]()
            column = self._views[axis]
            for lo, hi, owner in walk.ranges:
                if hi - lo <= self.leaf:
                    walk.leaves.append((lo, hi, owner))
                    continue
                mid = (lo + hi) // 2
                value = column[mid]
                walk.mids.append((mid, owner))
                if lows[owner][axis] <= value:
                    below.append((lo, mid, owner))
                if highs[owner][axis] >= value:
                    below.append((mid + 1, hi, owner))
            walk = _Walk(walk.mids, walk.leaves, below, walk.depth + 1)
        return walk

    @cached_property
    def _views(self) -> list[memoryview]:
        """The columns as memoryviews, which return Python integers faster than numpy does."""
        return [memoryview(np.ascontiguousarray(column).data) for column in self.columns]

    def to_bytes(self) -> bytes:
        """The segment `kdtree`, little-endian (see FORMAT.md).

        Header, then latitude, longitude, time (int64 [n] each, in tree order), then the permutation
        (int32 [n]).
        """
        header = _HEADER.pack(MAGIC, VERSION, self.leaf, len(self))
        return header + self.columns.astype("<i8").tobytes() + self.order.astype("<i4").tobytes()

    @classmethod
    def from_bytes(cls, blob: bytes) -> KDTree:
        """Reads what `to_bytes` wrote. Raises AlbumError for bytes that are not such a segment."""
        if len(blob) < _HEADER.size:
            raise AlbumError("K-D tree segment: shorter than its header; rebuild the segment")
        magic, version, leaf, n = _HEADER.unpack_from(blob)
        if magic != MAGIC or version != VERSION:
            raise AlbumError(
                f"K-D tree segment: magic {magic!r}, version {version}, "
                f"expected {MAGIC!r}, {VERSION}; rebuild the segment"
            )
        if len(blob) != _HEADER.size + n * 28 or leaf < 1:
            raise AlbumError(
                f"K-D tree segment: {len(blob)} bytes do not hold {n} points; rebuild the segment"
            )
        columns = np.frombuffer(blob, "<i8", 3 * n, _HEADER.size).reshape(3, n).astype(np.int64, copy=False)
        order = np.frombuffer(blob, "<i4", n, _HEADER.size + 24 * n).astype(np.int32, copy=False)
        if n and (order.min() < 0 or order.max() >= n):
            raise AlbumError("K-D tree segment: a row number out of range; rebuild the segment")
        return cls(order, columns, leaf)


def _bounded(box: Box) -> list[int]:
    """The axes that a box bounds."""
    return [axis for axis in range(3) if box.low[axis] > LOWEST or box.high[axis] < HIGHEST]


def _sides(box: Box) -> int:
    """The number of comparisons that decide whether a point is in the box: its bounded sides."""
    return sum(low > LOWEST for low in box.low) + sum(high < HIGHEST for high in box.high)


def _around(
    point: tuple[int, int, int], unit: tuple[float, float, float], radius: float, period: int
) -> tuple[list[Box], bool]:
    """Boxes that cover all points within `radius`, and whether they cover every known point."""
    low, high, covers_all = [LOWEST] * 3, [HIGHEST] * 3, True
    for axis in range(3):
        if unit[axis] > 0:
            side = int(min(radius / unit[axis], 2.0**65)) + 1
            low[axis], high[axis] = max(point[axis] - side, LOWEST + 1), min(point[axis] + side, HIGHEST)
            if axis == 1 and period and 2 * side >= period:
                low[axis], high[axis] = LOWEST + 1, HIGHEST
            covers_all = covers_all and low[axis] == LOWEST + 1 and high[axis] == HIGHEST
    bounds = [(low, high)]
    if period and unit[1] > 0 and low[1] > LOWEST + 1:
        bounds += [
            ([low[0], low[1] + by, low[2]], [high[0], high[1] + by, high[2]]) for by in (-period, period)
        ]
    return [Box((a[0], a[1], a[2]), (b[0], b[1], b[2])) for a, b in bounds], covers_all


def build(points: Int64Array, leaf: int = LEAF) -> KDTree:
    """Builds a tree. `points`: int64 [n, 3] of (latitude, longitude, time), in order of row."""
    columns = np.ascontiguousarray(np.asarray(points, np.int64).reshape(-1, 3).T)
    order = np.arange(columns.shape[1], dtype=np.int64)
    stack = [(0, order.size, 0)]
    while stack:
        lo, hi, axis = stack.pop()
        if hi - lo <= leaf:
            continue
        mid = (lo + hi) // 2
        order[lo:hi] = _split(order[lo:hi], columns[axis], mid - lo)
        stack.append((lo, mid, (axis + 1) % 3))
        stack.append((mid + 1, hi, (axis + 1) % 3))
    return KDTree(order.astype(np.int32), np.ascontiguousarray(columns[:, order]), leaf)


def _split(part: Int64Array, column: Int64Array, middle: int) -> Int64Array:
    """Stable partition of `part`: smaller values, the median and its equals, greater values.

    Stability gives the same tree on every processor; np.argpartition does not.
    """
    values = column[part]
    median = np.partition(values, middle)[middle]
    return np.concatenate([part[values < median], part[values == median], part[values > median]])


def _spread(lo: Int64Array, hi: Int64Array) -> tuple[Int64Array, Int64Array]:
    """All positions of the ranges [lo, hi), concatenated, and for each the index of its range."""
    sizes = hi - lo
    which = np.repeat(np.arange(sizes.size, dtype=np.int64), sizes)
    starts = np.cumsum(sizes) - sizes
    return np.arange(which.size, dtype=np.int64) - starts[which] + lo[which], which
