"""Days and months as people write them, for patterns and for answers."""

from __future__ import annotations

from datetime import date

DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"  # of a pattern
MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
MONTH_NAMES = tuple(name.capitalize() for name in MONTHS.split("|"))


def said(day: date) -> str:
    """ "13 May 2025"."""
    return f"{day.day} {MONTH_NAMES[day.month - 1]} {day.year}"
