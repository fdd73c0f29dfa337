"""Wall time: milliseconds since 1970-01-01 of the clock on the wall, as if it were UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def moment(ms: int | None) -> datetime | None:
    """The time without a zone; None for None and for what no calendar date represents."""
    try:
        return None if ms is None else datetime(1970, 1, 1) + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def milliseconds(now: datetime) -> int:
    """Of the wall time `now`, in whichever zone."""
    return int(now.replace(tzinfo=UTC).timestamp() * 1000)


def iso(ms: int | None) -> str | None:
    """ISO 8601, to the second; None for None and for what no calendar date represents."""
    # Not strftime, whose %Y writes years before 1000 with fewer than four digits.
    when = moment(ms)
    return None if when is None else when.isoformat(timespec="seconds")


def day(ms: int | None, unknown: str = "…") -> str:
    """ "2011-04-25"; `unknown` for None and for a time that no calendar date represents."""
    return (iso(ms) or unknown)[:10]
