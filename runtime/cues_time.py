"""Finds the words of a query that name a time, and turns them into intervals. Rules only: the same query and clock give the same answer.

Paper section 3.2, layer 1 (the time side of the cube). Knows English dates, seasons and holidays; knows no places, albums or models.
Times are milliseconds, wall clock stored as if UTC (as album photos without a zone are); intervals include both ends, so the last one of
a day is midnight minus 1 ms. Seasons are those of the northern hemisphere. Spans are [start, end) character offsets into the query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .cues_calendar import DAY_MS, EPOCH, MAX_INTERVALS, NUMBERS, Interval, TimeContext, monday_of, ms_of, year_of
from .cues_rules import Atom, Match, _int, atoms, flatten


@dataclass(frozen=True)
class TimeCue:
    """One interval that the query names. A month without a year yields several cues with the same span, one per year.

    `start`, `end`: ms, wall time as UTC, both included, None when open ("before 2010"). `span`: the cue's characters in the query.
    """

    text: str
    start: int | None
    end: int | None
    span: tuple[int, int]


_JOIN = re.compile(r"\s*(?:,?\s*(?:to|until|till|til|through|thru|and|up to)\b|-)\s*")
_OPEN = re.compile(r"\b(since|after|before|until|till|prior to|by|from)\s+(?:the\s+)?$")
_ONWARD = re.compile(r"\s+(?:onwards?|on|until now|to now|up to now|until today|and later)\b")
_LEAD = re.compile(r"^(?:from|since|after|before|until|till|by)\s+")


def _at(atom: Atom, year: int) -> Interval:
    assert atom.yearly is not None
    return ms_of(atom.yearly(year))


def _joined(a: Atom, b: Atom, ctx: TimeContext) -> tuple[Interval, ...]:
    """From the start of `a` to the end of `b`, a missing year taken from the other; () when that makes no range."""
    pairs: list[tuple[Interval, Interval]] = []
    try:
        if a.fixed and b.fixed:
            pairs = [(a.fixed[0], b.fixed[-1])]
        elif b.fixed:
            last = b.fixed[-1]
            y = year_of(last[1] or 0)
            first = _at(a, y)
            pairs = [(first if (first[0] or 0) <= (last[0] or 0) else _at(a, y - 1), last)]
        elif a.fixed:
            first = a.fixed[0]
            y = year_of(first[0] or 0)
            last = _at(b, y)
            pairs = [(first, last if (last[1] or 0) >= (first[1] or 0) else _at(b, y + 1))]
        else:
            for y in ctx.years():
                first, last = _at(a, y), _at(b, y)
                pairs.append((first, last if (last[1] or 0) >= (first[1] or 0) else _at(b, y + 1)))
    except (ValueError, OverflowError):
        return ()
    spans = tuple((first[0], last[1]) for first, last in pairs if (first[0] or 0) <= (last[1] or 0))
    return _covered(spans, ctx) if not a.fixed and not b.fixed else spans


def _covered(spans: tuple[Interval, ...], ctx: TimeContext) -> tuple[Interval, ...]:
    """Those of the yearly intervals that the album can hold; the latest that has begun when it is not known or holds none."""
    begun = tuple(s for s in spans if (s[0] or 0) <= ctx.now_ms) or spans[:1]
    if ctx.extent is None:
        return begun[-1:]
    low, high = ctx.extent
    inside = tuple(s for s in spans if (s[1] or 0) >= low and (s[0] or 0) <= high)
    return inside[-MAX_INTERVALS:] or begun[-1:]


def _every_year(atom: Atom, ctx: TimeContext) -> tuple[Interval, ...]:
    spans = []
    for y in ctx.years():
        try:
            spans.append(_at(atom, y))
        except (ValueError, OverflowError):
            continue  # 29 February
    if not spans:
        for y in range(ctx.now.year, ctx.now.year - 9, -1):
            try:
                return (_at(atom, y),)
            except (ValueError, OverflowError):
                continue
        return ()
    return _covered(tuple(spans), ctx)


def _bounded(spans: tuple[Interval, ...], word: str, ctx: TimeContext) -> tuple[Interval, ...]:
    first, last = spans[0], spans[-1]
    if word in ("since", "from"):
        return ((first[0], max(ctx.now_ms, (first[0] or 0))),)
    if word == "after":
        return ((None if last[1] is None else last[1] + 1, None),)
    if word in ("until", "till", "by"):
        return ((None, last[1]),)
    return ((None, None if first[0] is None else first[0] - 1),)


_OFFSET = re.compile(
    r"(?:(?:on|in|during|from)\s+)?(?:the\s+)?(?:(?P<n>[0-9]{1,2}|" + "|".join(w for w in NUMBERS if " " not in w) + r")\s+)?"
    r"(?P<unit>day|week|weekend|month)s?\s+(?P<way>before|after)\s+(?:the\s+)?$"
)


def _shifted(span: Interval, m: Match, ctx: TimeContext) -> Interval:
    """ "Two days after Christmas", "the weekend before Easter": an interval moved away from the named one."""
    if span[0] is None or span[1] is None:
        return span
    first, last = span[0] // DAY_MS + EPOCH, span[1] // DAY_MS + EPOCH
    n, sign = _int(m["n"] or "1"), 1 if m["way"] == "after" else -1
    edge = last if sign > 0 else first
    if m["unit"] == "weekend":
        saturday = monday_of(first - 1) - 2 if sign < 0 else monday_of(last) + 5 + (0 if (last - 1) % 7 < 5 else 7)
        return ms_of((saturday + 7 * sign * (n - 1), saturday + 1 + 7 * sign * (n - 1)))
    if m["unit"] == "day":
        return ms_of((edge + sign * n, edge + sign * n))
    length = 7 if m["unit"] == "week" else 30
    if m["n"] is None or n == 1:
        return ms_of((edge + 1, edge + length) if sign > 0 else (edge - length, edge - 1))
    middle = edge + sign * n * length
    return ms_of((middle - 3, middle + 3))


def find_times(text: str, ctx: TimeContext) -> tuple[tuple[TimeCue, ...], tuple[tuple[int, int], ...]]:
    """The time cues of a text, and the spans inside them that should stay in the text (holiday names)."""
    flat, found = flatten(text), atoms(text, ctx)
    cues: list[TimeCue] = []
    keep: list[tuple[int, int]] = []
    i = 0
    while i < len(found):
        atom, (a, b) = found[i], found[i].span
        spans: tuple[Interval, ...] = ()
        gap = _JOIN.fullmatch(flat[b : found[i + 1].span[0]]) if i + 1 < len(found) else None
        if gap and i + 1 < len(found):
            lead = re.search(r"\bbetween\s+(?:the\s+)?$", flat[:a])
            if lead or "and" not in gap[0]:
                spans = _joined(atom, found[i + 1], ctx)
            if spans:
                a, b = (lead.start() if lead else a), found[i + 1].span[1]
                a = _extend(flat, a, r"\bfrom\s+$")
                i += 1
        if not spans:
            spans = atom.fixed or _every_year(atom, ctx)
            keep += [atom.keep] if atom.keep and not _OPEN.search(flat[:a]) else []
            a, b, spans = _with_bounds(flat, a, b, spans, atom, ctx)
        cues += [TimeCue(text[a:b], s, e, (a, b)) for s, e in spans]
        i += 1
    return tuple(cues), tuple(keep)


def _extend(flat: str, a: int, pattern: str) -> int:
    found = re.search(pattern, flat[:a])
    return found.start() if found else a


def _with_bounds(flat: str, a: int, b: int, spans: tuple[Interval, ...], atom: Atom, ctx: TimeContext) -> tuple[int, int, tuple[Interval, ...]]:
    """Read the words around an expression: "since", "before", "two days after", "onwards"."""
    shift = _OFFSET.search(flat[max(0, a - 60) : a])
    if shift and spans:
        return max(0, a - 60) + shift.start(), b, tuple(_shifted(s, shift, ctx) for s in spans)
    inner, outer = _LEAD.match(flat[a:b]), _OPEN.search(flat[:a])
    word = inner[0].strip() if inner else outer[1] if outer else ""
    onward = _ONWARD.match(flat[b:])
    if onward and spans and (word in ("from", "since", "") and flat[b:].strip()[:3] != "on "):
        return (outer.start() if outer else a), b + onward.end(), _bounded(spans[:1], "since", ctx)
    word = "before" if word == "prior to" else word
    if not word or word == "from" or word == "by" or not spans:
        return a, b, spans
    a = outer.start() if outer and not inner else a
    if atom.yearly and word in ("before", "after"):  # "after Christmas", of whatever year: the two weeks next to it
        near = []
        for s, e in spans:
            near.append((None if e is None else e + 1, None if e is None else e + 14 * DAY_MS))
            if word == "before":
                near[-1] = (None if s is None else s - 14 * DAY_MS, None if s is None else s - 1)
        return a, b, tuple(near)
    if atom.yearly:
        return a, b, _bounded(spans[-1:], word, ctx)
    return a, b, _bounded(spans, word, ctx)


def merged(times: tuple[TimeCue, ...]) -> tuple[Interval, ...]:
    """The cues as one list of intervals: cues of different words are intersected where they meet ("May … 2012"), else united."""
    groups: dict[tuple[int, int], list[TimeCue]] = {}
    for t in times:
        groups.setdefault(t.span, []).append(t)
    result: list[Interval] = []
    for group in groups.values():
        spans: list[Interval] = [(t.start, t.end) for t in group]
        both = [x for s in result for t in spans if (x := _meet(s, t)) is not None]
        result = both or result + spans
    return tuple(dict.fromkeys(result))[-MAX_INTERVALS:]


def _meet(a: Interval, b: Interval) -> Interval | None:
    start = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    end = b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])
    return None if start is not None and end is not None and start > end else (start, end)
