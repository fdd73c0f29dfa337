"""The order of photos in time: moments of every precision, ties, unknown times and the calendar's ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.index.records import UNKNOWN_TIME
from gamer.runtime.agent.calls import ToolError
from gamer.runtime.agent.timeline import WEEKDAYS, Timeline, moment
from gamer.runtime.wall_time import iso

EPOCH = datetime(1970, 1, 1)


def ms(text: str) -> int:
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)


def timeline(*times: str | None) -> Timeline:
    return Timeline(np.array([UNKNOWN_TIME if t is None else ms(t) for t in times], np.int64))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2025", "2025-01-01T00:00:00", "2025-12-31T23:59:59.999"),
        ("2025-02", "2025-02-01T00:00:00", "2025-02-28T23:59:59.999"),
        ("2024-02", "2024-02-01T00:00:00", "2024-02-29T23:59:59.999"),
        ("2025-12", "2025-12-01T00:00:00", "2025-12-31T23:59:59.999"),
        ("2025-5", "2025-05-01T00:00:00", "2025-05-31T23:59:59.999"),
        ("2025-05-13", "2025-05-13T00:00:00", "2025-05-13T23:59:59.999"),
        ("2025-05-13T10", "2025-05-13T10:00:00", "2025-05-13T10:59:59.999"),
        ("2025-05-13T10:30", "2025-05-13T10:30:00", "2025-05-13T10:30:59.999"),
        ("2025-05-13 10:30", "2025-05-13T10:30:00", "2025-05-13T10:30:59.999"),
        ("2025-05-13T10:30:07", "2025-05-13T10:30:07", "2025-05-13T10:30:07.999"),
        ("2025-05-13T10:30:07.5", "2025-05-13T10:30:07.500", "2025-05-13T10:30:07.500"),
        ("2025-05-13T10:30:07.042", "2025-05-13T10:30:07.042", "2025-05-13T10:30:07.042"),
        ("0001", "0001-01-01T00:00:00", "0001-12-31T23:59:59.999"),
        ("0001-01-01", "0001-01-01T00:00:00", "0001-01-01T23:59:59.999"),
        ("9999", "9999-01-01T00:00:00", "9999-12-31T23:59:59.999"),
        ("9999-12", "9999-12-01T00:00:00", "9999-12-31T23:59:59.999"),
        ("9999-12-31T23:59:59", "9999-12-31T23:59:59", "9999-12-31T23:59:59.999"),
        ("1969-12-31", "1969-12-31T00:00:00", "1969-12-31T23:59:59.999"),
    ],
)
def test_a_moment_is_as_long_as_it_is_vague(text: str, start: str, end: str) -> None:
    assert moment(text) == (ms(start), ms(end))


@pytest.mark.parametrize(
    "text",
    ["", "0000", "0000-01-01", "2025-00", "2025-13", "2025-02-29", "2025-05-32", "2025-05-13T24",
     "2025-05-13T10:60", "25", "12025", "2025-05-13Z", "2025-05-13T10:30+02:00", "2025/05/13", "-2025",
     "²025", "last spring", "2025-05-13T10:30:61", "2025-05-", "x" * 1_000, "2025\n2026"],
)  # fmt: skip
def test_what_is_no_date_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        moment(text)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 150


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)))
def test_the_shown_time_of_any_photo_is_a_moment_that_holds_it(taken: datetime) -> None:
    time = (taken - EPOCH) // timedelta(milliseconds=1)
    shown = iso(time)
    assert shown is not None
    assert datetime.fromisoformat(shown) == taken.replace(microsecond=0)
    for length in (4, 7, 10, 13, 16, 19):
        start, end = moment(shown[:length])
        assert start is not None
        assert end is not None
        assert start <= time <= end


def test_a_time_outside_the_calendar_is_not_shown() -> None:
    assert [iso(t) for t in (None, UNKNOWN_TIME, 2**62, -(2**62))] == [None] * 4


TIMES = st.lists(
    st.none() | st.sampled_from([-86_400_001, -1, 0, 1, 999, 1_000, 86_399_999, 86_400_000]), max_size=9
)


@given(TIMES, st.data())
def test_photos_of_one_moment_are_ordered_by_row_and_undated_ones_come_last(
    times: list[int | None], data: st.DataObject
) -> None:
    line = Timeline(np.array([UNKNOWN_TIME if t is None else t for t in times], np.int64))
    rows = data.draw(st.permutations(range(len(times))))
    dated = sorted((t, row) for row, t in enumerate(times) if t is not None)
    expected = [row for _, row in dated]
    undated = [row for row in rows if times[row] is None]
    given_rows = np.array(rows, np.int64)
    assert line.order.tolist() == expected
    assert line.sort(given_rows).tolist() == expected + undated
    assert line.sort(given_rows, newest_first=True).tolist() == expected[::-1] + undated


@given(TIMES.filter(lambda times: any(t is not None for t in times)), st.data())
def test_before_and_after_a_photo_split_the_dated_ones(times: list[int | None], data: st.DataObject) -> None:
    line = Timeline(np.array([UNKNOWN_TIME if t is None else t for t in times], np.int64))
    row = data.draw(st.sampled_from([n for n, t in enumerate(times) if t is not None]))
    at = line.order.tolist().index(row)
    sides = {
        "<": line.order[:at],
        "<=": line.order[: at + 1],
        "=": line.order[at : at + 1],
        "!=": np.delete(line.order, at),
        ">=": line.order[at:],
        ">": line.order[at + 1 :],
    }
    for operator, expected in sides.items():
        found = np.flatnonzero(line.compare_place(operator, row))
        assert found.tolist() == sorted(expected.tolist()), operator


def test_a_photo_without_a_time_is_no_moment() -> None:
    with pytest.raises(ToolError, match="no time of its own"):
        timeline("2025-05-13", None).compare_place("<", 1)


@given(
    st.lists(st.none() | st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)), max_size=6),
    st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)),
    st.sampled_from([4, 7, 10, 13, 16, 19]),
)
def test_a_comparison_with_a_moment_agrees_with_comparing_the_written_times(
    times: list[datetime | None], when: datetime, length: int
) -> None:
    """ISO times sort as texts do, so cutting them to the moment's length compares them."""
    line = timeline(*[t.isoformat() if t else None for t in times])
    text = when.isoformat()[:length]
    written = [t.isoformat()[:length] if t else None for t in times]
    comparisons: dict[str, Callable[[str], bool]] = {
        "=": lambda t: t == text,
        "!=": lambda t: t != text,
        "<": lambda t: t < text,
        "<=": lambda t: t <= text,
        ">": lambda t: t > text,
        ">=": lambda t: t >= text,
    }
    for operator, holds in comparisons.items():
        found = line.compare(operator, moment(text)).tolist()
        assert found == [t is not None and holds(t) for t in written], operator


@given(st.lists(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)), min_size=1, max_size=5))
def test_days_weekdays_and_hours_are_those_of_the_calendar(times: list[datetime]) -> None:
    line = timeline(*[t.isoformat() for t in times])
    assert [WEEKDAYS[n] for n in line.weekdays()] == [t.strftime("%A").lower() for t in times]
    assert line.hours().tolist() == [t.hour for t in times]
    assert line.days().tolist() == [(t - EPOCH).days for t in times]


def test_an_album_without_photos_has_a_timeline() -> None:
    line = timeline()
    assert line.order.size == 0
    assert line.sort(np.zeros(0, np.int64)).size == 0
    assert line.compare("<", moment("2025")).size == 0
