"""The rules file that three readers share: its shape, that every rule can be made, and that its tables agree
with independent ones.
"""

from __future__ import annotations

import json
import re
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gamer.runtime.cues import tables as cue_tables
from gamer.runtime.cues.calendar_days import holiday, nth_weekday
from gamer.runtime.cues.rules import compiled
from gamer.runtime.cues.tables import pattern, read, tables
from gamer.runtime.cues.time_ranges import DEICTIC
from gamer.runtime.cues.time_words import MAKERS
from gamer.runtime.errors import RuntimeFailure

RAW = Path(cue_tables.__file__).with_name("cue_rules.json").read_text(encoding="utf-8")


def test_every_rule_compiles_and_has_a_maker() -> None:
    for rule in tables().rules:
        assert compiled(rule.pattern).groupindex is not None
        assert rule.make in MAKERS
        assert rule.kind in tables().trust
        assert rule.needs
    assert set(MAKERS) == {rule.make for rule in tables().rules}
    assert set(tables().trust) >= DEICTIC
    assert all(0 < share <= 1 for share in tables().trust.values())
    assert all(
        0 <= low < high <= 36 and 0 < share <= 1 for low, high, share in tables().recurring_hours.values()
    )


def test_patterns_stay_in_the_syntax_that_java_and_icu_share() -> None:
    """No Python spelling in the file, no group name with an underscore (Java has none), none twice in a
    pattern.
    """
    for rule in tables().rules:
        shared = tables().expand(rule.pattern)
        assert "(?P" not in shared
        assert "<<" not in shared
        names = re.findall(r"\(\?<([^=!][^>]*)>", shared)
        assert len(names) == len(set(names))
        assert all(name.isalnum() for name in names)
    assert pattern(r"(?<a>x)(?<!y)(?<=z)\k<a>") == r"(?P<a>x)(?<!y)(?<=z)(?P=a)"


@pytest.mark.parametrize(
    ("name", "year", "first", "last"),
    [
        ("easter", 2011, (4, 22), (4, 25)),
        ("good friday", 2024, (3, 29), (3, 29)),
        ("orthodox easter", 2021, (4, 30), (5, 3)),
        ("orthodox easter", 2024, (5, 3), (5, 6)),
        ("memorial day", 2021, (5, 31), (5, 31)),
        ("victoria day", 2020, (5, 18), (5, 18)),
        ("victoria day", 2022, (5, 23), (5, 23)),
        ("mothering sunday", 2024, (3, 10), (3, 10)),
        ("lantern festival", 2024, (2, 24), (2, 24)),
        ("yom kippur", 2023, (9, 24), (9, 25)),
        ("diwali", 2024, (10, 30), (11, 2)),
        ("oktoberfest", 2023, (9, 16), (10, 1)),
        ("black friday", 2024, (11, 29), (11, 29)),
    ],
)
def test_a_holiday_falls_on_its_known_days(
    name: str, year: int, first: tuple[int, int], last: tuple[int, int]
) -> None:
    days = holiday(tables().holidays[name])(year)
    assert tuple(date.fromordinal(d) for d in days) == (date(year, *first), date(year, *last))


def test_every_holiday_has_one_rule_that_gives_days_of_every_year() -> None:
    for rule in tables().holidays.values():
        ways = [
            bool(rule.day),
            bool(rule.nth),
            rule.easter is not None,
            rule.orthodox is not None,
            bool(rule.weekday_from),
            bool(rule.table),
        ]
        assert sum(ways) == 1
        for year in range(2002, 2036):
            low, high = holiday(rule)(year)
            assert low <= high < low + 45
            assert abs(date.fromordinal(low).year - year) <= 1


def test_moon_tables_have_every_year_and_whole_lunar_years_between_entries() -> None:
    """A table has one day of each year, the first: after a year in which an Islamic feast comes twice, the
    next entry is two lunar years later.
    """
    for days in tables().tables.values():
        assert sorted(days) == list(range(min(days), max(days) + 1))
        first = [date(y, d // 100, d % 100).toordinal() for y, d in sorted(days.items())]
        gaps = [b - a for a, b in pairwise(first)]
        assert all(min(abs(gap - moons * 29.53) for moons in (12, 13, 24)) < 3 for gap in gaps)


def test_a_fifth_monday_that_a_month_lacks_is_an_error() -> None:
    assert nth_weekday(2026, 6, 0, 5) == date(2026, 6, 29).toordinal()
    with pytest.raises(ValueError):
        nth_weekday(2026, 2, 0, 5)


def _changed(**changes: Any) -> str:
    return json.dumps({**json.loads(RAW), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        _changed(version=2),
        _changed(months=None, rules=None),
        _changed(holidays=[{"names": ["x"], "rule": {"dya": [1, 1]}}]),
        _changed(places={}),
        _changed(tables={"x": {"year": 1}}),
    ],
)
def test_a_damaged_rules_file_is_refused_in_one_line_that_names_it(text: str) -> None:
    with pytest.raises(RuntimeFailure, match=r"cue_rules\.json") as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_unknown_macros_and_macros_that_name_each_other_are_refused() -> None:
    with pytest.raises(RuntimeFailure, match="no macro"):
        tables().expand("<<nothing>>")
    loop = read(_changed(macros={**json.loads(RAW)["macros"], "a": "<<b>>", "b": "<<a>>"}))
    with pytest.raises(RuntimeFailure, match="name each other"):
        loop.expand("<<a>>")
