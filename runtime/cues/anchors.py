"""Event anchors: times that are counted from an event, such as "two days after the fireworks".

`read_anchors` reads the event's phrase and the offset from the query without looking at the album, so that
parsing depends on the query alone. `parse.resolve` later asks a callable for the event's days (the engine's
`AlbumEvents`, or a table in a test), and `cues_of` turns them into time cues. If the event is unknown, or
happened on too many days, its words stay in the query text.
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

from .calendar_days import DAY_MS, EPOCH, Interval, daypart, ms_of
from .offsets import Offset, offset_of, offset_pattern, shifted
from .rules import flatten
from .tables import tables
from .time_ranges import TimeCue

if TYPE_CHECKING:
    from gamer.index import Album, FloatArray

MAX_EVENTS = 5  # days; what happened more often is a habit, from which no time can be counted
CANDIDATES = 40  # photos that the full-text search returns for a phrase
SURE_COSINE, SURE_MARGIN = 0.55, 0.05  # of the best photo, and its lead over the photos of other days


@dataclass(frozen=True)
class Anchor:
    """An event from which a time is counted.

    `text`: offset and phrase as the query has them, `span` their characters. `phrase`: the event's words,
    without an article.
    """

    text: str
    phrase: str
    offset: Offset
    span: tuple[int, int]


Find = Callable[[str], Sequence[Interval]]

_PHRASE = r"\s+(?P<phrase>[^\s,.;:?!()\"]+(?:\s+[^\s,.;:?!()\"]+){0,7})"


@cache
def _offset_and_phrase() -> re.Pattern[str]:
    return re.compile(offset_pattern() + _PHRASE)


@cache
def _part_of_event() -> re.Pattern[str]:
    parts = "|".join(("day", *tables().dayparts, "weekend", "week"))
    return re.compile(
        rf"(?<![a-z0-9])(?:(?:on|in|during|from)\s+)?the\s+(?P<unit>{parts})\s+of\s+(?P<phrase>(?:the|my|our|his|her|their|[a-z]+'s)\s+"
        r"[^\s,.;:?!()\"]+(?:\s+[^\s,.;:?!()\"]+){0,6})"
    )


def read_anchors(text: str, taken: Sequence[tuple[int, int]]) -> tuple[Anchor, ...]:
    """The anchors of a query: offsets such as "two days after" that a phrase follows rather than a date.

    `taken`: the spans of the time cues. An anchor that overlaps one is dropped, and a phrase ends where one
    begins.
    """
    flat = flatten(text)
    if not re.search(r"\b(?:before|after|following|of)\b", flat):
        return ()
    matches = [(m, offset_of(m)) for m in _offset_and_phrase().finditer(flat)]
    matches += [(m, Offset(0, False, m["unit"], 0, m.span("unit"))) for m in _part_of_event().finditer(flat)]
    out = []
    for m, offset in matches:
        a, (begin, end) = m.start(), m.span("phrase")
        end = min([end, *(s for s, _ in taken if begin <= s < end)])
        phrase = re.sub(
            r"^(?:the|my|our|a|an)\s+|(?<!\s)\s+(?:(?:in|on|at|and|or|with|from|of)\s*)?$",
            "",
            text[begin:end].strip(),
            flags=re.IGNORECASE,
        )
        if phrase[:1].isalpha() and not any(s < end and a < e for s, e in taken):
            b = begin + len(text[begin:end].rstrip())
            out.append(Anchor(text[a:b], phrase, offset, (a, b)))
    return tuple(out)


def cues_of(anchor: Anchor, events: Sequence[Interval]) -> tuple[TimeCue, ...]:
    """A time cue for each of the event's intervals (at most MAX_EVENTS), moved by the offset."""
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
    """Looks up an event in an album. Called with a phrase, returns the event's days, likeliest first; () if
    unsure.

    By words: the days of the photos whose memories hold every content word of the phrase, if there are at
    most MAX_EVENTS. Otherwise by vector: the day of the photo with the greatest text cosine, if that is at
    least SURE_COSINE and exceeds that of every other day by SURE_MARGIN.
    """

    def __init__(self, album: Album, encode: Callable[[str], FloatArray]) -> None:
        self._album, self._encode = album, encode

    def __call__(self, phrase: str) -> tuple[Interval, ...]:
        return self.by_words(phrase) or self._by_vector(phrase)

    def by_words(self, phrase: str) -> tuple[Interval, ...]:
        """The days by words alone."""
        wanted = _stems(phrase)
        photos = self._album.photos(self._album.search_text(phrase, CANDIDATES).rows) if wanted else []
        times = [
            p.wall
            for p in photos
            if p.wall is not None and wanted <= _stems(" ".join(m.text for m in p.memories))
        ]
        days = _days(times)
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
        stands_out = not len(elsewhere) or float(scores[best] - elsewhere.max()) >= SURE_MARGIN
        return (day,) if stands_out else ()


def _stems(text: str) -> frozenset[str]:
    """The content words in the singular, cut to six letters, so that "wedding" matches "weddings"."""
    return frozenset(singular(word)[:6] for word in query_terms(text))


def _days(times: Sequence[int]) -> tuple[Interval, ...]:
    """Times in ms, likeliest first, as intervals of full days in that order; adjacent days are one event."""
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
