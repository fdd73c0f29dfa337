"""ST-matching: BM25 over each photo's time and place as words.

A photo's text is such as "Saturday 14 February 2026 winter evening Amsterdam". Cues are not interpreted:
"last summer" matches every summer by its word, "the day after Christmas" matches no day. A query that names
neither time nor place gets an empty list.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gamer.index import Photo

from ..user import NotApplicable, User
from .bm25 import Index

_SEASONS = ("winter", "spring", "summer", "autumn fall")
_HOURS = ((5, "night"), (12, "morning"), (17, "afternoon"), (22, "evening"), (24, "night"))


def written(photo: Photo) -> str:
    """The photo's time and place as words; "" when neither is known."""
    places = [m.text for m in photo.memories if m.source == "place"]
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
