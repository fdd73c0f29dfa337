"""Reads the time and the place out of a query and makes the cubes that layer 1 searches (paper section 3.2,
layer 1).

Deterministic rules, at most 10 ms a query, no network, no model: `cues_time` knows dates, `cues_place` knows
places, this file joins them. What was not understood stays in `rest`; a query that names neither time nor
place has no cubes (the paper's "N/A": the whole tree).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from gamer.index.records import Cube

from ..bundle.gazetteer import Gazetteer, GazetteerError
from .anchors import Anchor, Find, cues_of, read_anchors
from .dates import Interval, TimeContext
from .places import Near, PlaceCue, find_places
from .recurring import RecurringCue, find_recurring
from .tables import pattern, tables
from .times import DEICTIC, TimeCue, find_times, merged

MAX_QUERY = 2_000
MAX_CUBES = 40
Span = tuple[int, int]

CueError = GazetteerError


@dataclass(frozen=True)
class Cues:
    """What a query says about when and where.

    `times`, `places`: the cues that narrow the search; `negated_times`, `negated_places`: those to leave out
    ("not in Paris"). `recurring`: evidence that no cube holds ("at night", "on Sundays"). `anchors`: events
    that a time is counted from, until `resolve`. `cubes`: times × places, at most MAX_CUBES; time-only or
    place-only when the query names one; empty when it names neither. `rest`: the query without the understood
    words, never empty unless the query is. Holiday names stay in it ("Christmas" is seen, too), and places
    where the album has no photo. `query`: what was read, at most MAX_QUERY characters. `extent`: the album's,
    in ms.
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
_AGAIN = re.compile(r"\s*,?\s*(?:or|nor)\s+(?:in\s+|from\s+|at\s+)?", re.IGNORECASE)
_DANGLING = re.compile(
    r"(?:[\s,;:\-–]+|\b(?:in|on|at|from|of|during|near|around|between|since|to|for|and|the|or|but)\s*)+$",
    re.IGNORECASE,
)


def _negations(text: str, spans: Sequence[Span]) -> dict[Span, Span]:
    """Cue span → span grown over the negation before it, for each negated cue."""
    out: dict[Span, Span] = {}
    before: Span | None = None
    for a, b in sorted(set(spans)):
        found = _NOT.search(text[max(0, a - 60) : a])
        if found:
            out[a, b] = (max(0, a - 60) + found.start(), b)
        elif before in out and before is not None and _AGAIN.fullmatch(text[before[1] : a]):
            out[a, b] = (before[1], b)
        before = (a, b)
    return out


def _rest(text: str, remove: Sequence[Span], keep: Sequence[Span]) -> str:
    """The text without the removed spans (but with the kept ones), spaces and punctuation tidied; the whole
    text if nothing is left.
    """
    gone = bytearray(len(text))
    for a, b in remove:
        gone[a:b] = b"\1" * (b - a)
    for a, b in keep:
        gone[a:b] = b"\0" * (b - a)
    if not any(gone):
        return text
    left = "".join(" " if g else c for c, g in zip(text, gone, strict=True))
    left = re.sub(r"\(\s*\)|\[\s*\]|\"\s*\"", " ", " ".join(left.split()))
    left = re.sub(r"\s+([,.;:?!])", r"\1", left)
    end = re.search(r"[?!.\s]*$", left)
    tail = end[0].strip() if end else ""
    body = left[: end.start()] if end else left
    last = max((b for _, b in remove), default=0)
    if not re.search(r"\w", text[last:]):  # the cue closed the query: do not leave "photos from"
        body = _DANGLING.sub("", body)
    body = re.sub(r"([,;:])(?:\s*[,;:])+", r"\1", body).strip(" ,;:-–")
    return (body + tail) if re.search(r"\w", body) else text


def _cube(when: Interval, where: Cube | None) -> Cube:
    if where is None:
        return Cube(when[0], when[1])
    return Cube(when[0], when[1], where.south, where.north, where.west, where.east)


def _cubes(times: tuple[TimeCue, ...], places: tuple[PlaceCue, ...]) -> tuple[Cube, ...]:
    if not times and not places:
        return ()
    boxes: list[Cube | None] = list(dict.fromkeys(box for p in places for box in p.boxes)) or [None]
    spans: list[Interval] = list(merged(times)) or [(None, None)]
    crossed = [
        _cube(when, where) for when in reversed(spans) for where in boxes
    ]  # latest first, so that the cap drops the oldest
    return tuple(reversed(crossed[:MAX_CUBES]))


