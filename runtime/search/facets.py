"""Facets that a query names and that an album knows: videos, orientation, camera, what has no date or place.

Each is a phrase that means nothing else, taken out of the query before it is searched. "A portrait of Anna"
is about a picture, so that orientations need their noun ("in portrait format", "vertical photos"); a camera's
name counts if the album has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gamer.index import Album, RowSet

from .album_facts import AlbumFacts

_WITHOUT = r"\b(?:without|with no|has no|have no|lacking) (?:an? |any )?"
_FORMAT = r" (?:format|mode|orientation)\b"
_FOLLOWS = r" (?=(?:photo|picture|image|shot|pic|snap)s?\b)"


def _orientation(value: str, other: str) -> str:
    return rf"\b(?:in )?(?:{value}|{other}){_FORMAT}|\bin {value}$|\b{other}{_FOLLOWS}"


# Name → pattern, of a text with single spaces.
PHRASES = {
    "videos": re.compile(
        r"\b(?:videos|(?:video|movie) clips?|video(?= of\b| (?:from|in|at|with)\b|$))(?: of\b)?",
        re.IGNORECASE,
    ),
    "without a date": re.compile(rf"{_WITHOUT}(?:date|time)s?\b|\bundated\b", re.IGNORECASE),
    "without a place": re.compile(
        rf"{_WITHOUT}(?:place|location|position|gps|coordinates)s?\b", re.IGNORECASE
    ),
    "in portrait": re.compile(_orientation("portrait", "vertical"), re.IGNORECASE),
    "in landscape": re.compile(_orientation("landscape", "horizontal"), re.IGNORECASE),
}
_TAKEN = r"(?:taken|shot|made|captured|photographed)"
BY_CAMERA = re.compile(
    rf"\b(?:{_TAKEN} )?(?:with|on|by|using) (?:the|my|an?|our) (\w[\w .\-]{{1,40}})$"
    rf"|\b{_TAKEN} (?:with|on|by|using) (\w[\w .\-]{{1,40}})$",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Facets:
    """`rest`: the query without the facets. `rows`: the photos that have them all. `told`: for the trace."""

    rest: str
    rows: RowSet
    told: tuple[str, ...]


def facets(text: str, album: Album, facts: AlbumFacts) -> Facets | None:
    """The facets that `text` names; None if it names none, or a field of which the album knows nothing."""
    rest, masks, told = " ".join(text.split()), list[_Mask](), list[str]()
    for name, pattern in PHRASES.items():
        match = pattern.search(rest)
        found = _having(name, album, facts) if match else None
        if match and found is not None:
            rest = " ".join(f"{rest[: match.start()]} {rest[match.end() :]}".split())
            masks.append(found)
            told.append(f"{name}: {np.count_nonzero(found)}")
    if camera := _camera(rest.rstrip(" ?!."), album):
        rest, name, found = camera
        masks.append(found)
        told.append(f"by {name}: {np.count_nonzero(found)}")
    if not masks:
        return None
    return Facets(" ".join(rest.split()) or "photos", RowSet(np.logical_and.reduce(masks)), tuple(told))


_Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def _having(name: str, album: Album, facts: AlbumFacts) -> _Mask | None:
    """The photos of a facet of PHRASES; None if the album knows of none, or has no such field."""
    if name == "without a date":
        return ~facts.dated
    if name == "without a place":
        return ~facts.placed
    if name == "videos":
        clips = album.clips(album.ids())
        return np.array([photo in clips for photo in album.ids()], np.bool_) if clips else None
    return _of(album, "orientation", lambda known: name == f"in {known}")


def _camera(text: str, album: Album) -> tuple[str, str, _Mask] | None:
    """The text without the camera that it names at its end, that name, and the photos of it."""
    match = BY_CAMERA.search(text)
    if match is None:
        return None
    name = (match[1] or match[2]).strip()
    words = set(name.casefold().replace("-", " ").split())
    found = _of(album, "camera", lambda known: words <= set(known.casefold().replace("-", " ").split()))
    return None if found is None else (text[: match.start()], name, found)


def _of(album: Album, field: str, fits: Callable[[str], bool]) -> _Mask | None:
    """The photos whose field fits; None if none does."""
    mask = np.zeros(len(album), np.bool_)
    for value, rows in album.rows_by_detail[field].items():
        if fits(value):
            mask[rows] = True
    return mask if mask.any() else None
