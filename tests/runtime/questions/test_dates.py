"""Days in what was said on another day."""

from __future__ import annotations

from datetime import date

import pytest

from gamer.runtime.questions.dates import day_of, relative_day, resolved

THURSDAY = date(2026, 1, 1)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tomorrow at 9", date(2026, 1, 2)),
        ("the day after tomorrow", date(2026, 1, 3)),
        ("tonight", THURSDAY),
        ("in two weeks", date(2026, 1, 15)),
        ("in 10 days", date(2026, 1, 11)),
        ("Saturday at noon", date(2026, 1, 3)),
        ("on Thursday", date(2026, 1, 8)),
        ("next Friday", None),
        ("every Friday", None),
        ("Fridays", None),
        ("at 9", None),
        ("We went to the zoo on Sunday.", None),
        ("My exam was on Friday.", None),
        ("I moved to Lisbon on Monday.", None),
        ("not tomorrow but next week", None),
        ("not tomorrow but on Saturday", date(2026, 1, 3)),
        ("I met Paul in two weeks of holiday", None),
        ("The exam is moved to Friday.", date(2026, 1, 2)),
        ("I've got a test on Friday.", date(2026, 1, 2)),
        ("Monday the 12th", None),
    ],
)
def test_words_for_a_day_mean_one_after_they_were_said(text: str, wanted: date | None) -> None:
    assert relative_day(text, THURSDAY) == wanted == day_of(text, THURSDAY)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the 5th of May", date(2026, 5, 5)),
        ("Friday, 2 January", date(2026, 1, 2)),
        ("November 17, 2025", date(2025, 11, 17)),
        ("29 February", date(2028, 2, 29)),
        ("31 June", None),
        ("31 June 2026", None),
    ],
)
def test_a_date_without_a_year_is_the_first_from_then_on(text: str, wanted: date | None) -> None:
    assert day_of(text, THURSDAY) == wanted


def test_the_end_of_the_calendar_is_a_day_too() -> None:
    assert relative_day("in two weeks", date.max) == date.max
    assert day_of("5 May", date.max) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("tomorrow at 9", "2 January 2026 at 9"),
        ("the day after tomorrow", "3 January 2026"),
        ("Friday at 3", "Friday, 2 January 2026, at 3"),
        ("on Friday", "on Friday, 2 January 2026"),
        ("5 May", "5 May"),
        ("Friday, at 3", "Friday, 2 January 2026, at 3"),
        ("Monday 12 January", "Monday 12 January"),
        ("Monday, 12 Jan", "Monday, 12 Jan"),
    ],
)
def test_an_answer_names_the_day(text: str, wanted: str) -> None:
    assert resolved(text, THURSDAY) == wanted
