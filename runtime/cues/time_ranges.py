"""Joins time expressions into cues: ranges, bounds ("since May"), offsets ("two days after Christmas").

Rules only, no model (paper section 3.2, layer 1: the time side of the cube). Times are ms of wall time stored
as if UTC (as those of album photos without a zone); intervals include both ends, so a day ends 1 ms before
midnight. Spans are [start, end) character offsets into the query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from .calendar_days import DAY_MS, MAX_INTERVALS, Interval, TimeContext, ms_of, year_of
from .offsets import Offset, read_offset, shifted
from .rules import Atom, atoms, flatten
from .tables import tables

DEICTIC = frozenset({"today", "relative", "weekday"})  # kinds that are relative to the present day


@dataclass(frozen=True)
class TimeCue:
    """One interval that the query names.

    A month without a year yields several cues with the same span, one per year. `start`, `end`: ms of wall
    time as UTC, both included, None when open ("before 2010"). `span`: the cue's characters in the query.
    `kind`: day, span (several days or months), month, season, year, decade, yearly (no year given), holiday,
    relative ("last summer"), today ("this morning"), weekday ("last Friday"), open ("since 2010"), last time,
    anchor ("the day after the wedding"). `confidence`: the share of the photos meant by such words that lie
    inside, on the development data; the ranking takes it as evidence and does not filter by it.
    """

    text: str
    start: int | None
    end: int | None
    span: tuple[int, int]
    kind: str = "day"
    confidence: float = 1.0


@dataclass(frozen=True)
class TimeReading:
    """The time cues of a text, and the spans inside them that stay in the text (holiday names)."""

    cues: tuple[TimeCue, ...]
    keep: tuple[tuple[int, int], ...]


_JOIN = re.compile(r"\s*(?:(?:,\s*)?(?:to|until|till|til|through|thru|and|up to)\b|-)\s*")
_OPEN = re.compile(
    r"\b(since|after|before|until|till|prior to|by|from|(?:no )?(?:old|new)er than)\s+(?:the\s+)?$"
)
_MEANS = {
    "prior to": "before",
    "older than": "before",
    "newer than": "after",
    "no older than": "since",
    "no newer than": "until",
}
_ONWARD = re.compile(r"\s+(?:onwards?|on|until now|to now|up to now|until today|and later)\b")
_LEAD = re.compile(r"^(?:from|since|after|before|until|till|by|(?:no )?(?:old|new)er than)\s+")
_BETWEEN = re.compile(r"\bbetween\s+(?:the\s+)?$")
_FROM = re.compile(r"\bfrom\s+$")
_THIS = re.compile(r"\bthis\b")
_NEXT = re.compile(r",?\s+(?:the\s+)?")
_WEEK_OF = re.compile(r"(?:(?:in|on|during|from)\s+)?the\s+(?P<unit>week|weekend)\s+(?:of\s+)?$")


def _in_year(atom: Atom, year: int) -> Interval:
    assert atom.yearly is not None
    return ms_of(atom.yearly(year))


def _joined(a: Atom, b: Atom, ctx: TimeContext) -> tuple[Interval, ...]:
    """The intervals from the start of `a` to the end of `b`; () if they make no range.

    A missing year is taken from the other expression.
    """
    pairs: list[tuple[Interval, Interval]] = []
    try:
        if a.fixed and b.fixed:
            pairs = [(a.fixed[0], b.fixed[-1])]
        elif b.fixed:
            last = b.fixed[-1]
            y = year_of(last[1] or 0)
            first = _in_year(a, y)
            pairs = [(first if (first[0] or 0) <= (last[0] or 0) else _in_year(a, y - 1), last)]
        elif a.fixed:
            first = a.fixed[0]
            y = year_of(first[0] or 0)
            last = _in_year(b, y)
            pairs = [(first, last if (last[1] or 0) >= (first[1] or 0) else _in_year(b, y + 1))]
        else:
            for y in ctx.years():
                first, last = _in_year(a, y), _in_year(b, y)
                pairs.append((first, last if (last[1] or 0) >= (first[1] or 0) else _in_year(b, y + 1)))
    except (ValueError, OverflowError):
        return ()
    spans = tuple((first[0], last[1]) for first, last in pairs if (first[0] or 0) <= (last[1] or 0))
    return _covered(spans, ctx) if not a.fixed and not b.fixed else spans


def _covered(spans: tuple[Interval, ...], ctx: TimeContext) -> tuple[Interval, ...]:
    """The intervals that overlap the album's extent, at most the latest MAX_INTERVALS.

    The latest that has begun, if the extent is unknown or no interval overlaps it.
    """
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
            spans.append(_in_year(atom, y))
        except (ValueError, OverflowError):
            continue  # 29 February of a common year
    if not spans:
        for y in range(ctx.now.year, ctx.now.year - 9, -1):
            try:
                return (_in_year(atom, y),)
            except (ValueError, OverflowError):
                continue
        return ()
    return _covered(tuple(spans), ctx)


def _bounded(spans: tuple[Interval, ...], word: str, ctx: TimeContext) -> tuple[Interval, ...]:
    first, last = spans[0], spans[-1]
    if word in ("since", "from"):
        return ((first[0], ctx.now_ms if (first[0] or 0) <= ctx.now_ms else None),)
    if word == "after":
        return ((None if last[1] is None else last[1] + 1, None),)
    if word in ("until", "till", "by"):
        return ((None, last[1]),)
    return ((None, None if first[0] is None else first[0] - 1),)


@dataclass(frozen=True)
class _Reading:
    """One atom, or two joined into a range, with the words around it; `used`: the number of atoms."""

    span: tuple[int, int]
    spans: tuple[Interval, ...]
    kind: str
    keep: tuple[int, int] | None = None
    used: int = 1


def find_times(text: str, ctx: TimeContext) -> TimeReading:
    """The time cues of a text, and the spans inside them that should stay in the text."""
    expressions = atoms(text, ctx)
    if not expressions:
        return TimeReading((), ())
    flat = flatten(text)
    reads: list[_Reading] = []
    i = 0
    while i < len(expressions):
        following = expressions[i + 1] if i + 1 < len(expressions) else None
        read = (_range(flat, expressions[i], following, ctx) if following else None) or _single(
            flat, expressions[i], ctx
        )
        reads.append(read)
        i += read.used
    if ctx.extent is not None:
        reads = [r for r in reads if not _of_thing(flat, r, ctx.extent[0])]
    reads = _join_weekdays(flat, reads)
    if any(r.kind in ("day", "span") for r in reads):
        # "this weekend, as said on 20260703": the date is that of the message, and so the photo's; words such
        # as "this weekend" are relative to it and not to the present day.
        reads = [r for r in reads if r.kind not in DEICTIC]
    if _reported().search(flat):  # "did he ask her for advice this week" means the week when he asked
        reads = [r for r in reads if r.kind not in DEICTIC or not _THIS.search(flat[slice(*r.span)])]
    cues = [
        TimeCue(text[r.span[0] : r.span[1]], s, e, r.span, r.kind, _trust()[r.kind])
        for r in reads
        for s, e in r.spans
    ]
    return TimeReading(tuple(cues), tuple(r.keep for r in reads if r.keep))


def _of_thing(flat: str, read: _Reading, first: int) -> bool:
    """Whether a time is that of a thing, and ended before the first photo: "the castle built before 1950"."""
    ended = all(end is not None and end < first for _, end in read.spans)
    return ended and _made().search(flat[max(0, read.span[0] - 60) : read.span[0]]) is not None


def _join_weekdays(flat: str, reads: list[_Reading]) -> list[_Reading]:
    """Joins a weekday with the date that follows it: "on Sunday, July 4th"."""
    out: list[_Reading] = []
    for read in reads:
        if out and out[-1].kind == "weekday" and _NEXT.fullmatch(flat[out[-1].span[1] : read.span[0]]):
            read = replace(read, span=(out.pop().span[0], read.span[1]))
        out.append(read)
    return out


@cache
def _reported() -> re.Pattern[str]:
    return re.compile(r"\b(?:" + tables().expand("<<reporting>>") + ")")


@cache
def _made() -> re.Pattern[str]:
    return re.compile(tables().expand("<<making>>") + "$")


@cache
def _trust() -> dict[str, float]:
    return dict(tables().trust)


def _range(flat: str, atom: Atom, other: Atom, ctx: TimeContext) -> _Reading | None:
    """Reads "from March to May" or "between 2008 and 2010"; None if the words between do not make a range."""
    a, b = atom.span
    gap = _JOIN.fullmatch(flat[b : other.span[0]])
    lead = _BETWEEN.search(flat[:a]) if gap else None
    spans = _joined(atom, other, ctx) if gap and (lead or "and" not in gap[0]) else ()
    if not spans:
        return None
    start = lead.start() if lead else _including_from(flat, a)
    return _Reading((start, other.span[1]), spans, "span", used=2)


def _including_from(flat: str, a: int) -> int:
    match = _FROM.search(flat[:a])
    return match.start() if match else a


def _single(flat: str, atom: Atom, ctx: TimeContext) -> _Reading:
    a, b = atom.span
    exact = atom.exact or atom
    offset = read_offset(flat, a)
    if offset and (spans := exact.fixed or _every_year(exact, ctx)):
        return _offset_read(offset, b, spans)
    week = _WEEK_OF.search(flat[max(0, a - 40) : a]) if atom.kind == "day" and atom.fixed else None
    if week:
        # "the week of" a date: the date is the first day of the week, or a day within it.
        before, after = (1, 6) if week["unit"] == "week" else (2, 2)
        spans = tuple(((s or 0) - before * DAY_MS, (e or 0) + after * DAY_MS) for s, e in atom.fixed)
        return _Reading((max(0, a - 40) + week.start(), b), spans, "span")
    keep = atom.keep if atom.keep and not _OPEN.search(flat[:a]) else None
    return _with_bounds(flat, atom, atom.fixed or _every_year(atom, ctx), keep, ctx)


def _offset_read(offset: Offset, b: int, spans: tuple[Interval, ...]) -> _Reading:
    return _Reading((offset.span[0], b), tuple(shifted(s, offset) for s in spans), "span")


def _with_bounds(
    flat: str, atom: Atom, spans: tuple[Interval, ...], keep: tuple[int, int] | None, ctx: TimeContext
) -> _Reading:
    """Applies the words around an expression: "since", "before", "onwards"."""
    a, b = atom.span
    inner, outer = _LEAD.match(flat[a:b]), _OPEN.search(flat[:a])
    word = inner[0].strip() if inner else outer[1] if outer else ""
    onward = _ONWARD.match(flat[b:])
    if onward and spans and (word in ("from", "since", "") and flat[b:].strip()[:3] != "on "):
        return _Reading(
            (outer.start() if outer else a, b + onward.end()), _bounded(spans[:1], "since", ctx), "open", keep
        )
    compares = word.endswith("than")
    word = _MEANS.get(word, word)
    if not word or word == "from" or word == "by" or not spans:
        return _Reading((a, b), spans, atom.kind, keep)
    a = outer.start() if outer and not inner else a
    if atom.yearly and not compares and word in ("before", "after"):
        # "after Christmas" without a year: the two weeks after it
        exact = _every_year(atom.exact, ctx) if atom.exact else spans
        return _Reading((a, b), tuple(_next_to(s, word) for s in exact), "yearly", keep)
    return _Reading((a, b), _bounded(spans[-1:] if atom.yearly else spans, word, ctx), "open", keep)


def _next_to(span: Interval, word: str) -> Interval:
    start, end = span
    if word == "before":
        return (None if start is None else start - 14 * DAY_MS, None if start is None else start - 1)
    return (None if end is None else end + 1, None if end is None else end + 14 * DAY_MS)


def merged(times: tuple[TimeCue, ...]) -> tuple[Interval, ...]:
    """The cues as one list of intervals, at most the latest MAX_INTERVALS.

    The intervals of cues with different spans are intersected if they overlap ("May … 2012"), else united.
    """
    groups: dict[tuple[int, int], list[TimeCue]] = {}
    for t in times:
        groups.setdefault(t.span, []).append(t)
    result: list[Interval] = []
    for group in groups.values():
        spans: list[Interval] = [(t.start, t.end) for t in group]
        overlaps = [x for s in result for t in spans if (x := _intersection(s, t)) is not None]
        result = overlaps or result + spans
    return tuple(dict.fromkeys(result))[-MAX_INTERVALS:]


def _intersection(a: Interval, b: Interval) -> Interval | None:
    start = b[0] if a[0] is None else a[0] if b[0] is None else max(a[0], b[0])
    end = b[1] if a[1] is None else a[1] if b[1] is None else min(a[1], b[1])
    return None if start is not None and end is not None and start > end else (start, end)
