"""Recurring times: "on Sundays", "at night", "at 5 pm", sunset.

They are evidence for the ranking and exclude no photo; their words stay in the text. A cube cannot express
them (three years have 156 Sundays), so a recurring cue is a predicate on a photo's time, for an int or a
numpy array. Times are ms of wall time stored as UTC.
"""

from __future__ import annotations

import functools
import operator
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from .calendar_days import DAY_MS
from .rules import flatten, present
from .tables import tables

MINUTE_MS = 60_000
_CLOCK = re.compile(
    r"(?<![0-9a-z:.,/-])(?:(?:at|around|by)\s+)?(?:(?P<h>[01]?[0-9]|2[0-3])[:h.](?P<m>[0-5][0-9])(?![0-9:.])\s*(?P<ap>[ap]\.?m\b)?|(?P<h2>1[0-2]|[1-9])\s*(?P<ap2>[ap]\.?m\b))"
)


@dataclass(frozen=True)
class RecurringCue:
    """Weekdays or hours of the day that the query names.

    `kind`: "weekdays" or "hours". `weekdays`: Monday is 0; () for any. `minutes`: [from, to) in minutes of
    the day, above 1440 for the next day; () for any. `confidence`: the share of the photos meant by such
    words that fit, on the development data.
    """

    text: str
    kind: str
    weekdays: tuple[int, ...]
    minutes: tuple[int, ...]
    span: tuple[int, int]
    confidence: float

    def fits(self, into: Any) -> Any:
        """Whether a time fits: a bool for an int, a bool array for an array.

        `into`: the time as `into_week` gives it for a cue with weekdays, as `into_day` gives it for others.
        The caller computes these once for all cues, since an album may have a million times.
        """
        if self.weekdays:
            return functools.reduce(
                operator.or_, [(into >= n * DAY_MS) & (into < (n + 1) * DAY_MS) for n in self.weekdays]
            )
        low, high = (minutes * MINUTE_MS for minutes in self.minutes)
        same_day = (into >= low) & (into < high)
        return same_day | (into < high - DAY_MS) if high > DAY_MS else same_day


def into_week(ms: Any) -> Any:
    """Milliseconds since Monday's midnight."""
    return (ms + 3 * DAY_MS) % (7 * DAY_MS)  # 1970 began on a Thursday


def into_day(ms: Any) -> Any:
    """Milliseconds since midnight."""
    return ms % DAY_MS


@cache
def _day_or_hour() -> re.Pattern[str]:
    t = tables()
    days = "|".join(sorted((*t.weekdays, *t.recurring_weekdays), key=lambda w: -len(w)))
    hours = "|".join(sorted(t.recurring_hours, key=lambda w: -len(w)))
    return re.compile(rf"(?<![a-z0-9])(?:(?P<day>{days})s?|(?P<hour>{hours})s?)(?![a-z0-9])")


def find_recurring(text: str, taken: list[tuple[int, int]]) -> tuple[RecurringCue, ...]:
    """The weekdays and parts of the day outside the spans `taken` by time cues, and all clock times."""
    flat = flatten(text)
    out: list[RecurringCue] = []
    classes = present(flat)
    if not classes.isdisjoint(_triggers()):
        out = _named(text, flat, taken)
    return (*out, *_clocks(text, flat)) if "digit" in classes else tuple(out)


@cache
def _triggers() -> frozenset[str]:
    hours = tables().recurring_hours
    return frozenset({"weekday", *hours, *(f"{hour}s" for hour in hours), *tables().recurring_weekdays})


def _named(text: str, flat: str, taken: list[tuple[int, int]]) -> list[RecurringCue]:
    out = []
    for m in _day_or_hour().finditer(flat):
        if any(a < m.end() and m.start() < b for a, b in taken) or m[0] in ("sat", "sun", "mon", "wed"):
            continue
        if m["day"]:
            t = tables()
            days = t.recurring_weekdays.get(m["day"]) or (t.weekdays[m["day"]],)
            out.append(_cue(text, "weekdays", days, (), m.span()))
        else:
            low, high, share = tables().recurring_hours[m["hour"]]
            out.append(_cue(text, "hours", (), (low * 60, high * 60), m.span(), share))
    return out


def _clocks(text: str, flat: str) -> list[RecurringCue]:
    """Clock times ("at 5 PM", "13:00"), each from half an hour before to an hour and a half after."""
    out = []
    for m in _CLOCK.finditer(flat):
        hour, minute, half = int(m["h"] or m["h2"]), int(m["m"] or 0), (m["ap"] or m["ap2"] or "")[:1]
        if half and hour <= 12:
            hour = hour % 12 + (12 if half == "p" else 0)
        begin = (hour * 60 + minute - 30) % 1440
        out.append(_cue(text, "hours", (), (begin, begin + 120), m.span()))
    return out


def _cue(
    text: str,
    kind: str,
    weekdays: tuple[int, ...],
    minutes: tuple[int, ...],
    span: tuple[int, int],
    confidence: float | None = None,
) -> RecurringCue:
    return RecurringCue(
        text[span[0] : span[1]],
        kind,
        weekdays,
        minutes,
        span,
        tables().trust[kind] if confidence is None else confidence,
    )
