"""ST-matching: each photo's time and place as words, matched by BM25 or, in `rank_dense`, by their vectors.

A photo's text is such as "Saturday 14 February 2026 winter evening Amsterdam". Cues are not interpreted:
"last summer" matches every summer by its word, "the day after Christmas" matches no day. A query that names
neither time nor place gets an empty list from BM25; vectors rank every dated or placed photo by any query.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from gamer.index import FloatArray, Photo

from ..user import NotApplicable, User
from .bm25 import Index

_SEASONS = ("winter", "spring", "summer", "autumn fall")
_HOURS = ((5, "night"), (12, "morning"), (17, "afternoon"), (22, "evening"), (24, "night"))


def written(photo: Photo) -> str:
    """The photo's time and place as words; "" when neither is known."""
    places = photo.told("place")
    if photo.wall is None:
        return " ".join(places)
    at = datetime.fromtimestamp(photo.wall / 1000, UTC)
    season = _SEASONS[at.month % 12 // 3]
    part = next(name for end, name in _HOURS if at.hour < end)
    return " ".join((at.strftime("%A %d %B %Y %Y%m%d"), str(at.day), season, part, *places))


def _over_times_and_places(user: User) -> Index:
    texts = [written(photo) for photo in user.photos]
    if not any(texts):
        raise NotApplicable("no photo has a time or a place")
    return Index.of(texts)


def rank(user: User, query: str) -> list[str]:
    return user.best(user.computed_once(_over_times_and_places).scores(query), above=0)


@dataclass(frozen=True, eq=False)
class Written:
    """The distinct texts of times and places. `vectors`: float32 [texts, D], `which`: int64 [photos].

    A photo without time and place has the text -1.
    """

    vectors: FloatArray
    which: np.ndarray[tuple[int], np.dtype[np.int64]]


def _encoded(user: User) -> Written:
    texts = [written(photo) for photo in user.photos]
    distinct = {text: at for at, text in enumerate(dict.fromkeys(filter(None, texts)))}
    if not distinct:
        raise NotApplicable("no photo has a time or a place")
    vectors = np.asarray([user.models.text.encode([text])[0] for text in distinct], np.float32)
    return Written(vectors, np.array([distinct.get(text, -1) for text in texts], np.int64))


def rank_dense(user: User, query: str) -> list[str]:
    index = user.computed_once(_encoded)
    cosines = np.append(index.vectors @ user.vector(query), np.float32(-np.inf))
    return user.best(cosines[index.which])
