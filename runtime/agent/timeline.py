"""The photos of an album in order of time, and comparisons with a moment of any precision."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from gamer.index import RowArray
from gamer.index.records import UNKNOWN_TIME

from ..cues.calendar_days import DAY_MS, EPOCH, Interval, ms_of
from .calls import ToolError
from .expression import Mask

_DATE = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?)?)?)?)?"
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Timeline:
    """`times`: int64 [photos], ms of wall time, UNKNOWN_TIME where unknown."""

    def __init__(self, times: NDArray[np.int64]) -> None:
        self.times = times
        self.dated: Mask = times != UNKNOWN_TIME
        order = np.lexsort((np.arange(len(times)), times))
        self.order: RowArray = np.asarray(order[self.dated[order]], np.int64)
        self._place = np.full(len(times), -1, np.int64)
        self._place[self.order] = np.arange(len(self.order))

    def sort(self, rows: RowArray, newest_first: bool = False) -> RowArray:
        """`rows` in order of time; undated photos come last."""
        places = self._place[rows]
        keys = np.where(places < 0, len(self.times), -places if newest_first else places)
        return np.asarray(rows[np.argsort(keys, kind="stable")], np.int64)

    def compare(self, operator: str, interval: Interval) -> Mask:
        """The dated photos before, in or after a moment. Both ends of the interval are included."""
        return self.dated & compared(operator, self.times, interval[0] or 0, interval[1] or 0)

    def compare_place(self, operator: str, row: int) -> Mask:
        """The dated photos before or after a photo; those of the same moment in the album's order."""
        place = int(self._place[row])
        if place < 0:
            raise ToolError("filter: the photo named as a time has no time of its own")
        return self.dated & compared(operator, self._place, place, place)

    def days(self) -> NDArray[np.int64]:
        """Days since 1970-01-01; meaningless where the time is unknown."""
        return np.asarray(self.times // DAY_MS)

    def hours(self) -> NDArray[np.int64]:
        return np.asarray((self.times % DAY_MS) // 3_600_000)

    def weekdays(self) -> NDArray[np.int64]:
        """0 is Monday; 1 January 1970 was a Thursday."""
        return np.asarray((self.times // DAY_MS + 3) % 7)


def compared(operator: str, numbers: NDArray[np.int64], first: int, last: int) -> Mask:
    """Which of the numbers are before, in or after a span, of which both ends are included."""
    inside = (numbers >= first) & (numbers <= last)
    found = {
        "=": inside,
        "!=": ~inside,
        "<": numbers < first,
        "<=": numbers <= last,
        ">": numbers > last,
        ">=": numbers >= first,
    }
    return np.asarray(found[operator])


def moment(text: str) -> Interval:
    """The interval that an ISO date stands for: "2025" is a year, "2025-05" a month. Raises ToolError."""
    match = _DATE.fullmatch(text.strip())
    if not match:
        raise ToolError(
            f"filter: {text[:40]!r} must be a date: write 2025, 2025-05, 2025-05-13 or 2025-05-13T10:30"
        )
    year, mo, day, hour, minute, second, fraction = match.groups()
    try:
        if day is None:
            first, last = (1, 12) if mo is None else (int(mo), int(mo))
            start_day = date(int(year), first, 1).toordinal()
            return ms_of((start_day, date(int(year), last, monthrange(int(year), last)[1]).toordinal()))
        clock = datetime(int(year), int(mo), int(day), int(hour or 0), int(minute or 0), int(second or 0))
    except (ValueError, OverflowError):
        raise ToolError(f"filter: {text[:40]!r} is not in the calendar") from None
    start = (clock.toordinal() - EPOCH) * DAY_MS
    start += ((clock.hour * 60 + clock.minute) * 60 + clock.second) * 1000
    if fraction:
        start += int(fraction.ljust(3, "0"))
        return start, start
    length = DAY_MS if hour is None else 3_600_000 if minute is None else 60_000 if second is None else 1_000
    return start, start + length - 1
