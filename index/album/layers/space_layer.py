"""Layer 1 of an open album: photos by time and place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from ...errors import AlbumError
from ...records import Cube, RowArray
from ...row_sets import RowSet
from ...space import cubes, kdtree
from ...space.cubes import CubeResult
from ...space.kdtree import LOWEST, Int64Array
from .. import loader, segments
from ..album_file import Layer

_NONE: RowArray = np.empty(0, np.int64)
_SAME = 4  # cached results of box queries


class SpaceLayer(Layer):
    """The K-D tree and the photos that changed since its segment was built; loaded once, on first use."""

    def in_cubes(self, wanted: Sequence[Cube]) -> CubeResult:
        """The photos inside any cube, and those not excluded because a field is unknown. No cubes: all."""
        return self._cut(tuple(wanted))

    def within(self, wanted: Sequence[Cube]) -> RowSet:
        """The photos inside any cube by known fields. No cubes: none."""
        return self._held(tuple(wanted))

    def walked(self, wanted: Sequence[Cube]) -> RowSet:
        """As `within`, by a walk of the K-D tree (the paper's layer 1 as printed). No cubes: all."""
        space = self.tree.walked()
        return space.within(wanted) if wanted else space.in_cubes(()).found

    def near(
        self,
        k: int,
        lat: float | None = None,
        lon: float | None = None,
        taken_at: int | None = None,
        metres_an_hour: float = 1000.0,
    ) -> RowArray:
        """Rows of the k photos nearest to a place, a time, or both, nearest first.

        Photos without a place or time that is asked for are left out. `taken_at`: wall time in ms. An hour's
        difference counts as `metres_an_hour` metres.
        """
        return self.tree.near(k, lat, lon, taken_at, metres_an_hour)

    def times(self) -> Int64Array:
        """int64 [n], by row: milliseconds of wall time as if UTC, the least int64 where unknown."""
        return self._points[:, 2]

    def positions(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """float64 [n, 2] of (latitude, longitude) in degrees, nan where unknown."""
        return self._positions

    @cached_property
    def _cut(self) -> Callable[[tuple[Cube, ...]], CubeResult]:
        """`Space.in_cubes` with a cache, since one search queries the same boxes several times: for the cube,
        as evidence, and to tell places of one name apart.
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
        """The segment's tree and a second one of the photos behind it; if there is no usable segment, a tree
        built from all rows.
        """
        segment = self._file.load(
            lambda db: segments.load(db, segments.KDTREE, kdtree.VERSION, self._file.photos)
        )
        if segment is not None:
            try:
                tree = kdtree.KDTree.from_bytes(segment.blob)
            except AlbumError:
                tree = None
            if tree is not None and len(tree) == segment.rows:
                late_points = self._file.load(lambda db: loader.points_of(db, segment.behind))
                return cubes.Space.of(tree, self._file.photos, segment.behind, late_points)
        return cubes.Space.of(
            kdtree.build(self._file.load(loader.points)), self._file.photos, _NONE, np.empty((0, 3), np.int64)
        )
