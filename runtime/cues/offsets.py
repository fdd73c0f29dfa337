"""Offsets from something that has a time: "two days after", "the weekend before", "the morning of".
Arithmetic on days only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .dates import DAY_MS, EPOCH, Interval, daypart, monday_of, ms_of
from .makers import number
from .tables import tables

REACH = 60  # characters before an expression in which an offset may begin


@dataclass(frozen=True)
class Offset:
    """`count` units (0: a few), `way` -1 before, 1 after, 0 of.

    `unit`: day, week, weekend, month, year, a weekday or a part of the day.
    """

    count: int
    counted: bool
    unit: str
    way: int
    span: tuple[int, int]


@cache
def words() -> str:
    """An offset up to and with its "before", "after", "of": one pattern for dates and events. Groups n, unit,
    way.
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
def _before_a_date() -> re.Pattern[str]:
    return re.compile(words() + r"\s+(?:the\s+)?$")


def read_offset(flat: str, at: int) -> Offset | None:
    """The offset whose words end at character `at` of the flat text, or None."""
    begin = max(0, at - REACH)
    m = _before_a_date().search(flat[begin:at])
    return offset_of(m, begin) if m else None


def offset_of(m: re.Match[str], shift: int = 0) -> Offset:
    """A match of `words` as an offset; `shift` is where the text that was searched begins."""
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
    """An interval moved away from the named one.

    One week or month without a number is the stretch that touches it.
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
    """The next such weekday after a day, or the last before it."""
    step = (weekday - (day - 1)) % 7 if way > 0 else ((day - 1) - weekday) % 7
    return day + way * (step or 7)
