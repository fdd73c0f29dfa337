"""The units of time around an anchor's photo, and what is told of all that was found."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from gamer.runtime.agent.results import Result
from gamer.runtime.agent.sentences import asks_for_days, days, places, shifted
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.questions.reader import read

WEDNESDAY, SATURDAY, SUNDAY = "2025-05-14T10:00:00", "2025-05-17T10:00:00", "2025-05-18T10:00:00"


@pytest.mark.parametrize(
    ("taken", "count", "unit", "where"),
    [
        (WEDNESDAY, 1, "day", "time = 2025-05-15"),
        (WEDNESDAY, -2, "night", "time = 2025-05-12"),
        (WEDNESDAY, 1, "week", "time >= 2025-05-15 and time <= 2025-05-21"),
        (WEDNESDAY, 1, "weekend", "time >= 2025-05-17 and time <= 2025-05-18"),
        (WEDNESDAY, -1, "weekend", "time >= 2025-05-10 and time <= 2025-05-11"),
        (SATURDAY, 1, "weekend", "time >= 2025-05-24 and time <= 2025-05-25"),
        (SUNDAY, -1, "weekend", "time >= 2025-05-10 and time <= 2025-05-11"),
        ("2025-12-14T10:00:00", 1, "month", "time = 2026-01"),
        ("2025-01-14T10:00:00", -1, "month", "time = 2024-12"),
        (WEDNESDAY, 1, "year", "time = 2026"),
        ("0001-01-01T00:00:00", -3, "year", "time = 0001"),
        ("9999-12-30T00:00:00", 5, "month", "time = 9999-12"),
    ],
)
def test_a_unit_of_time_is_counted_from_the_anchors_own(
    taken: str, count: int, unit: str, where: str
) -> None:
    assert shifted(taken, count, unit) == where


def test_days_and_places_are_told_of_all_photos_that_were_found() -> None:
    groups = {
        "day": ["2024-10-02", "unknown", "2024-10-11", "2024-10-02"],
        "place": ["Rome, IT", "unknown", "Venice, IT", "Venice, IT"],
    }
    toolbox = cast(Toolbox, SimpleNamespace(groups=lambda by, rows: [groups[by][row] for row in rows]))
    when, count = read("when was I in Italy"), read("how many days was I in Italy")
    both = "Photos of 2 days, from 2 October 2024 to 11 October 2024"
    assert days(toolbox, when, Result((0, 1, 2, 3))).sentence == both
    assert days(toolbox, when, Result((0, 1, 3))).sentence == "2 October 2024"
    assert days(toolbox, count, Result((0, 3))).sentence == "Photos of 1 day, 2 October 2024"
    assert days(toolbox, count, Result((1,))).found is False
    assert places(toolbox, Result((0, 1, 2, 3))).sentence == "Venice, IT; Rome, IT"
    assert places(toolbox, Result((1,))).sentence == "The album does not know where."
    assert [asks_for_days(question) for question in (when, count)] == [False, True]
