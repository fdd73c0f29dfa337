"""Days and months as people write them, for patterns and for answers."""

from __future__ import annotations

import re
from datetime import date, timedelta

DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"  # of a pattern
MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
MONTH_NAMES = tuple(name.capitalize() for name in MONTHS.split("|"))

_AHEAD = {"today": 0, "tonight": 0, "tomorrow": 1, "day after tomorrow": 2}
_COUNTS = {word: at for at, word in enumerate(("a", "two", "three", "four", "five", "six"), 1)}
_RELATIVE = re.compile(
    rf"\b(?P<ahead>{'|'.join(sorted(_AHEAD, key=len, reverse=True))})\b|"
    rf"\bin (?P<count>\d{{1,2}}|{'|'.join(_COUNTS)}) (?P<unit>day|week)s?\b|"
    rf"(?<!next )(?<!last )(?<!every )\b(?P<day>{DAY})\b",
    re.IGNORECASE,
)
_DATED = re.compile(
    rf"\b(?P<before>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{MONTHS})(?P<year>,? (?:19|20)\d\d)?\b|"
    rf"\b(?P<named>{MONTHS}) (?P<after>\d{{1,2}})(?:st|nd|rd|th)?(?P<then>,? (?:19|20)\d\d)?\b",
    re.IGNORECASE,
)


def relative_day(text: str, spoken: date) -> date | None:
    """The day that "tomorrow", "in two weeks" or "on Friday" was when it was said; None of other words.

    A day of the week is the next one. "Next Friday" is not the same day for everybody, and None.
    """
    found = _RELATIVE.search(text)
    if found is None:
        return None
    if found["ahead"]:
        days = _AHEAD[found["ahead"].lower()]
    elif found["day"]:
        names = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
        days = (names.index(found["day"][:3].lower()) - spoken.weekday() - 1) % 7 + 1
    else:
        count = _COUNTS.get(found["count"].lower()) or int(found["count"])
        days = count * (7 if found["unit"].lower() == "week" else 1)
    return spoken + timedelta(days=min(days, (date.max - spoken).days))


def resolved(text: str, spoken: date) -> str:
    """ "3 November 2026 at 4pm" for "tomorrow at 4pm"; "Friday, 6 November 2026, at 3" for "Friday at 3"."""
    found, when = _RELATIVE.search(text), relative_day(text, spoken)
    if found is None or when is None:
        return text
    put = f"{found[0]}, {said(when)}," if found["day"] else said(when)
    begin = text[: found.start()].removesuffix("the ")
    return f"{begin}{put}{text[found.end() :]}".removesuffix(",")


def day_of(text: str, spoken: date) -> date | None:
    """The day that a text means which was said on another: "17 November", the first from then on, or
    "tomorrow"; None if it names none.
    """
    found = _DATED.search(text)
    if found is None:
        return relative_day(text, spoken)
    month = MONTHS.split("|").index((found["month"] or found["named"]).lower()) + 1
    year, day = (found["year"] or found["then"] or "").strip(", "), int(found["before"] or found["after"])
    for candidate in (int(year),) if year else range(spoken.year, min(spoken.year + 9, date.max.year + 1)):
        try:
            when = date(candidate, month, day)
        except ValueError:  # 29 February, or 31 June
            continue
        if year or when >= spoken:
            return when
    return None


def said(day: date) -> str:
    """ "13 May 2025"."""
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"
