"""Reads the time and place that a query names (the first half of layer 1), in relation to one album."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from threading import Lock

from gamer.index import Album, Cube, FloatArray, RowSet

from ..bundle.gazetteer import Place
from ..cues.anchors import AlbumEvents
from ..cues.dates import TimeContext
from ..cues.parse import Cues, parse, resolve, with_quotes
from ..models.models import Models
from .album_facts import AlbumFacts
from .options import Observer, SearchOptions

# Words that may name a time or place that the rules cannot read: they justify asking the language model,
# which takes half a second.
HINT = re.compile(
    r"\b(?:when|while|during|ago|since|until|before|after|back then"
    r"|that (?:day|night|week|summer|winter|year))\b|\b(?:in|at|near|from) [A-Z]"
)


class QueryReader:
    """Reads queries in relation to one album's dates, places and events."""

    def __init__(self, models: Models, album: Album, facts: AlbumFacts, llm_lock: Lock) -> None:
        self._models, self._album, self._facts, self._llm_lock = models, album, facts, llm_lock

    def read(
        self, query: str, refined_by: str, wall: datetime, options: SearchOptions, observer: Observer
    ) -> Cues:
        """The query's cues, with event anchors resolved; the other words are in `Cues.rest`.

        `wall`: the user's wall-clock time, from which "last spring" is counted. With `refined_by` "llm" the
        language model is asked if the rules read nothing although the query matches HINT.
        """
        with observer.step("cube", "cue parse"):
            cues = Cues(rest=query, query=query) if "cube" in options.skip else self.parse(query, wall)
        no_cues = not (cues.times or cues.places or cues.negated or cues.anchors)
        if refined_by == "llm" and no_cues and HINT.search(query):
            with observer.step("cube", "cues by language model"):
                cues = self._quoted(query, cues, wall)
        with observer.step("cube", "anchors"):
            return resolve(cues, AlbumEvents(self._album, self.encode))

    def excluded(self, cues: Cues) -> RowSet:
        """The photos whose known time or place the query excludes ("not in Paris")."""
        boxes = [Cube(start=t.start, end=t.end) for t in cues.negated_times]
        return self._album.within(boxes + [box for place in cues.negated_places for box in place.boxes])

    def encode(self, phrase: str) -> FloatArray:
        """The unit vector float32 [D] of a phrase of a query by the text tower."""
        return self._models.text.encode_query(phrase)

    def parse(self, query: str, wall: datetime) -> Cues:
        """The query's cues by rules alone; event anchors stay unresolved."""
        home: Callable[[], Cube | None] = lambda: self._facts.home  # noqa: E731 - computed only if needed
        facts, gazetteer = self._facts, self._models.gazetteer
        return parse(query, wall, gazetteer, facts.extent, self._photos_at, home, facts.southern)

    def _photos_at(self, place: Place) -> int:
        """The number of photos in a place."""
        parts = place.parts or ((place.south, place.north, place.west, place.east),)
        boxes = [Cube(south=south, north=north, west=west, east=east) for south, north, west, east in parts]
        return len(self._album.within(boxes))

    def _quoted(self, query: str, cues: Cues, wall: datetime) -> Cues:
        """`cues` with the time and place that the language model quotes from the query."""
        from ..cues.quoted import cues_by_llm  # a search without the language model must not import its code

        if "cues" not in self._models.manifest.prompts:
            return cues
        with self._llm_lock:
            quotes = cues_by_llm(self._models, query)
        if not quotes:
            return cues
        context = TimeContext(wall, self._facts.extent, self._facts.southern)
        return with_quotes(cues, quotes.time, quotes.place, context, self._models.gazetteer, self._photos_at)
