"""What every method gets of a user: the album, its engine and texts, query vectors, and cached indexes."""

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

DEPTH = 200  # the most ids that a method returns; reciprocal-rank fusion reads this many of each list
UNDATED = datetime(2026, 1, 1)
_T = TypeVar("_T")


class NotApplicable(Exception):
    """Raised by a method that has nothing to rank by in these albums; the message says what is missing."""


class User:
    """One user's album, opened, with what several methods share.

    A method is a function `Rank`: a user and a query in, ids out, best first. `now`: the time that "last
    summer" counts from, the minute after the album's last photo, so that no figure depends on the day of its
    run. `cache`: a folder for files that a method reuses between runs, or None.
    """

    def __init__(self, name: str, album: Path, models: Models, cache: Path | None = None) -> None:
        self.name, self.path, self.models, self.cache = name, album, models, cache
        self.album = Album.open(album)
        self.engine = Engine(models, self.album)
        self.charged_ns = 0  # encoding time of vectors that were computed before and used again
        self._vectors: dict[str, tuple[FloatArray, int]] = {}
        self._kept: dict[object, object] = {}

    def __enter__(self) -> User:
        return self

    def __exit__(self, *_: object) -> None:
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
        """What people wrote about each photo: its memories, without those that the device derived."""
        return tuple(
            "\n".join(m.text for m in photo.memories if m.source not in DERIVED) for photo in self.photos
        )

    def vector(self, text: str) -> FloatArray:
        """The text tower's vector of `text`, a query or a part of one, float32 [D].

        It is computed once. Every later use adds its encoding time to `charged_ns`, so that each method's
        measured time includes the encoding.
        """
        cached = self._vectors.get(text)
        if cached is None:
            begin = perf_counter_ns()
            vector = self.models.text.encode_query(text)
            self._vectors[text] = vector, perf_counter_ns() - begin
            return vector
        self.charged_ns += cached[1]
        return cached[0]

    def needs_language_model(self) -> None:
        """Raises NotApplicable if the bundle has none."""
        artifacts = self.models.manifest.artifacts
        if not any((a.role, a.target) == ("llm_decoder", self.models.backend) for a in artifacts):
            raise NotApplicable("the bundle has no language model")

    def forget_vectors(self) -> None:
        self._vectors.clear()

    def computed_once(self, make: Callable[[User], _T]) -> _T:
        """The result of `make(self)`, such as an index or a graph, computed at the first call."""
        if make not in self._kept:
            self._kept[make] = make(self)
        return cast(_T, self._kept[make])

    def cosines(self, channel: str, query: str) -> FloatArray:
        """float32 [photos]: the cosine of each photo's best chunk with the query, -inf where it has none.

        Raises NotApplicable if the album has no vectors of this channel.
        """
        if channel not in self.album.channels():
            raise NotApplicable(f"no {channel} vectors in these albums")
        return self.album.scores(channel, self.vector(query))

    def best(self, scores: np.ndarray[Any, np.dtype[Any]], above: float = -np.inf) -> list[str]:
        """Ids of the DEPTH greatest scores over `above`, best first; equal scores in order of row."""
        order = np.argsort(-scores, kind="stable")[:DEPTH]
        return [self.ids[row] for row in order if scores[row] > above]


Rank = Callable[[User, str], list[str]]
