"""The first stage: reads the time and place that a query names (layer 1), in relation to one album."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice, product

from gamer.index import Album, Cube

from ...bundle.gazetteer import Place
from ...cues.anchors import AlbumEvents
from ...cues.calendar_days import Interval, TimeContext
from ...cues.parse import Cues, parse, resolve, with_quotes
from ..state import Parts, State

MOST_WORDINGS = 24  # of an event in another language, by its words' glosses
# Words that may name a time or place that the rules cannot read: they justify asking the language model,
# which takes half a second.
HINT = re.compile(
    r"\b(?:when|while|during|ago|since|until|before|after|back then"
    r"|that (?:day|night|week|summer|winter|year))\b|\b(?:in|at|near|from) [A-Z]"
)


def read(parts: Parts, state: State) -> State:
    """Adds the query's cues, with event anchors resolved; the other words are in `Cues.rest`.

    With `refined_by` "llm" the language model is asked if the rules read nothing although the query matches
    HINT.
    """
    request = state.request
    query, step = request.query, request.observer.step
    with step("cube", "cue parse"):
        skipped = "cube" in request.options.skip
        cues = Cues(rest=query, query=query) if skipped else by_rules(parts, query, request.now)
    no_cues = not (cues.times or cues.places or cues.negated or cues.anchors)
    if request.refined_by == "llm" and no_cues and HINT.search(query):
        with step("cube", "cues by language model"):
            cues = _quoted(parts, query, cues, request.now)
    with step("cube", "anchors"):
        language = request.options.language if request.options.gloss else ""
        return replace(state, cues=resolved(parts, cues, language))


def by_rules(parts: Parts, query: str, wall: datetime) -> Cues:
    """The query's cues by rules alone; event anchors stay unresolved.

    `wall`: the user's wall-clock time, from which "last spring" is counted.
    """
    facts = parts.facts
    home: Callable[[], Cube | None] = lambda: facts.home  # noqa: E731 - computed only if needed
    photos_at = partial(_photos_at, parts.album)
    return parse(query, wall, parts.models.gazetteer, facts.extent, photos_at, home, facts.southern)


def resolved(parts: Parts, cues: Cues, language: str = "") -> Cues:
    """`cues` with the album's events looked up by their words, then by these words' glosses in `language`."""
    events = AlbumEvents(parts.album, parts.models.text.encode_query)

    def find(phrase: str) -> Sequence[Interval]:
        glossed = parts.glossed(phrase, language) if language else None
        if glossed is None:
            return events(phrase)
        others = (" ".join(words) for words in islice(product(*glossed.forms), MOST_WORDINGS))
        by_words = (events.by_words(text) for text in (phrase, glossed.text, *others))
        return next(filter(None, by_words), ()) or events(glossed.text)

    return resolve(cues, find)


def _photos_at(album: Album, place: Place) -> int:
    """The number of photos in a place."""
    return len(album.within(place.boxes))


def _quoted(parts: Parts, query: str, cues: Cues, wall: datetime) -> Cues:
    """`cues` with the time and place that the language model quotes from the query."""
    from ...cues.quoted import cues_by_llm  # a search without the language model must not import its code

    if "cues" not in parts.models.manifest.prompts:
        return cues
    with parts.llm_lock:
        quotes = cues_by_llm(parts.models, query)
    if not quotes:
        return cues
    context = TimeContext(wall, parts.facts.extent, parts.facts.southern)
    photos_at = partial(_photos_at, parts.album)
    return with_quotes(cues, quotes.time, quotes.place, context, parts.models.gazetteer, photos_at)
