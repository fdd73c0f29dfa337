"""Layer 1 of an open album: photos by time and place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from ..errors import AlbumError
from ..records import Cube, RowArray
from ..row_sets import RowSet
from ..space import cubes, kdtree
from ..space.cubes import CubeResult
from ..space.kdtree import LOWEST, Int64Array
from . import loader, segments
from .album_file import AlbumFile

_NONE: RowArray = np.empty(0, np.int64)
_SAME = 4  # answers about boxes that are kept


class SpaceLayer:
    """The K-D tree with the rows that its segment is behind in; loaded once, on first use."""

    def __init__(self, file: AlbumFile) -> None:
        self._file = file

    def in_cubes(self, wanted: Sequence[Cube]) -> CubeResult:
        """`rows`: inside any cube, or not judged because the field is unknown. No cubes: every photo."""
        return self._cut(tuple(wanted))

    def within(self, wanted: Sequence[Cube]) -> RowSet:
        """The photos inside any cube, by known fields."""
        return self._held(tuple(wanted))

    def near(
        self,
        k: int,
        lat: float | None = None,
        lon: float | None = None,
        taken_at: int | None = None,
        metres_an_hour: float = 1000.0,
    ) -> RowArray:
        """The k photos nearest to a place, a time, or both, nearest first; those whose field is unknown are
        never near.

        `taken_at` is wall time. An hour apart counts as `metres_an_hour` apart.
        """
        return self.tree.near(k, lat, lon, taken_at, metres_an_hour)

    def times(self) -> Int64Array:
        """Milliseconds of wall time as if UTC by row, the least int64 where unknown."""
        return self._points[:, 2]

    def positions(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """float64 [n, 2] of (latitude, longitude) in degrees, nan where unknown."""
        return self._positions

    @cached_property
    def _cut(self) -> Callable[[tuple[Cube, ...]], CubeResult]:
        """Within one search the same boxes are asked for several times: for the cube, as evidence, and to
        tell places of one name apart.
        """
        return lru_cache(maxsize=_SAME)(self.tree.in_cubes)

    @cached_property
    def _held(self) -> Callable[[tuple[Cube, ...]], RowSet]:
        return lru_cache(maxsize=_SAME)(self.tree.within)

    @cached_property
    def _points(self) -> Int64Array:
        return self.tree.points()

    @cached_property
    def _positions(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        raw = self._points[:, :2]
        return np.where(raw == LOWEST, np.nan, raw / cubes.E7)

    @cached_property
    def tree(self) -> cubes.Space:
        """The tree of the segment with what it is behind in; without a segment that can be used, a tree of
        all rows.
        """
        found = self._file.load(
            lambda db: segments.load(db, segments.KDTREE, kdtree.VERSION, self._file.photos)
        )
        if found is not None:
            try:
                tree = kdtree.KDTree.from_bytes(found.blob)
            except AlbumError:
                tree = None
            if tree is not None and len(tree) == found.rows:
                late = self._file.load(lambda db: loader.points_of(db, found.behind))
                return cubes.Space.of(tree, self._file.photos, found.behind, late)
        return cubes.Space.of(
            kdtree.build(self._file.load(loader.points)), self._file.photos, _NONE, np.empty((0, 3), np.int64)
        )
