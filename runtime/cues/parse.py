"""Reads time and place from a query and builds the cubes that layer 1 searches (paper section 3.2, layer 1).

Deterministic rules, at most 10 ms a query, no network, no model: `time_ranges` reads times, `places` reads
places, and this module combines them. Words that were not understood stay in `rest`. A query that names
neither time nor place has no cubes (the paper's "N/A": all of the tree is searched).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TypeVar

from gamer.index.records import Cube

from ..bundle.gazetteer import Gazetteer
from .anchors import Anchor, Find, cues_of, read_anchors
from .calendar_days import Interval, TimeContext
from .languages import Reading, translated
from .places import Near, PlaceCue, find_places
from .recurring import RecurringCue, find_recurring
from .tables import pattern, tables
from .time_ranges import DEICTIC, TimeCue, find_times, merged

MAX_QUERY = 2_000
MAX_CUBES = 40
Span = tuple[int, int]
_Said = TypeVar("_Said", TimeCue, PlaceCue, RecurringCue, Anchor)


@dataclass(frozen=True)
class Cues:
    """What a query says about time and place.

    `times`, `places`: the cues that narrow the search. `negated_times`, `negated_places`: the cues to exclude
    ("not in Paris"). `recurring`: evidence that a cube cannot express ("at night", "on Sundays"). `anchors`:
    events from which a time is counted and that `resolve` has not yet looked up. `cubes`: times × places, at
    most MAX_CUBES; restricted in time only or in place only if the query names one of them; empty if it names
    neither. `rest`: the query without the understood words, empty only if the query is. Holiday names stay in
    `rest`, because "Christmas" is also something that photos show, and so do places where the album has no
    photo. `query`: the text that was read, at most MAX_QUERY characters. `keep`: spans of cues that stay in
    `rest`. `extent`: ms of the album's first and last photo.
    """

    times: tuple[TimeCue, ...] = ()
    places: tuple[PlaceCue, ...] = ()
    cubes: tuple[Cube, ...] = ()
    rest: str = ""
    negated_times: tuple[TimeCue, ...] = ()
    negated_places: tuple[PlaceCue, ...] = ()
    recurring: tuple[RecurringCue, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    query: str = ""
    keep: tuple[Span, ...] = ()
    extent: tuple[int, int] | None = None

    @property
    def negated(self) -> tuple[TimeCue | PlaceCue, ...]:
        return (*self.negated_times, *self.negated_places)


_NOT = re.compile(
    r"(?:,\s*)?\b(?:(?:but\s+)?(?:not|never)(?:\s+(?:from|in|at|taken\s+in|the\s+ones?\s+(?:from|in)))?|(?:all\s+)?except(?:ing)?(?:\s+for)?"
    r"(?:\s+(?:those|the\s+ones?))?|excluding|other\s+than|apart\s+from|anywhere\s+but|everywhere\s+but|but\s+not)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"\s*(?:,\s*)?(?:or|nor)\s+(?:in\s+|from\s+|at\s+)?", re.IGNORECASE)
_DANGLING = re.compile(
    # One character a turn and no second way to take a space: "+" inside of "+" took exponential time.
    r"(?<![\s,;:\-–])"
    r"(?:[\s,;:\-–]|\b(?:in|on|at|from|of|during|near|around|between|since|to|for|and|the|or|but))+$",
    re.IGNORECASE,
)


def _negations(text: str, spans: Sequence[Span]) -> dict[Span, Span]:
    """The span of each negated cue → that span extended over the negation before it."""
    out: dict[Span, Span] = {}
    previous: Span | None = None
    for a, b in sorted(set(spans)):
        negation = _NOT.search(text[max(0, a - 60) : a])
        if negation:
            out[a, b] = (max(0, a - 60) + negation.start(), b)
        elif previous in out and previous is not None and _AGAIN.fullmatch(text[previous[1] : a]):
            out[a, b] = (previous[1], b)
        previous = (a, b)
    return out


def _rest(text: str, remove: Sequence[Span], keep: Sequence[Span]) -> str:
    """The text without the spans `remove`, except where `keep` overlaps them; unchanged if no word is left.

    Spaces and punctuation are tidied.
    """
    removed = bytearray(len(text))
    for a, b in remove:
        removed[a:b] = b"\1" * (b - a)
    for a, b in keep:
        removed[a:b] = b"\0" * (b - a)
    if not any(removed):
        return text
    left = "".join(" " if g else c for c, g in zip(text, removed, strict=True))
    left = re.sub(r"\(\s*\)|\[\s*\]|\"\s*\"", " ", " ".join(left.split()))
    left = re.sub(r"(?<!\s)\s+([,.;:?!])", r"\1", left)
    end = re.search(r"(?<![?!.\s])[?!.\s]*$", left)
    tail = end[0].strip() if end else ""
    body = left[: end.start()] if end else left
    last = max((b for _, b in remove), default=0)
    if not re.search(r"\w", text[last:]):  # a cue ended the query: do not leave "photos from"
        body = _DANGLING.sub("", body)
    body = re.sub(r"([,;:])(?:\s*[,;:])+", r"\1", body).strip(" ,;:-–")
    return (body + tail) if re.search(r"\w", body) else text


def _cube(when: Interval, where: Cube | None) -> Cube:
    if where is None:
        return Cube(when[0], when[1])
    return replace(where, start=when[0], end=when[1])


def _cubes(times: tuple[TimeCue, ...], places: tuple[PlaceCue, ...]) -> tuple[Cube, ...]:
    if not times and not places:
        return ()
    boxes: list[Cube | None] = list(dict.fromkeys(box for p in places for box in p.boxes)) or [None]
    spans: list[Interval] = list(merged(times)) or [(None, None)]
    # Latest first, so that the limit drops the oldest.
    crossed = [_cube(when, where) for when in reversed(spans) for where in boxes]
    return tuple(reversed(crossed[:MAX_CUBES]))


@cache
def _home_pattern() -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + pattern(tables().places.home) + r")(?!\w)", re.IGNORECASE)


def _at_home(text: str, home: Cube | None) -> tuple[PlaceCue, ...]:
    """The cue of "at home" in a text, if the album's home is known."""
    match = _home_pattern().search(text) if home else None
    if not match or home is None:
        return ()
    return (
        PlaceCue(
            text=match[0],
            name="home",
            place=None,
            boxes=(home,),
            span=match.span(),
            kind="home",
            photos=None,
            confidence=tables().trust["place"],
        ),
    )


