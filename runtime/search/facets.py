"""The photos of an album that have what a query says literally: a shape, a camera, a date, a video."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamer.index import Album, RowSet

from ..questions.facets import Facets, Has, Kind
from .album_facts import AlbumFacts


def having(album: Album, kind: Kind, value: str) -> RowSet:
    """The photos with a facet; none if the album has none."""
    if kind == "clip":
        ids = album.ids()
        clips = album.clips(ids)
        return RowSet(np.array([photo in clips for photo in ids], np.bool_))
    if kind == "orientation":
        return _of(album, kind, lambda told: told == value)
    words = _words(value)
    return _of(album, kind, lambda told: words <= _words(told))


def known(album: Album) -> Has:
    """Whether a photo of the album has a facet: what the reader of questions asks."""
    return lambda kind, value: len(having(album, kind, value)) > 0


def named(album: Album, facets: Facets) -> dict[str, RowSet]:
    """The photos of each facet of a question, by what a trace calls it."""
    out = {"videos": having(album, "clip", "")} if facets.clips else {}
    if facets.orientation:
        out[f"in {facets.orientation}"] = having(album, "orientation", facets.orientation)
    if facets.camera:
        out[f"by {facets.camera}"] = having(album, "camera", facets.camera)
    return out


def knowing(facts: AlbumFacts, fact: str) -> RowSet:
    """The photos whose "date" or "place" is known."""
    return RowSet(facts.dated if fact == "date" else facts.placed)


def _words(name: str) -> set[str]:
    return set(name.casefold().replace("-", " ").split())


def _of(album: Album, field: str, fits: Callable[[str], bool]) -> RowSet:
    mask = np.zeros(len(album), np.bool_)
    for value, rows in album.rows_by_detail[field].items():
        if fits(value):
            mask[rows] = True
    return RowSet(mask)
