"""The photos of an album in the order of a timeline, as far as a filter lets them through.

Works on columns of the open album; knows neither HTTP nor the page.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gamer.index import Cube, Photo, RowArray, RowSet
from gamer.index.records import FAVOURITE, UNKNOWN_TIME

from ..bundle.gazetteer import Place
from .server.problem import Refused
from .views import Filter, Listed, Month, Title

if TYPE_CHECKING:
    from ..search.engine import Engine

KEPT = 16  # filters whose photos are remembered


class Catalogue:
    """For any thread. Newest photos first, those without a date last."""

    def __init__(self, engine: Engine) -> None:
        self._album, self._facts, self._gazetteer = engine.album, engine.facts, engine.models.gazetteer
        self._ordered = lru_cache(maxsize=KEPT)(self._order)

    def within(self, wanted: Filter) -> RowSet | None:
        """The photos that a search may find; None: all. Raises Refused."""
        sets = self._sets(wanted)
        if not sets:
            return None
        first, *others = sets
        for other in others:
            first = first.among(other)
        return first

    def rows(self, wanted: Filter) -> RowArray:
        """int64, in the order of the timeline. Raises Refused.

        An album that has pictures is shown without what was only said.
        """
        return self._ordered(wanted)

    def months(self, rows: RowArray) -> tuple[tuple[Month, ...], int]:
        """(the months of `rows`, newest first; how many are without a date). `rows`: as `rows` gives them."""
        times = self._album.times()[rows]
        known = times[times != UNKNOWN_TIME]
        return months_of(known)[::-1], len(times) - len(known)

    def listed(self, rows: RowArray) -> tuple[Listed, ...]:
        times = self._album.times()[rows]
        return tuple(
            Listed(
                title.row,
                self._ids[title.row],
                None if time == UNKNOWN_TIME else time,
                bool(self.favourites[title.row]),
                title.shows,
                title.place,
            )
            for title, time in zip(self.titles(rows.tolist()), times.tolist(), strict=True)
        )

    def titles(self, rows: Iterable[int]) -> tuple[Title, ...]:
        """Of the rows that the album has, as the indexer labelled and placed their photos."""
        known = [row for row in rows if row < len(self._album)]
        return tuple(
            Title(row, _first(photo, "label").split(",")[0] or None, _first(photo, "place") or None)
            for row, photo in zip(known, self._album.photos(known), strict=True)
        )

    @cached_property
    def favourites(self) -> NDArray[np.bool_]:
        """bool [photos]"""
        return self._facts.favourites.mask

    @cached_property
    def named(self) -> dict[str, set[int]]:
        """The rows of the photos that each person is named in; commas part the names in a memory."""
        out: dict[str, set[int]] = {}
        for row, text in self._album.memories_of("people"):
            for name in filter(None, map(str.strip, text.split(","))):
                out.setdefault(name, set()).add(row)
        return out

    @cached_property
    def folders(self) -> dict[str, set[int]]:
        """The rows of the photos in each folder, by its path below the folder that all photos are in."""
        paths = self._album.paths()
        parents = [None if path is None else PurePath(path.replace("\\", "/")).parent for path in paths]
        top = os.path.commonpath([parent for parent in parents if parent] or [PurePath()])
        out: dict[str, set[int]] = {}
        for row, parent in enumerate(parents):
            if parent is not None and str(parent) != top:
                out.setdefault(parent.relative_to(top).as_posix(), set()).add(row)
        return out

    @cached_property
    def _ids(self) -> list[str]:
        return self._album.ids()

    @cached_property
    def _newest_first(self) -> RowArray:
        # Stable, so that photos of one moment keep the order of their rows; the least int64 comes last.
        return np.asarray(np.argsort(-self._album.times().astype(np.float64), kind="stable"), np.int64)

    def _order(self, wanted: Filter) -> RowArray:
        within = self.within(wanted)
        rows = self._newest_first if within is None else within.keep(self._newest_first)
        return self._facts.pictured.keep(rows) if len(self._facts.pictured) else rows

    def _sets(self, wanted: Filter) -> list[RowSet]:
        out = []
        if wanted.start is not None or wanted.end is not None:
            out.append(self._album.within([Cube(wanted.start, wanted.end)]))
        if wanted.box is not None:
            out.append(self._album.within([_rectangle(wanted.box)]))
        if wanted.place is not None:
            out.append(self._album.within(self._place(wanted.place).boxes))
        if wanted.source is not None:
            told = self._album.memories_of(wanted.source)
            mark = (FAVOURITE.source, FAVOURITE.text)
            out.append(self._set(row for row, text in told if (wanted.source, text) != mark))
        if wanted.person is not None:
            out.append(self._set(self.named.get(wanted.person, ())))
        if wanted.folder is not None:
            out.append(self._set(self.folders.get(wanted.folder, ())))
        for name, value in wanted.details.items():
            out.append(self._set(self._album.rows_by_detail[name].get(value, ())))
        if wanted.favourites:
            out.append(self._facts.favourites)
        return out

    def _set(self, rows: Iterable[int]) -> RowSet:
        return RowSet.of(np.array(sorted(rows), np.int64), len(self._album))

    def _place(self, name: str) -> Place:
        """Of the places of that name, the one where the album has most photos."""
        places = self._gazetteer.lookup(name)
        if not places:
            raise Refused(404, "no_place", name=repr(name))
        return max(places, key=lambda place: len(self._album.within(place.boxes)))


def months_of(times: NDArray[np.int64]) -> tuple[Month, ...]:
    """The months of known times, in order, with how many are of each."""
    months, counts = np.unique(times.astype("datetime64[ms]").astype("datetime64[M]"), return_counts=True)
    starts = months.astype("datetime64[ms]").astype(np.int64)
    return tuple(Month(int(start), int(count)) for start, count in zip(starts, counts, strict=True))


def _first(photo: Photo, source: str) -> str:
    return next(iter(photo.told(source)), "")


def _rectangle(box: str) -> Cube:
    """South, west, north, east: beyond the map's ends, its ends."""
    south, west, north, east = (float(side) for side in box.split(","))
    south, north = (min(90.0, max(-90.0, side)) for side in (south, north))
    if east - west >= 360:
        west, east = -180.0, 180.0
    west, east = ((side + 180) % 360 - 180 if abs(side) > 180 else side for side in (west, east))
    return Cube(south=min(south, north), north=max(south, north), west=west, east=east)
