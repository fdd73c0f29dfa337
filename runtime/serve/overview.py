"""An overview of the album (months, places, example queries), and the API's form of an answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from gamer.index import extract
from gamer.index.fields import FIELDS
from gamer.index.records import FAVOURITE, UNKNOWN_TIME

from ..bundle.gazetteer import Gazetteer
from ..search.answer import Answer, SimilarPhotos
from . import words
from .catalogue import Catalogue, months_of
from .views import (
    MAX_NAME,
    EntityNode,
    NameCount,
    Overview,
    Place,
    SearchResult,
    Source,
    SourceCount,
    Subgraph,
)

if TYPE_CHECKING:
    from gamer.index import Album

    from ..search.engine import Engine

MAX_MONTHS = 3000
MAX_PLACES = 3000
MAX_NAMED = 200
MAX_CHOICES = 200  # of a filter
CELL = 0.05  # degrees, about 5 km; doubled until there are at most MAX_PLACES cells
EXAMPLE_PHOTOS = 24
EXAMPLES = 4
EXAMPLE_LABELS = 12  # those seen most, of which is looked up whether somebody spoke of them
SUMMER = (5, 6, 7)  # months, counted from 0
NOT_WRITTEN = ("label", "place", "ocr")
_FULL = re.compile(r"[^\W\d_]{2,}(?: [^\W\d_]{2,}){0,2}")


def overview(engine: Engine, catalogue: Catalogue) -> Overview:
    album, gazetteer = engine.album, engine.models.gazetteer
    times = album.times()
    known = times[times != UNKNOWN_TIME]
    positions = album.positions()
    placed = positions[~np.isnan(positions).any(axis=1)]
    return Overview(
        months_of(known)[-MAX_MONTHS:],
        len(times) - len(known),
        places(placed, gazetteer),
        len(positions) - len(placed),
        _sources(album),
        _most(catalogue.named),
        _most(catalogue.folders),
        **{field.table: _most(album.rows_by_detail[field.name]) for field in FIELDS},
    )


def _sources(album: Album) -> tuple[SourceCount, ...]:
    mark = (FAVOURITE.source, FAVOURITE.text)
    rows = {
        source: {row for row, text in album.memories_of(source) if (source, text) != mark}
        for source in get_args(Source)
    }
    return tuple(SourceCount(source, len(found)) for source, found in rows.items() if found)


def _most(photos: Mapping[str, Collection[int]]) -> tuple[NameCount, ...]:
    """Of the names the MAX_CHOICES with most photos, most first, those with equally many by name."""
    counts = sorted((-len(rows), name) for name, rows in photos.items() if len(name) <= MAX_NAME)
    return tuple(NameCount(name, -count) for count, name in counts[:MAX_CHOICES])


def places(positions: NDArray[np.float64], gazetteer: Gazetteer | None = None) -> tuple[Place, ...]:
    """Grid cells that hold photos, the fullest first; by a gazetteer MAX_NAMED of them have a city's name."""
    cell = CELL
    while True:
        keys, cell_of, counts = np.unique(
            np.floor(positions / cell), axis=0, return_inverse=True, return_counts=True
        )
        if len(keys) <= MAX_PLACES:
            break
        cell *= 2
    means = (
        np.stack([np.bincount(cell_of.reshape(-1), positions[:, axis], len(keys)) for axis in (0, 1)], axis=1)
        / counts[:, None]
    )
    out = []
    for rank, index in enumerate(np.argsort(-counts, kind="stable")):
        lat, lon = (round(float(value), 4) for value in means[index])
        city = gazetteer.nearest(lat, lon) if gazetteer and rank < MAX_NAMED else None
        out.append(Place(lat, lon, int(counts[index]), city.name if city else None))
    return tuple(out)


@dataclass(frozen=True)
class Example:
    """A query that fits the album. `what`: None is the summer of a year. `year` only without a place."""

    what: str | None
    place: str | None = None
    year: int | None = None

    def text(self, language: words.Language) -> str:
        key = "summer" if self.what is None else "place" if self.place else "year" if self.year else None
        given = {"what": self.what, "place": self.place, "year": self.year}
        return words.say(language, f"example.{key}", **given) if key else str(self.what)


