"""The album's photos as a conversation uses them: found by words, by the agents' tools, and by a vector.

A photo is named by its id. What the tools return are texts of strangers, which no caller carries out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from gamer.index import AlbumError
from gamer.index.records import FloatArray, Photo

from ..questions.reader import read
from ..search.similar import row_named

if TYPE_CHECKING:
    from ..search.engine import Engine

FOUND = 4  # photos that show a thing which the person named
READ = 8  # photos whose memories are read for an answer
LISTED = 12  # photos of an answer that is about photos
NO_MORE = "I found no others."
# A cosine of two pictures; below it they do not show the same thing. Those of unrelated photos reach 0.55
# with the pocket bundle's encoder.
_LEAST = 0.7


@dataclass(frozen=True)
class Answered:
    """An answer of the tools. `photos`: ids, at most LISTED. `steps`: a line for each call."""

    text: str
    photos: tuple[str, ...]
    steps: tuple[str, ...]


@dataclass(frozen=True)
class PhotoFacts:
    """What is told of a photo. `printed`: the text in it. `at`: ms of wall time, or None. `place`: a name, or
    "".
    """

    photo: str
    texts: tuple[str, ...]
    at: int | None
    place: str
    people: tuple[str, ...]
    labels: tuple[str, ...]
    printed: str = ""


class Pictures:
    """What a conversation asks of the photos of an open engine. Threads may share it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def encoder(self) -> str:
        """The name of what made the pictures' vectors."""
        return self._engine.album.meta.image_encoder

    def named(self, name: str) -> str:
        """The id of the photo that a person names. Raises RuntimeFailure."""
        album = self._engine.album
        return album.photo(row_named(album, name)).id

    def path(self, photo: str) -> str:
        """How a person finds a photo: its file, or its id where that is not known."""
        album = self._engine.album
        return album.photo(album.row_of(photo)).path or photo

    def told(self, question: str, only: Sequence[str] = ()) -> tuple[PhotoFacts, ...]:
        """What is told of the photos that a question may mean, best first, at most READ; or of `only`."""
        album = self._engine.album
        if only:
            rows = [album.row_of(photo) for photo in only if self.holds(photo)]
        else:
            rows = [album.row_of(hit.id) for hit in self._engine.search(question, READ).hits]
        countries = self._engine.models.gazetteer.countries
        return tuple(_told(photo, countries) for photo in album.photos(rows))

    def answer(self, question: str, now: datetime, leaving: Sequence[str] = ()) -> Answered:
        """What the agents' tools find for a question about photos, but those with the ids `leaving`."""
        from ..agent import loop, minds
        from ..agent.calls import name_of
        from ..agent.toolbox import Toolbox

        toolbox = Toolbox(self._engine, now)
        if leaving and (asked := read(question)).target and (asked.number or asked.order):
            question = f"photos of {asked.target}"  # three more are not the first three
        end: loop.End = "sentence" if read(question).asks == "count" else "set"
        outcome = loop.run(minds.mind("rules", toolbox, now), toolbox, question, end)
        steps = (f"{step.thought} [{name_of(step.call)}]" for step in outcome.steps if step.call is not None)
        rows, text = outcome.answer.rows if outcome.answer.found else (), outcome.answer.sentence
        if leaving and outcome.answer.found:
            shown = {self._engine.album.row_of(photo) for photo in leaving if self.holds(photo)}
            rows = tuple(row for row in rows if row not in shown)
            text = f"{len(rows)} more" if rows else NO_MORE
        counted = end == "sentence" and len(rows) > LISTED  # any twelve of them say nothing
        photos = self._engine.album.photos([] if counted else rows[:LISTED])
        return Answered(text, tuple(photo.id for photo in photos), tuple(steps))

    def holds(self, photo: str) -> bool:
        """Whether a photo is in the album, which it may have left."""
        try:
            self._engine.album.row_of(photo)
        except AlbumError:
            return False
        return True

    def vector(self, photo: str) -> FloatArray | None:
        """The vector of a photo's picture, float32 [d]; None without one."""
        album = self._engine.album
        if not self.holds(photo):
            return None
        return album.mean_of("image", np.array([album.row_of(photo)], np.int64))

    def near(self, vector: FloatArray) -> tuple[str, ...]:
        """The photos whose pictures are near to a vector, best first, at most FOUND."""
        found = self._engine.album.search_vectors("image", vector, FOUND)
        rows = [row for row, score in zip(found.rows.tolist(), found.scores, strict=True) if score >= _LEAST]
        return tuple(photo.id for photo in self._engine.album.photos(rows))


def _told(photo: Photo, countries: Mapping[str, str]) -> PhotoFacts:
    texts = tuple(m.text for m in photo.memories if m.source not in ("label", "ocr", "place", "people"))
    people = tuple(name.strip() for text in photo.told("people") for name in text.split(",") if name.strip())
    town, comma, code = next(iter(photo.told("place")), "").rpartition(", ")
    place, printed = f"{town}{comma}{countries.get(code, code)}", "\n".join(photo.told("ocr"))
    return PhotoFacts(photo.id, texts, photo.wall, place, people, photo.told("label"), printed)
