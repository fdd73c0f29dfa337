"""A photo's time as an instant and as wall time, and where its offset came from; offline time-zone lookup."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from ...records import TzSource

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_QUARTER, _FARTHEST = (
    15 * 60_000,
    14 * 4,
)  # milliseconds; quarter-hours: no zone is farther from UTC than Kiribati's
_FIRST_PHOTOGRAPH = 1826  # a year; an earlier one comes from a clock that was never set
Position = tuple[float, float]


@dataclass(frozen=True)
class Moment:
    """`ms`: milliseconds UTC, or wall time as if it were UTC when `tz` is "local" or "name". `offset`: whole
    minutes (rounded down) by which local time was ahead of UTC; None when `tz` is "local" or "name", and for
    a true UTC time whose time zone is unknown."""

    ms: int
    tz: TzSource
    offset: int | None

    @property
    def wall(self) -> int:
        """Wall-clock time in milliseconds, as if UTC; equal to `ms` if the offset is unknown."""
        return self.ms + 60_000 * (self.offset or 0)


def to_millis(moment: datetime) -> int:
    """Milliseconds since 1970-01-01 UTC, rounded down; a naive `moment` is taken as if it were UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def moment_of(taken: datetime, position: Position | None) -> Moment | None:
    """The moment of `taken`, with the UTC offset that it carries, else that of the position's time zone, else
    as local time.

    None for a year before photography (1826) or a time beyond the calendar.
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
    """The moment of a true UTC time; its offset is that of the position's time zone, or None without one."""
    zone = None if position is None else zone_at(*position)
    try:
        moment = moment_of(utc if zone is None else utc.astimezone(zone), None)
    except (OverflowError, ValueError):
        return None
    return moment if moment is None or zone is not None else replace(moment, offset=None)


def by_clock(moment: Moment, wall: int) -> Moment:
    """A true UTC time with the offset taken from another source's wall time.

    The offset is accepted only if it is a whole number of quarter-hours, as those of time zones are.
    """
    quarters = round((wall - moment.ms) / _QUARTER)
    fits = abs(quarters * _QUARTER - (wall - moment.ms)) < 60_000 and abs(quarters) <= _FARTHEST
    return replace(moment, offset=15 * quarters) if fits else moment


def zone_at(lat: float, lon: float) -> tzinfo | None:
    """The time zone of a position; at sea the nautical one; None if it is not in this machine's tables."""
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
