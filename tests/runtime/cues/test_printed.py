"""Dates as receipts, tickets and letters print them."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.cues.printed import MAX_DAYS, printed_days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("Date: 12.03.2026", ["2026-03-12"]),
        ("2026-04-11  07:58", ["2026-04-11"]),
        ("Total 12/04/26", ["2026-04-12", "2026-12-04"]),  # nobody can tell
        ("25/12/2026", ["2026-12-25"]),
        ("March 3rd, 2026", ["2026-03-03"]),
        ("3. März 2026", ["2026-03-03"]),
        ("a 3 de mayo de 2024", ["2024-05-03"]),
        ("31.02.2026 and 192.168.1.20 and EUR 12.03", []),
        ("5 people 2026, marathon 5, 2026", []),
        ("version 1.2.2026.7", []),
    ],
)
def test_days_that_are_printed(text: str, days: list[str]) -> None:
    assert [date.fromordinal(day).isoformat() for day in sorted(printed_days(text))] == days


@given(st.dates(date(1900, 1, 1), date(2100, 12, 31)), st.text(max_size=40))
def test_an_iso_day_is_found_in_any_text(day: date, around: str) -> None:
    assert day.toordinal() in printed_days(f"on {day.isoformat()} {around}")


@given(st.text(max_size=300))
def test_no_text_raises_or_gives_many_days(text: str) -> None:
    assert len(printed_days(text)) <= MAX_DAYS
