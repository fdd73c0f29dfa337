"""A moment of a photo: its instant, its wall clock, and how sure the two are of each other. Also the time zone of a place, offline.

Knows calendars and time zones; knows no file.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from ..records import TzSource

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_PHOTOGRAPH = 1826  # an earlier year is a clock that was never set
Position = tuple[float, float]


@dataclass(frozen=True)
class Moment:
    """`ms`: milliseconds UTC, or wall time as if it were UTC when `tz` is "local". `wall`: the clock on the wall, as if UTC."""

    ms: int
    tz: TzSource
    wall: int


def to_millis(moment: datetime) -> int:
    """A naive moment is wall time, stored as if UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def moment_of(taken: datetime, position: Position | None) -> Moment | None:
    """Its own offset, else the zone of the position, else local. None if it lies before photography or beyond the calendar."""
    if taken.year < _FIRST_PHOTOGRAPH:
        return None
    try:
        if taken.tzinfo is not None:
            return Moment(to_millis(taken), "offset", to_millis(taken.replace(tzinfo=None)))
        zone = None if position is None else zone_at(*position)
        if zone is None:
            return Moment(to_millis(taken), "local", to_millis(taken))
        return Moment(to_millis(taken.replace(tzinfo=zone)), "position", to_millis(taken))
    except (OverflowError, ValueError):
        return None


def taken_at(moment: Moment | None) -> tuple[int | None, TzSource]:
    """As a Photo has it."""
    return (None, "local") if moment is None else (moment.ms, moment.tz)


def instant(utc: datetime, position: Position | None) -> Moment | None:
    """A true UTC time whose wall clock is known only through the position."""
    zone = None if position is None else zone_at(*position)
    try:
        return moment_of(utc if zone is None else utc.astimezone(zone), None)
    except (OverflowError, ValueError):
        return None


def zone_at(lat: float, lon: float) -> tzinfo | None:
    """The time zone of a position; at sea the nautical one."""
    import tzfpy

    return _zone(tzfpy.get_tz(lon, lat))


@functools.cache
def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):  # ZoneInfoNotFoundError is a KeyError: a zone newer than this machine's tables
        return None
