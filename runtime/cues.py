"""Reads the time and the place out of a query and makes the cubes that layer 1 searches (paper section 3.2, layer 1).

Deterministic rules, at most 10 ms a query, no network, no model: `cues_time` knows dates, `cues_place` knows places, this file joins them.
What was not understood stays in `rest`; a query that names neither time nor place has no cubes (the paper's "N/A": the whole tree).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from gamer.index.records import Cube

from .cues_calendar import Interval, TimeContext
from .cues_place import PlaceCue, find_places
from .cues_time import TimeCue, find_times, merged
from .gazetteer import Gazetteer, GazetteerError, Place

MAX_QUERY = 2_000
MAX_CUBES = 40

CueError = GazetteerError


@dataclass(frozen=True)
class Cues:
    """What a query says about when and where.

    `times`, `places`: the cues that narrow the search; `negated_times`, `negated_places`: those to leave out ("not in Paris").
    `cubes`: times × places, at most MAX_CUBES; time-only or place-only when the query names one; empty when it names neither.
    `rest`: the query without the understood words, never empty unless the query is. Holiday names stay in it: "Christmas" is seen, too.
    """

    times: tuple[TimeCue, ...] = ()
    places: tuple[PlaceCue, ...] = ()
    cubes: tuple[Cube, ...] = ()
    rest: str = ""
    negated_times: tuple[TimeCue, ...] = ()
    negated_places: tuple[PlaceCue, ...] = ()

    @property
    def negated(self) -> tuple[TimeCue | PlaceCue, ...]:
        return (*self.negated_times, *self.negated_places)


_NOT = re.compile(
    r"(?:,\s*)?\b(?:(?:but\s+)?(?:not|never)(?:\s+(?:from|in|at|taken\s+in|the\s+ones?\s+(?:from|in)))?|(?:all\s+)?except(?:ing)?(?:\s+for)?"
    r"(?:\s+(?:those|the\s+ones?))?|excluding|other\s+than|apart\s+from|anywhere\s+but|everywhere\s+but|but\s+not)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_AGAIN = re.compile(r"\s*,?\s*(?:or|nor)\s+(?:in\s+|from\s+|at\s+)?", re.IGNORECASE)
_DANGLING = re.compile(r"(?:[\s,;:\-–]+|\b(?:in|on|at|from|of|during|near|around|between|since|to|for|and|the|or|but)\s*)+$", re.IGNORECASE)


def _negations(text: str, spans: Sequence[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, int]]:
    """Cue span → span grown over the negation before it, for each negated cue."""
    out: dict[tuple[int, int], tuple[int, int]] = {}
    before: tuple[int, int] | None = None
    for a, b in sorted(set(spans)):
        found = _NOT.search(text[max(0, a - 60) : a])
        if found:
            out[a, b] = (max(0, a - 60) + found.start(), b)
        elif before in out and before is not None and _AGAIN.fullmatch(text[before[1] : a]):
            out[a, b] = (before[1], b)
        before = (a, b)
    return out


def _rest(text: str, remove: Sequence[tuple[int, int]], keep: Sequence[tuple[int, int]]) -> str:
    """The text without the removed spans (but with the kept ones), spaces and punctuation tidied; the whole text if nothing is left."""
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
    boxes: list[Cube | None] = list(dict.fromkeys(p.box for p in places)) or [None]
    spans: list[Interval] = list(merged(times)) or [(None, None)]
    crossed = [_cube(when, where) for when in reversed(spans) for where in boxes]  # latest first, so that the cap drops the oldest
    return tuple(reversed(crossed[:MAX_CUBES]))


def parse(
    query: str,
    now: datetime,
    gazetteer: Gazetteer | None,
    album_extent: tuple[int, int] | None = None,
    near: Callable[[Place], int] | None = None,
) -> Cues:
    """Read a query. Raises on no text; reads its first MAX_QUERY characters.

    `now`: the person's wall clock (its zone, if any, is not used: album times are wall times). `album_extent`: ms of the first and last
    photo, both included; without it a month with no year means the latest one. `near(place)`: how many of the album's photos lie in the
    place's box; it settles which Paris is meant, and whether a doubtful word is a place at all.
    """
    text = query[:MAX_QUERY]
    context = TimeContext(now, album_extent)
    times, keep = find_times(text, context)
    places = find_places(text, [t.span for t in times], gazetteer, near) if gazetteer else ()
    negated = _negations(text, [*(t.span for t in times), *(p.span for p in places)])
    yes_times, yes_places = tuple(t for t in times if t.span not in negated), tuple(p for p in places if p.span not in negated)
    kept = [k for k in keep if not any(a <= k[0] < b for a, b in negated)]
    remove = [*(t.span for t in yes_times), *(p.span for p in yes_places), *negated.values()]
    return Cues(
        times=yes_times,
        places=yes_places,
        cubes=_cubes(yes_times, yes_places),
        rest=_rest(text, remove, kept),
        negated_times=tuple(t for t in times if t.span in negated),
        negated_places=tuple(p for p in places if p.span in negated),
    )
