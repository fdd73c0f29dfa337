"""Calendar arithmetic for time words: months, seasons, holidays, "n weeks ago" (paper section 3.2, layer 1).

Days are proleptic Gregorian ordinals; intervals are ms of wall time stored as UTC. Both ends are included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

from .tables import HolidayRule, tables

DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1).toordinal()
MAX_INTERVALS = 40
FIRST_YEAR, LAST_YEAR = 1900, 2100

Interval = tuple[int | None, int | None]  # ms, both ends included; None is open
Days = tuple[int, int]  # first and last day as proleptic ordinals, both included


@dataclass(frozen=True)
class TimeContext:
    """The reference of relative time words.

    `now`: the wall clock. `extent`: ms of the album's first and last photo, both included; None if unknown.
    `southern`: whether seasons are those of the southern hemisphere.
    """

    now: datetime
    extent: tuple[int, int] | None = None
    southern: bool = False

    @property
    def today(self) -> int:
        return self.now.toordinal()

    @property
    def now_ms(self) -> int:
        n = self.now
        clock = ((n.hour * 60 + n.minute) * 60 + n.second) * 1000 + n.microsecond // 1000
        return (self.today - EPOCH) * DAY_MS + clock

    def years(self) -> range:
        """The years of the album's extent and the year before, at most MAX_INTERVALS years before the last.

        Last year and this year if the extent is unknown.
        """
        if self.extent is None:
            return range(self.now.year - 1, self.now.year + 1)
        low, high = (max(FIRST_YEAR, min(LAST_YEAR, year_of(ms))) for ms in self.extent)
        return range(max(low - 1, high - MAX_INTERVALS), high + 1)


def year_of(ms: int) -> int:
    try:
        return date.fromordinal(ms // DAY_MS + EPOCH).year
    except (ValueError, OverflowError):
        return FIRST_YEAR if ms < 0 else LAST_YEAR


def ms_of(days: Days) -> Interval:
    """The interval of a range of days."""
    return (days[0] - EPOCH) * DAY_MS, (days[1] + 1 - EPOCH) * DAY_MS - 1


def month(year: int, m: int) -> Days:
    """The days of a month; an `m` above 12 or below 1 counts into the following or earlier years."""
    year, m = year + (m - 1) // 12, (m - 1) % 12 + 1
    return date(year, m, 1).toordinal(), date(year + m // 12, m % 12 + 1, 1).toordinal() - 1


def months(year: int, m: int, count: int) -> Days:
    """The days of `count` months, beginning with month `m`."""
    return month(year, m)[0], month(year, m + count - 1)[1]


def year_days(year: int, count: int = 1) -> Days:
    """The days of `count` years, beginning with `year`."""
    return date(year, 1, 1).toordinal(), date(year + count, 1, 1).toordinal() - 1


def easter(year: int) -> int:
    """Easter Sunday of the Gregorian calendar, as an ordinal (anonymous Gregorian computus)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    r = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * r) // 451
    n = h + r - 7 * m + 114
    return date(year, n // 31, n % 31 + 1).toordinal()


def orthodox_easter(year: int) -> int:
    """Easter Sunday of the Julian calendar, as a Gregorian ordinal (Meeus; valid for 1900..2099)."""
    d = (19 * (year % 19) + 15) % 30
    e = (2 * (year % 4) + 4 * (year % 7) - d + 34) % 7
    return date(year, (d + e + 114) // 31, (d + e + 114) % 31 + 1).toordinal() + 13


def nth_weekday(year: int, m: int, weekday: int, n: int) -> int:
    """The n-th weekday (Monday 0) of a month, as an ordinal; the last one for n = -1.

    Raises ValueError if the month has fewer.
    """
    if n < 0:
        last = month(year, m)[1]
        return last - (last - 1 - weekday) % 7
    first = date(year, m, 1).toordinal()
    day = first + (weekday - (first - 1)) % 7 + 7 * (n - 1)
    if day > month(year, m)[1]:
        raise ValueError(n)
    return day


def holiday(rule: HolidayRule) -> Callable[[int], Days]:
    """A function from a year to the days on which people photograph under the holiday's name.

    The function raises ValueError for a year that the holiday's table lacks.
    """

    def of(year: int) -> Days:
        day = _named_day(rule, year) + rule.shift
        return day - rule.before, day + rule.after

    return of


def _named_day(rule: HolidayRule, year: int) -> int:
    if rule.day:
        return date(year, *rule.day).toordinal()
    if rule.nth:
        return nth_weekday(year, *rule.nth)
    if rule.easter is not None:
        return easter(year) + rule.easter
    if rule.orthodox is not None:
        return orthodox_easter(year) + rule.orthodox
    if rule.weekday_from:
        m, d, weekday = rule.weekday_from
        first = date(year, m, d).toordinal()
        return first + (weekday - (first - 1)) % 7
    month_day = tables().tables[rule.table].get(year)
    if month_day is None:
        raise ValueError(year)
    return date(year, month_day // 100, month_day % 100).toordinal()


def fixed_day(m: int, d: int, after: int = 0) -> Callable[[int], Days]:
    """A function from a year to the range of that date and the `after` days that follow."""

    def of(year: int) -> Days:
        day = date(year, m, d).toordinal()
        return day, day + after

    return of


def part_of(days: Days, part: str | None) -> Days:
    """The third of the days that `part` names ("early", "mid", "late"); all of them without a part."""
    if not part:
        return days
    first, last = days
    low, high = tables().thirds[" ".join(part.split())]
    third = (last - first + 1) // 3
    begin = (first, first + third, last - third + 1)[low]
    return begin, (first, first + third - 1, last - third, last)[high]


def season_days(year: int, name: str, southern: bool = False) -> Days:
    """The three months of a meteorological season; a northern winter begins in December of `year`.

    Southern seasons lie half a year away; a southern summer begins in December of the year before.
    """
    first = tables().seasons[name]
    return months(year, first + (6 if first < 6 else -6) if southern else first, 3)


def last_of(of: Callable[[int], Days], ctx: TimeContext, n: int) -> Days:
    """The n-th last occurrence that ended before today. `of`: the occurrence in a year."""
    year = ctx.now.year + 1
    while of(year)[1] >= ctx.today:
        year -= 1
    return of(year - (n - 1))


def current_of(of: Callable[[int], Days], ctx: TimeContext) -> Days:
    """The occurrence of the year before or after if today lies in it, else this year's."""
    beside = (of(ctx.now.year + step) for step in (-1, 1))
    return next((days for days in beside if days[0] <= ctx.today <= days[1]), of(ctx.now.year))


def monday_of(day: int) -> int:
    return day - (day - 1) % 7


def unit_back(unit: str, n: int, ctx: TimeContext) -> Days:
    """The calendar day, week, weekend, month, season or year that lies n back; 0 is the current one.

    A fortnight is the seven days around the day 14 · n days ago.
    """
    if unit == "day":
        return ctx.today - n, ctx.today - n
    if unit == "week":
        monday = monday_of(ctx.today) - 7 * n
        return monday, monday + 6
    if unit == "fortnight":
        return ctx.today - 14 * n - 3, ctx.today - 14 * n + 3
    if unit == "weekend":
        saturday = monday_of(ctx.today) + 5
        return saturday - 7 * n, saturday + 1 - 7 * n
    if unit == "month":
        return month(ctx.now.year, ctx.now.month - n)
    if unit == "year":
        return year_days(ctx.now.year - n)
    season_in: Callable[[int], Days] = lambda y: season_days(y, unit, ctx.southern)  # noqa: E731
    return current_of(season_in, ctx) if n == 0 else last_of(season_in, ctx, n)


def daypart(day: int, part: str | None) -> tuple[Interval, ...]:
    """The interval of a part of the day (of the entire day for None), as a tuple of one interval.

    "night" ends in the next day.
    """
    start = (day - EPOCH) * DAY_MS
    low, high = tables().dayparts[part] if part else (0, 24)
    return ((start + low * 3_600_000, start + high * 3_600_000 - 1),)
