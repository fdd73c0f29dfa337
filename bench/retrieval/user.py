"""One user as every method sees them: the album, its engine, memories, the query's vector, and what a
method prepares once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from time import perf_counter_ns
from typing import Any, TypeVar, cast

import numpy as np

from gamer.index import Album, FloatArray, Photo
from gamer.index.records import UNKNOWN_TIME
from gamer.runtime.indexing.encode import DERIVED
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine

DEPTH = 200  # ids that a method returns at most: what reciprocal-rank fusion reads of each list
UNDATED = datetime(2026, 1, 1)
_T = TypeVar("_T")


class NotApplicable(Exception):
    """A method that these albums give nothing to rank by; the message says what is missing."""


class User:
    """`Rank = Callable[[User, str], list[str]]` is what a method is: a query in, ids out, best first.

    `now`: the wall clock that "last summer" counts from: the minute after the album's last photo, so that no
    figure depends on the day of its run. `cache`: a folder for what a method keeps on disk between runs, or
    None.
    """

    def __init__(self, name: str, album: Path, models: Models, cache: Path | None = None) -> None:
        self.name, self.path, self.models, self.cache = name, album, models, cache
        self.album = Album.open(album)
        self.engine = Engine(models, self.album)
        self.charged_ns = 0  # what others paid for vectors that this query used again
        self._vectors: dict[str, tuple[FloatArray, int]] = {}
        self._kept: dict[object, object] = {}

    def close(self) -> None:
        self.engine.close()

    @cached_property
    def now(self) -> datetime:
        times = self.album.times()
        known = times[times != UNKNOWN_TIME]
        if not len(known):
            return UNDATED
        return datetime.fromtimestamp(int(known.max()) / 1000, UTC).replace(tzinfo=None) + timedelta(
            minutes=1
        )

    @cached_property
    def photos(self) -> list[Photo]:
        return self.album.photos(range(len(self.album)))

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(photo.id for photo in self.photos)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What people wrote to each photo: memories without those that the device derived."""
        return tuple(
            "\n".join(m.text for m in photo.memories if m.source not in DERIVED) for photo in self.photos
        )

    def vector(self, text: str) -> FloatArray:
        """The bundle's text tower on `text`, float32 [D].

        Computed once; each method that uses it again is charged its time.
        """
        found = self._vectors.get(text)
        if found is None:
            begin = perf_counter_ns()
            vector: FloatArray = self.models.text.encode([text])[0]
            self._vectors[text] = vector, perf_counter_ns() - begin
            return vector
        self.charged_ns += found[1]
        return found[0]

    def forget_vectors(self) -> None:
        self._vectors.clear()

    def kept(self, make: Callable[[User], _T]) -> _T:
        """`make(self)`, made when first asked for: an index, a graph."""
        if make not in self._kept:
            self._kept[make] = make(self)
        return cast(_T, self._kept[make])

    def cosines(self, channel: str, query: str) -> FloatArray:
        """float32 by row: the best chunk's cosine with the query, -inf where there is none.

        Raises NotApplicable without such vectors.
        """
        if channel not in self.album.channels():
            raise NotApplicable(f"no {channel} vectors in these albums")
        return self.album.scores(channel, self.vector(query))

    def best(self, scores: np.ndarray[Any, np.dtype[Any]], above: float = -np.inf) -> list[str]:
        """Ids of the DEPTH greatest scores over `above`, best first; equal scores in order of row."""
        order = np.argsort(-scores, kind="stable")[:DEPTH]
        return [self.ids[row] for row in order if scores[row] > above]


Rank = Callable[[User, str], list[str]]