def examples(album: Album, named: Mapping[str, Collection[int]]) -> tuple[Example, ...]:
    """A few queries that fit the album: who is named most, what its pictures show and its owner wrote of,
    names that its owner wrote, each with the city or the year of its photos; and the summer with most photos.

    What pictures show by the image model's labels alone ("bubble") only fills what is left.
    """
    cities = {row: text.split(",")[0] for row, text in album.memories_of("place")}
    days = album.times().astype("datetime64[ms]").astype("datetime64[M]").astype(np.int64)
    years = {
        row: 1970 + int(days[row]) // 12 for row in np.flatnonzero(album.times() != UNKNOWN_TIME).tolist()
    }
    labelled: dict[str, list[int]] = {}
    for row, text in album.memories_of("label"):
        labelled.setdefault(text.split(",")[0], []).append(row)
    shown = {label: rows for label, rows in labelled.items() if len(rows) > 1}
    people, places = _written(album)
    meant = {label: rows for label, rows in _most_seen(shown, EXAMPLE_LABELS) if _told_of(album, rows, label)}
    subjects = [*_most_seen(named, 1), *_most_seen(meant, 2), *_most_seen(people, 1)]
    out = dict[str, Example]()
    for what, rows in (*subjects, *_most_seen(places, EXAMPLES), *_most_seen(shown, EXAMPLES)):
        city = None if what in places else _commonest(cities, rows)
        out.setdefault(what, Example(what, city, None if city else _commonest(years, rows)))
    summers = Counter(year for row, year in years.items() if days[row] % 12 in SUMMER)
    return tuple(
        [*out.values()][:EXAMPLES] + [Example(None, None, year) for year, _ in summers.most_common(1)]
    )


T = TypeVar("T")


def _commonest(of: Mapping[int, T], rows: Collection[int]) -> T | None:
    return next((value for value, _ in Counter(of[row] for row in rows if row in of).most_common(1)), None)


def _most_seen(rows_of: Mapping[str, Collection[int]], n: int) -> list[tuple[str, Collection[int]]]:
    return sorted(rows_of.items(), key=lambda item: -len(item[1]))[:n]


def _told_of(album: Album, rows: Collection[int], label: str) -> bool:
    """Whether something that was written of the first of these photos says `label`."""
    photos = album.photos([*rows][:EXAMPLE_PHOTOS])
    written = (
        memory.text for photo in photos for memory in photo.memories if memory.source not in NOT_WRITTEN
    )
    return any(label.casefold() in text.casefold() for text in written)


def _written(album: Album) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Names of people and of places in what was written, not printed, of photos spread over the album: name →
    rows.
    """
    rows = (
        sorted({len(album) * step // EXAMPLE_PHOTOS for step in range(EXAMPLE_PHOTOS)}) if len(album) else []
    )
    out: dict[str, dict[str, list[int]]] = {"person": {}, "place": {}}
    for row, photo in zip(rows, album.photos(rows), strict=True):
        for memory in photo.memories:
            for mention in extract(memory.text) if memory.source not in NOT_WRITTEN else ():
                if mention.kind in out and _FULL.fullmatch(mention.name):
                    out[mention.kind].setdefault(mention.name, []).append(row)
    return out["person"], out["place"]


def result(engine: Engine, answer: Answer) -> SearchResult:
    """The answer as the API returns it. Folder names are removed: they must not leave this machine."""
    album, marked = engine.album, engine.facts.favourites.mask
    shown = {hit.row for hit in answer.hits}
    entities = answer.trace.entities
    nodes = tuple(EntityNode(e.row, e.name, e.kind, round(e.similarity, 4), len(e.photos)) for e in entities)
    mentions = tuple((e.row, row) for e in entities for row in e.photos if row in shown)
    relations = tuple(album.entity_links([e.row for e in entities]))
    trimmed = tuple(replace(e, photos=tuple(row for row in e.photos if row in shown)) for e in entities)
    hits = tuple(replace(hit, path=_name(hit.path)) for hit in answer.hits)
    shown_answer = replace(answer, hits=hits, trace=replace(answer.trace, entities=trimmed))
    favourites = tuple(hit.row for hit in hits if marked[hit.row])
    return SearchResult(shown_answer, answer.doubtful, Subgraph(nodes, mentions, relations), favourites)


def without_folders(answer: SimilarPhotos) -> SimilarPhotos:
    """`answer` with the files' names alone: folders must not leave this machine."""
    asked, *photos = (replace(photo, path=_name(photo.path)) for photo in (answer.asked, *answer.photos))
    return replace(answer, asked=asked, photos=tuple(photos))


def _name(path: str | None) -> str | None:
    return None if path is None else Path(path).name
