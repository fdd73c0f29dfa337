"""Days and months as people write them, for patterns and for answers."""

from __future__ import annotations

import re
from datetime import date, timedelta

DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"  # of a pattern
MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
MONTH_NAMES = tuple(name.capitalize() for name in MONTHS.split("|"))

PAST = (  # a verb that tells what was, of a pattern
    r"(?:(?!(?:bed|fred|hundred|red|shed|ted|wed)\b)[a-z]+(?<!ne)(?<!fe)(?<!ee)ed|been|was|were|went|had|did|"
    r"got|saw|knew|thought|said|made|took|came|met|felt|found|gave|lost|left|told|kept|heard|wrote|ate|drank|"
    r"drove|bought|brought|spoke|slept|ran|sang|began|fell|flew|paid|sat|sent|sold|spent|stood|swam|won)\b"
)
# "Is moved to", "has got": what is, or is yet to be.
_PRESENT = re.compile(
    rf"(?:\b(?:am|are|be|is|gets?|getting|has|have)|['’](?:m|re|s|ve)) (?:(?:just|already|now) )?{PAST}",
    re.IGNORECASE,
)
_WAS = re.compile(rf"\b{PAST}", re.IGNORECASE)
_DENIED = re.compile(
    r"(?:\bnot|n['’]t)\b(?! forget)(?:(?!\b(?:but|that|because|and)\b)[^,;:.])*$", re.IGNORECASE
)
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
# A date that is told with fewer words: "the 12th", "12 Jan", "12/1".
_SHORT = "(?:" + "|".join(name[:3] for name in MONTHS.split("|")) + "|sept)"
_NUMBERED = re.compile(
    rf"\bthe \d{{1,2}}(?:st|nd|rd|th)\b|\b\d{{1,2}}(?:st|nd|rd|th)? {_SHORT}\b|\b{_SHORT}\.? \d{{1,2}}\b|"
    r"\b\d{1,2}/\d{1,2}\b",
    re.IGNORECASE,
)


def _relative(text: str) -> re.Match[str] | None:
    """The words for a day to come; none beside a date, and of what was no day of the week."""
    if _DATED.search(text) or _NUMBERED.search(text):
        return None
    was = _WAS.search(_PRESENT.sub("", text)) is not None
    for found in _RELATIVE.finditer(text):
        before, after = text[max(found.start() - 80, 0) : found.start()], text[found.end() :]
        denied = _DENIED.search(before) or after.startswith(" of ")
        if not denied and (found["ahead"] or not was):
            return found
    return None


def relative_day(text: str, spoken: date) -> date | None:
    """The day that "tomorrow", "in two weeks" or "on Friday" was when it was said; None of other words.

    A day of the week is the next one, and None of what is past: "we went on Sunday". "Next Friday" is not the
    same day for everybody, and None.
    """
    found = _relative(text)
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
    found, when = _relative(text), relative_day(text, spoken)
    if found is None or when is None:
        return text
    begin, end = text[: found.start()].removesuffix("the "), text[found.end() :]
    put = f"{found[0]}, {said(when)}{',' * end.startswith(' ')}" if found["day"] else said(when)
    return f"{begin}{put}{end}"


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
