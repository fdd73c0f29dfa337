"""The units of time around an anchor's photo."""

from __future__ import annotations

import pytest

from gamer.runtime.agent.sentences import shifted

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
