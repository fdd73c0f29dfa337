"""Days that are printed in a text, as on receipts, tickets and letters; knows nothing of albums.

Only whole dates count, with day, month and year. A number such as 3/4/2026 may be of March or of April: both
are days that the text may mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from .calendar_days import FIRST_YEAR, LAST_YEAR

MAX_TEXT, MAX_DAYS = 4_000, 16  # characters that are read of a text, days that are taken from it
_EDGE = r"(?<![\d.,/-])", r"(?![\d/-]|[.,]\d)"
_ISO = re.compile(rf"{_EDGE[0]}(\d{{4}})([-./])(\d{{1,2}})\2(\d{{1,2}}){_EDGE[1]}")
_NUMBERS = re.compile(rf"{_EDGE[0]}(\d{{1,2}})([-./])(\d{{1,2}})\2(\d{{4}}|\d{{2}}){_EDGE[1]}")
_DAY, _YEAR = r"(\d{1,2})(?:st|nd|rd|th)?\b", r"(\d{4})(?!\d)"
_NAME = r"([^\W\d_]{3,10})"
_DAY_FIRST = re.compile(rf"(?<!\d){_DAY}[.\s-]{{0,2}}(?:de\s|of\s)?{_NAME}[.,\s-]{{0,3}}(?:de\s)?{_YEAR}")
_MONTH_FIRST = re.compile(rf"\b{_NAME}[.\s]{{0,2}}{_DAY}[,.\s]{{1,2}}{_YEAR}")
# In English, German, French, Spanish, Italian and Dutch; any beginning of three letters or more will do.
_MONTHS = tuple(
    names.split()
    for names in (
        "january januar janvier enero gennaio januari",
        "february februar février fevrier febrero febbraio februari",
        "march märz maerz mrz mars marzo maart",
        "april avril abril aprile",
        "may mai mayo maggio mei",
        "june juni juin junio giugno",
        "july juli juillet julio luglio",
        "august août aout agosto augustus",
        "september septembre septiembre settembre",
        "october oktober octobre octubre ottobre",
        "november novembre noviembre",
        "december dezember décembre decembre diciembre dicembre",
    )
)


def printed_days(text: str) -> frozenset[int]:
    """Proleptic ordinals of the days of FIRST_YEAR..LAST_YEAR that a text may name, at most MAX_DAYS."""
    found: set[int] = set()
    for year, month, day in _read(text[:MAX_TEXT]):
        if len(found) < MAX_DAYS and FIRST_YEAR <= year <= LAST_YEAR:
            try:
                found.add(date(year, month, day).toordinal())
            except ValueError:  # no such day
                continue
    return frozenset(found)


def _read(text: str) -> Iterator[tuple[int, int, int]]:
    """(year, month, day) of all that looks like a date."""
    for year, _, month, day in _ISO.findall(text):
        yield int(year), int(month), int(day)
    for first, mark, second, written in _NUMBERS.findall(text):
        year = int(written) + (2000 if len(written) == 2 else 0)
        yield year, int(second), int(first)
        if mark != ".":  # with points, the day comes first
            yield year, int(first), int(second)
    for day, name, year in _DAY_FIRST.findall(text):
        yield int(year), _month(name), int(day)
    for name, day, year in _MONTH_FIRST.findall(text):
        yield int(year), _month(name), int(day)


def _month(name: str) -> int:
    """1..12, or 0 for a word that is no month."""
    word = name.lower()
    fits = (number for number, names in enumerate(_MONTHS, 1) if any(n.startswith(word) for n in names))
    return next(fits, 0)
