"""Event anchors: "two days after the fireworks". The parse finds the words; `resolve` looks the event up in
the album and moves from there.

An anchor names no date itself, so that parsing stays pure: `read_anchors` gives phrase and offset,
`resolve` asks a callable for the event's days (the engine's `AlbumEvents`, or a test's table) and turns
each into a time cue. An event that is not found, or that happens too often to be one, leaves the words in
the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gamer.index.entities.words import query_terms, singular
from gamer.index.records import UNKNOWN_TIME

from .dates import DAY_MS, EPOCH, Interval, daypart, ms_of
from .offsets import Offset, offset_of, shifted, words
from .rules import flatten
from .tables import tables
from .times import TimeCue

if TYPE_CHECKING:
    from gamer.index import Album, FloatArray

MAX_EVENTS = 5  # an event that happened on more days is a habit, and anchors nothing
CANDIDATES = 40
SURE_COSINE, SURE_MARGIN = 0.55, 0.05


@dataclass(frozen=True)
class Anchor:
    """An event that a time is counted from.

    `phrase`: the event's words. `span`: offset and phrase in the query.
    """

    text: str
    phrase: str
    offset: Offset
    span: tuple[int, int]


Find = Callable[[str], Sequence[Interval]]

_PHRASE = r"\s+(?P<phrase>[^\s,.;:?!()\"]+(?:\s+[^\s,.;:?!()\"]+){0,7})"


@cache
def _after_something() -> re.Pattern[str]:
    return re.compile(words() + _PHRASE)


@cache
def _of_something() -> re.Pattern[str]:
    parts = "|".join(("day", *tables().dayparts, "weekend", "week"))
    return re.compile(
        rf"(?<![a-z0-9])(?:(?:on|in|during|from)\s+)?the\s+(?P<unit>{parts})\s+of\s+(?P<phrase>(?:the|my|our|his|her|their|[a-z]+'s)\s+"
        r"[^\s,.;:?!()\"]+(?:\s+[^\s,.;:?!()\"]+){0,6})"
    )


def read_anchors(text: str, taken: Sequence[tuple[int, int]]) -> tuple[Anchor, ...]:
    """Offsets from something that is no date, outside the spans `taken` by times; a phrase ends where a cue
    begins.
    """
    flat = flatten(text)
    if not re.search(r"\b(?:before|after|following|of)\b", flat):
        return ()
    found = [(m, offset_of(m)) for m in _after_something().finditer(flat)]
    found += [(m, Offset(0, False, m["unit"], 0, m.span("unit"))) for m in _of_something().finditer(flat)]
    out = []
    for m, offset in found:
        a, (begin, end) = m.start(), m.span("phrase")
        end = min([end, *(s for s, _ in taken if begin <= s < end)])
        phrase = re.sub(
            r"^(?:the|my|our|a|an)\s+|\s+(?:in|on|at|and|or|with|from|of)?\s*$",
            "",
            text[begin:end].strip(),
            flags=re.IGNORECASE,
        )
        if phrase[:1].isalpha() and not any(s < end and a < e for s, e in taken):
            b = begin + len(text[begin:end].rstrip())
            out.append(Anchor(text[a:b], phrase, offset, (a, b)))
    return tuple(out)


def cues_of(anchor: Anchor, events: Sequence[Interval]) -> tuple[TimeCue, ...]:
    """One time cue for each of the event's intervals, moved by the offset."""
    spans = [_moved(event, anchor.offset) for event in events[:MAX_EVENTS]]
    return tuple(
        TimeCue(anchor.text, s, e, anchor.span, "anchor", tables().trust["anchor"]) for s, e in spans
    )


def _moved(event: Interval, offset: Offset) -> Interval:
    if offset.way or event[0] is None or event[1] is None:
        return shifted(event, offset)
    first, last = event[0] // DAY_MS + EPOCH, event[1] // DAY_MS + EPOCH
    if offset.unit in tables().dayparts:
        return daypart(first, offset.unit)[0]
    reach = {"day": 0, "weekend": 1, "week": 3}[offset.unit]
    return ms_of((first - reach, last + reach))


class AlbumEvents:
    """Finds an event in an album by the words and the vector of its phrase. Call it with a phrase: its days,
    likeliest first, or ().

    Sure by words when memories hold every content word of the phrase on at most MAX_EVENTS days; else by
    vector when one day stands out.
    """

    def __init__(self, album: Album, encode: Callable[[str], FloatArray]) -> None:
        self._album, self._encode = album, encode

    def __call__(self, phrase: str) -> tuple[Interval, ...]:
        return self._by_words(phrase) or self._by_vector(phrase)

    def _by_words(self, phrase: str) -> tuple[Interval, ...]:
        wanted = _stems(phrase)
        photos = self._album.photos(self._album.search_text(phrase, CANDIDATES).rows) if wanted else []
        whole = [
            p.wall
            for p in photos
            if p.wall is not None and wanted <= _stems(" ".join(m.text for m in p.memories))
        ]
        days = _days(whole)
        return days if len(days) <= MAX_EVENTS else ()

    def _by_vector(self, phrase: str) -> tuple[Interval, ...]:
        if "text" not in self._album.channels():
            return ()
        scores, times = self._album.scores("text", self._encode(phrase)), self._album.times()
        scores = np.where((times != UNKNOWN_TIME) & np.isfinite(scores), scores, np.float32(-1.0))
        best = int(np.argmax(scores)) if len(scores) else -1
        if best < 0 or scores[best] < SURE_COSINE:
            return ()
        (day,) = _days([int(times[best])])
        elsewhere = scores[(times < (day[0] or 0)) | (times > (day[1] or 0))]
        sure = not len(elsewhere) or float(scores[best] - elsewhere.max()) >= SURE_MARGIN
        return (day,) if sure else ()


def _stems(text: str) -> frozenset[str]:
    """The content words, cut so that "wedding" meets "weddings"."""
    return frozenset(singular(word)[:6] for word in query_terms(text))


def _days(times: Sequence[int]) -> tuple[Interval, ...]:
    """Times, likeliest first, as whole days; neighbouring days are one event."""
    out: list[list[int]] = []
    for ms in times:
        day = ms // DAY_MS + EPOCH
        for event in out:
            if event[0] - 1 <= day <= event[1] + 1:
                event[0], event[1] = min(event[0], day), max(event[1], day)
                break
        else:
            out.append([day, day])
    return tuple(ms_of((first, last)) for first, last in out)
