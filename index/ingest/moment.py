"""A photo's time as an instant and as wall time, and where its offset came from; offline time-zone lookup."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from ..records import TzSource

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTER, _FARTHEST = (
    15 * 60_000,
    14 * 4,
)  # milliseconds; quarter-hours: no zone is farther from UTC than Kiribati's
_FIRST_PHOTOGRAPH = 1826  # an earlier year is a clock that was never set
Position = tuple[float, float]


@dataclass(frozen=True)
class Moment:
    """`ms`: milliseconds UTC, or wall time as if it were UTC when `tz` is "local". `offset`: whole minutes
    (rounded down) by which the clock on the wall was ahead of UTC; None when local, and for a true UTC time
    of which only the instant is known."""

    ms: int
    tz: TzSource
    offset: int | None

    @property
    def wall(self) -> int:
        """The clock on the wall, as if UTC, as well as it is known."""
        return self.ms + 60_000 * (self.offset or 0)


def to_millis(moment: datetime) -> int:
    """A naive moment is wall time, stored as if UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def moment_of(taken: datetime, position: Position | None) -> Moment | None:
    """Its own offset, else the zone of the position, else local.

    None if it lies before photography or beyond the calendar.
    """
    if taken.year < _FIRST_PHOTOGRAPH:
        return None
    try:
        if taken.tzinfo is not None:
            return _aware(taken, "offset")
        zone = None if position is None else zone_at(*position)
        if zone is None:
            return Moment(to_millis(taken), "local", None)
        return _aware(taken.replace(tzinfo=zone), "position")
    except (OverflowError, ValueError):
        return None


def _aware(taken: datetime, tz: TzSource) -> Moment:
    """The moment of an aware time; its offset is rounded down to minutes, so wall time stays in the calendar.

    Raises ValueError for an offset that rounds to a whole day (-23:59:59).
    """
    ms = to_millis(taken)
    offset = (to_millis(taken.replace(tzinfo=None)) - ms) // 60_000
    if offset <= -1440:
        raise ValueError("an offset of a day")
    return Moment(ms, tz, offset)


def taken_at(moment: Moment | None) -> tuple[int | None, TzSource, int | None]:
    """`taken_at`, `tz_source` and `utc_offset` as a Photo has them."""
    return (None, "local", None) if moment is None else (moment.ms, moment.tz, moment.offset)


def instant(utc: datetime, position: Position | None) -> Moment | None:
    """A true UTC time whose wall clock is known only through the position."""
    zone = None if position is None else zone_at(*position)
    try:
        found = moment_of(utc if zone is None else utc.astimezone(zone), None)
    except (OverflowError, ValueError):
        return None
    return found if found is None or zone is not None else replace(found, offset=None)


def by_clock(moment: Moment, wall: int) -> Moment:
    """A true UTC time with the offset taken from another source's wall time.

    The offset is accepted only if it is a whole number of quarter-hours, as those of time zones are.
    """
    quarters = round((wall - moment.ms) / _QUARTER)
    fits = abs(quarters * _QUARTER - (wall - moment.ms)) < 60_000 and abs(quarters) <= _FARTHEST
    return replace(moment, offset=15 * quarters) if fits else moment


def zone_at(lat: float, lon: float) -> tzinfo | None:
    """The time zone of a position; at sea the nautical one."""
    import tzfpy

    return _zone(tzfpy.get_tz(lon, lat))


@functools.cache
def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name) if name else None
    except (
        KeyError,
        ValueError,
        OSError,
    ):  # ZoneInfoNotFoundError is a KeyError: a zone newer than this machine's tables
        return None