def parse(
    query: str,
    now: datetime,
    gazetteer: Gazetteer | None,
    album_extent: tuple[int, int] | None = None,
    near: Near | None = None,
    home: Callable[[], Cube | None] | None = None,
    southern: bool = False,
) -> Cues:
    """Reads the cues of a query, from its first MAX_QUERY characters. No text raises an error.

    `now`: the user's wall clock (its zone, if any, is not used: album times are wall times).
    `album_extent`: ms of the first and last photo, both included; without it a month with no year means the
    latest one. `near(place)`: the number of the album's photos in the place's boxes; it decides which Paris
    is meant, and whether a doubtful word is a place at all. `home()`: the box of the album's home, or None
    (home.py). `southern`: seasons are those of the southern hemisphere.
    """
    written = query[:MAX_QUERY]
    reading = translated(written, now.year, gazetteer)
    text = reading.text if reading else written
    dated = find_times(text, TimeContext(now, album_extent, southern))
    times, spans = dated.cues, [t.span for t in dated.cues]
    anchors = read_anchors(text, spans)
    places = _at_home(text, home()) if home and _home_pattern().search(text) else ()
    places += find_places(text, [*spans, *(p.span for p in places)], gazetteer, near) if gazetteer else ()
    negated = _negations(text, [*spans, *(p.span for p in places)])
    draft = Cues(
        times=tuple(t for t in times if t.span not in negated),
        places=tuple(p for p in places if p.span not in negated),
        negated_times=tuple(t for t in times if t.span in negated),
        negated_places=tuple(p for p in places if p.span in negated),
        recurring=find_recurring(text, [t.span for t in times if t.kind != "today"]),
        anchors=anchors,
        query=text,
        extent=album_extent,
        keep=tuple(k for k in dated.keep if not any(a <= k[0] < b for a, b in negated)),
    )
    return _assembled(_as_written(draft, written, reading, negated) if reading else draft)


