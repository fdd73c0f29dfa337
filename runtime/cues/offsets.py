"""Offsets from something that has a time: "two days after", "the weekend before", "the morning of".

All arithmetic is on days.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .calendar_days import DAY_MS, EPOCH, Interval, daypart, monday_of, ms_of
from .tables import tables
from .time_words import number

REACH = 60  # characters before an expression in which an offset may begin


@dataclass(frozen=True)
class Offset:
    """`count` units (0: a few) before (`way` -1) or after (1) something, or a part of it (0).

    `counted`: whether the words include a number. `unit`: day, week, weekend, month, year, a weekday or a
    part of the day. `span`: characters of the query.
    """

    count: int
    counted: bool
    unit: str
    way: int
    span: tuple[int, int]


@cache
def offset_pattern() -> str:
    """The regular expression of an offset up to its "before", "after" or "following", for dates and events.

    Groups: n, unit, way.
    """
    t = tables()
    numbers = "|".join(sorted((re.escape(w) for w in t.numbers), key=lambda w: -len(w)))
    units = "|".join(
        (
            *(f"{u}s?" for u in ("day", "week", "weekend", "month", "year")),
            *t.dayparts,
            *(w for w in t.weekdays if len(w) > 4),
        )
    )
    return (
        rf"(?<![a-z0-9])(?:(?:on|in|during|from)\s+)?(?:the\s+)?(?:(?P<n>[0-9]{{1,2}}|{numbers}|a\s+few|several)\s+)?"
        rf"(?P<unit>{units})\s+(?P<way>before|after|following)"
    )


@cache
def _offset_at_end() -> re.Pattern[str]:
    return re.compile(offset_pattern() + r"\s+(?:the\s+)?$")


def read_offset(flat: str, at: int) -> Offset | None:
    """The offset whose words end at character `at` of the flattened text, or None."""
    begin = max(0, at - REACH)
    m = _offset_at_end().search(flat[begin:at])
    return offset_of(m, begin) if m else None


def offset_of(m: re.Match[str], shift: int = 0) -> Offset:
    """The offset of a match of `words`; `shift`: where the searched text begins in the query."""
    text = " ".join((m["n"] or "").split())
    few = text in ("a few", "several")
    unit = m["unit"] if m["unit"] in tables().weekdays else m["unit"].removesuffix("s")
    return Offset(
        0 if few else number(text or "1"),
        bool(text),
        unit,
        -1 if m["way"] == "before" else 1,
        (m.start() + shift, m.end() + shift),
    )


def shifted(span: Interval, offset: Offset) -> Interval:
    """The interval that lies `offset` before or after `span`; an open `span` is returned as it is.

    A single week, month or year is the one directly adjacent to `span`.
    """
    if span[0] is None or span[1] is None:
        return span
    first, last = span[0] // DAY_MS + EPOCH, span[1] // DAY_MS + EPOCH
    n, way = offset.count, offset.way
    edge = last if way > 0 else first
    unit = offset.unit
    if unit in tables().dayparts:  # "the night before", "the morning after"
        return daypart(edge + way * max(n, 1), unit)[0]
    if unit in tables().weekdays:
        return ms_of((_weekday_from(edge, tables().weekdays[unit], way),) * 2)
    if unit == "weekend":
        saturday = (
            monday_of(first - 1) - 2 if way < 0 else monday_of(last) + 5 + (0 if (last - 1) % 7 < 5 else 7)
        )
        return ms_of((saturday + 7 * way * (max(n, 1) - 1), saturday + 1 + 7 * way * (max(n, 1) - 1)))
    length = {"day": 1, "week": 7, "month": 30, "year": 365}[unit]
    if n == 0:  # a few: two to six
        near, far = edge + way * 2 * length, edge + way * 6 * length
        return ms_of((min(near, far), max(near, far)))
    if unit == "day":
        return ms_of((edge + way * n, edge + way * n))
    if not offset.counted or n == 1:
        return ms_of((edge + 1, edge + length) if way > 0 else (edge - length, edge - 1))
    middle, reach = edge + way * n * length, length // 2
    return ms_of((middle - reach, middle + reach))


def _weekday_from(day: int, weekday: int, way: int) -> int:
    """The next such weekday after a day, or for a negative `way` the last before it."""
    step = (weekday - (day - 1)) % 7 if way > 0 else ((day - 1) - weekday) % 7
    return day + way * (step or 7)