@cache
def _home_pattern() -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + pattern(tables().places.home) + r")(?!\w)", re.IGNORECASE)


def _at_home(text: str, home: Cube | None) -> tuple[PlaceCue, ...]:
    """ "at home", once the album has told where that is."""
    found = _home_pattern().search(text) if home else None
    if not found or home is None:
        return ()
    return (
        PlaceCue(
            text=found[0],
            name="home",
            place=None,
            boxes=(home,),
            span=found.span(),
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
    """Read a query. Raises on no text; reads its first MAX_QUERY characters.

    `now`: the person's wall clock (its zone, if any, is not used: album times are wall times).
    `album_extent`: ms of the first and last photo, both included; without it a month with no year means the
    latest one. `near(place)`: how many of the album's photos lie in the place's boxes; it settles which Paris
    is meant, and whether a doubtful word is a place at all. `home()`: where the album's nights are.
    `southern`: seasons are those of the southern hemisphere.
    """
    text = query[:MAX_QUERY]
    found = find_times(text, TimeContext(now, album_extent, southern))
    times, spans = found.cues, [t.span for t in found.cues]
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
        keep=tuple(k for k in found.keep if not any(a <= k[0] < b for a, b in negated)),
    )
    return _assembled(draft)


def with_quotes(
    cues: Cues,
    time: str,
    place: str,
    context: TimeContext,
    gazetteer: Gazetteer | None,
    near: Near | None = None,
) -> Cues:
    """The cues with what a language model quoted from the query as its time and its place ("" for none),
    where the rules saw nothing.

    What a quote means stays the rules' business, read as if "in" stood before it; a quote that the query does
    not hold is dropped, so that nothing can be invented. The words of such cues stay in the text: the model
    may have misread them.
    """
    when, where = cues.query.find(time) if time else -1, cues.query.find(place) if place else -1
    times, places = cues.times, cues.places
    if when >= 0 and not cues.times and not cues.negated_times:
        span = (when, when + len(time))
        times = tuple(
            replace(t, text=time, span=span) for t in find_times(f"in {time.lower()}", context).cues
        )
    if where >= 0 and gazetteer and not cues.places and not cues.negated_places:
        span = (where, where + len(place))
        places = tuple(
            replace(p, text=place, span=span)
            for p in find_places(f"in {place.title()}", [], gazetteer, near)[:1]
        )
    if times == cues.times and places == cues.places:
        return cues
    added = [t.span for t in times if t not in cues.times] + [p.span for p in places if p not in cues.places]
    return _assembled(replace(cues, times=times, places=places, keep=(*cues.keep, *added)))


def resolve(cues: Cues, find: Find) -> Cues:
    """The cues with every anchor that `find` (phrase → the event's intervals, () when unsure) knows turned
    into times; the others stay text.
    """
    found = {anchor: cues_of(anchor, events) for anchor in cues.anchors if (events := find(anchor.phrase))}
    if not found:
        return cues
    times = (*cues.times, *(cue for made in found.values() for cue in made))
    places = tuple(
        p for p in cues.places if not any(a.span[0] <= p.span[0] < a.span[1] for a in found)
    )  # the event's place is not the photo's
    return _assembled(
        replace(cues, times=times, places=places, anchors=tuple(a for a in cues.anchors if a not in found))
    )


def _assembled(cues: Cues) -> Cues:
    """Cubes and rest from the cues. A place where the album has no photo makes no cube; its name, and a time
    that the album does not reach, stay in the text, where a memory may know them."""
    negated = _negations(cues.query, [c.span for c in (*cues.times, *cues.places, *cues.negated)])
    cutting = tuple(p for p in cues.places if p.photos != 0)
    remove = [
        *(t.span for t in cues.times if _reached(t, cues.extent)),
        *(p.span for p in cutting),
        *negated.values(),
    ]
    return replace(cues, cubes=_cubes(cues.times, cutting), rest=_rest(cues.query, remove, cues.keep))


def _reached(cue: TimeCue, extent: tuple[int, int] | None) -> bool:
    return (
        extent is None
        or cue.kind in DEICTIC
        or ((cue.end is None or cue.end >= extent[0]) and (cue.start is None or cue.start <= extent[1]))
    )