def _as_written(cues: Cues, written: str, reading: Reading, negated: Mapping[Span, Span]) -> Cues:
    """The cues of a query that was read in English, with their texts and spans in the query as written.

    A negated cue's span takes in the negation, which `_assembled` finds in English alone.
    """

    def moved(cue: _Said) -> _Said:
        a, b = reading.original(negated.get(cue.span, cue.span))
        return replace(cue, text=written[a:b], span=(a, b))

    return replace(
        cues,
        times=tuple(map(moved, cues.times)),
        places=tuple(map(moved, cues.places)),
        negated_times=tuple(map(moved, cues.negated_times)),
        negated_places=tuple(map(moved, cues.negated_places)),
        recurring=tuple(map(moved, cues.recurring)),
        anchors=tuple(map(moved, cues.anchors)),
        query=written,
        keep=tuple(map(reading.original, cues.keep)),
    )


def with_quotes(
    cues: Cues,
    time: str,
    place: str,
    context: TimeContext,
    gazetteer: Gazetteer | None,
    near: Near | None = None,
) -> Cues:
    """Adds the time and the place that a language model quoted from the query, where the rules read none.

    `time`, `place`: the quotes, "" if there is none. The rules read each quote as if "in" came before it. A
    quote that is not in the query is dropped, so that the model cannot invent one. The quoted words stay in
    `rest`, since the model may have misread them.
    """
    time_at, place_at = cues.query.find(time) if time else -1, cues.query.find(place) if place else -1
    times, places = cues.times, cues.places
    if time_at >= 0 and not cues.times and not cues.negated_times:
        span = (time_at, time_at + len(time))
        times = tuple(
            replace(t, text=time, span=span) for t in find_times(f"in {time.lower()}", context).cues
        )
    if place_at >= 0 and gazetteer and not cues.places and not cues.negated_places:
        span = (place_at, place_at + len(place))
        places = tuple(
            replace(p, text=place, span=span)
            for p in find_places(f"in {place.title()}", [], gazetteer, near)[:1]
        )
    if times == cues.times and places == cues.places:
        return cues
    added = [t.span for t in times if t not in cues.times] + [p.span for p in places if p not in cues.places]
    return _assembled(replace(cues, times=times, places=places, keep=(*cues.keep, *added)))


def resolve(cues: Cues, find: Find) -> Cues:
    """Turns the anchors whose event `find` knows into time cues; the words of the others stay in the text.

    `find`: from a phrase to the event's intervals, () if unsure.
    """
    resolved = {anchor: cues_of(anchor, events) for anchor in cues.anchors if (events := find(anchor.phrase))}
    if not resolved:
        return cues
    times = (*cues.times, *(cue for anchored in resolved.values() for cue in anchored))
    # A place within an anchor's words is the event's, not the photo's.
    places = tuple(p for p in cues.places if not any(a.span[0] <= p.span[0] < a.span[1] for a in resolved))
    return _assembled(
        replace(cues, times=times, places=places, anchors=tuple(a for a in cues.anchors if a not in resolved))
    )


def _assembled(cues: Cues) -> Cues:
    """Computes `cubes` and `rest` from the cues.

    A place where the album has no photo makes no cube. Its name stays in `rest`, and so does a time outside
    the album's extent: a memory may mention them.
    """
    negated = _negations(cues.query, [c.span for c in (*cues.times, *cues.places, *cues.negated)])
    searchable = tuple(p for p in cues.places if p.photos != 0)
    remove = [
        *(t.span for t in cues.times if _in_extent(t, cues.extent)),
        *(p.span for p in searchable),
        *negated.values(),
        *(cue.span for cue in cues.negated),
    ]
    return replace(cues, cubes=_cubes(cues.times, searchable), rest=_rest(cues.query, remove, cues.keep))


def _in_extent(cue: TimeCue, extent: tuple[int, int] | None) -> bool:
    return (
        extent is None
        or cue.kind in DEICTIC
        or ((cue.end is None or cue.end >= extent[0]) and (cue.start is None or cue.start <= extent[1]))
    )
