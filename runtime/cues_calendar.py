"""The calendar that time words are read against: months, seasons, holidays, "n weeks back". Arithmetic on days only.

Knows no text beyond the names of months and holidays. Days are proleptic Gregorian ordinals, intervals are ms of wall time stored as UTC,
both ends included. Seasons are those of the northern hemisphere; holidays those that English queries name (paper section 3.2, layer 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

DAY_MS = 86_400_000
EPOCH = date(1970, 1, 1).toordinal()
MAX_INTERVALS = 40
FIRST_YEAR, LAST_YEAR = 1900, 2100

Interval = tuple[int | None, int | None]  # ms, both ends included; None is open
Days = tuple[int, int]  # first and last day as proleptic ordinals, both included


@dataclass(frozen=True)
class TimeContext:
    """What relative words are read against: the wall clock, and the album's extent in ms (both included) when known."""

    now: datetime
    extent: tuple[int, int] | None = None

    @property
    def today(self) -> int:
        return self.now.toordinal()

    @property
    def now_ms(self) -> int:
        n = self.now
        clock = ((n.hour * 60 + n.minute) * 60 + n.second) * 1000 + n.microsecond // 1000
        return (self.today - EPOCH) * DAY_MS + clock

    def years(self) -> range:
        """The years that the album covers, at most MAX_INTERVALS of them, the latest; this year and the last when that is not known."""
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
    """Days, both included, as ms, both included."""
    return (days[0] - EPOCH) * DAY_MS, (days[1] + 1 - EPOCH) * DAY_MS - 1


MONTHS = {
    name: n
    for n, names in enumerate(
        (
            ("january", "jan"),
            ("february", "feb"),
            ("march", "mar"),
            ("april", "apr"),
            ("may",),
            ("june", "jun"),
            ("july", "jul"),
            ("august", "aug"),
            ("september", "sept", "sep"),
            ("october", "oct"),
            ("november", "nov"),
            ("december", "dec"),
        ),
        start=1,
    )
    for name in names
}
WEEKDAYS = {
    name: n
    for n, names in enumerate(
        (
            ("monday",),
            ("tuesday", "tues", "tue"),
            ("wednesday",),
            ("thursday", "thurs", "thur", "thu"),
            ("friday", "fri"),
            ("saturday",),
            ("sunday",),
        )
    )
    for name in names
}
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
NUMBERS = {w: n for n, w in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"))}
NUMBERS |= {"a": 1, "an": 1, "couple": 2, "a couple": 2, "a couple of": 2}
DECADES = {"twenties": 20, "thirties": 30, "forties": 40, "fifties": 50, "sixties": 60, "seventies": 70, "eighties": 80, "nineties": 90}
AMBIGUOUS_MONTHS = frozenset({"may", "march", "mar", "april", "june", "jan", "august"})


def month(year: int, m: int) -> Days:
    """The days of a month; `m` may run past 12 or below 1, into the next or last years."""
    year, m = year + (m - 1) // 12, (m - 1) % 12 + 1
    return date(year, m, 1).toordinal(), date(year + m // 12, m % 12 + 1, 1).toordinal() - 1


def months(year: int, m: int, count: int) -> Days:
    """The days of `count` months from month `m` on."""
    return month(year, m)[0], month(year, m + count - 1)[1]


def year_days(year: int, count: int = 1) -> Days:
    """The days of `count` years from `year` on."""
    return date(year, 1, 1).toordinal(), date(year + count, 1, 1).toordinal() - 1


def easter(year: int) -> int:
    """Easter Sunday of the Gregorian calendar as an ordinal (the anonymous computus)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = c // 4, c % 4
    r = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * r) // 451
    n = h + r - 7 * m + 114
    return date(year, n // 31, n % 31 + 1).toordinal()


def nth_weekday(year: int, m: int, weekday: int, n: int) -> int:
    """The n-th weekday (Monday 0) of a month as an ordinal."""
    first = date(year, m, 1).toordinal()
    return first + (weekday - (first - 1)) % 7 + 7 * (n - 1)


def _fixed_day(m: int, d: int, before: int = 0, after: int = 0) -> Callable[[int], Days]:
    def of(year: int) -> Days:
        day = date(year, m, d).toordinal()
        return day - before, day + after

    return of


def _floating(day: Callable[[int], int], before: int = 0, after: int = 0) -> Callable[[int], Days]:
    return lambda year: (day(year) - before, day(year) + after)


# Literal table, longest names first; a year gives the days that people photograph under that name.
HOLIDAYS: dict[str, Callable[[int], Days]] = {
    r"christmas eve|xmas eve": _fixed_day(12, 24),
    r"christmas day|xmas day": _fixed_day(12, 25),
    r"christmas|xmas": _fixed_day(12, 25, 1, 1),
    r"new year'?s eve": _fixed_day(12, 31),
    r"new year'?s day": _fixed_day(1, 1),
    r"new year'?s|new year": _fixed_day(1, 1, 1, 0),
    r"good friday": _floating(easter, 2, -2),
    r"easter sunday": _floating(easter),
    r"easter monday": _floating(easter, -1, 1),
    r"easter": _floating(easter, 2, 1),
    r"halloween": _fixed_day(10, 31),
    r"valentine'?s? day|valentine'?s": _fixed_day(2, 14),
    r"st\.? patrick'?s day|saint patrick'?s day": _fixed_day(3, 17),
    r"thanksgiving": _floating(lambda y: nth_weekday(y, 11, 3, 4), 0, 3),
    r"mother'?s day": _floating(lambda y: nth_weekday(y, 5, 6, 2)),
    r"father'?s day": _floating(lambda y: nth_weekday(y, 6, 6, 3)),
    r"april fools?'?s?(?: day)?": _fixed_day(4, 1),
    r"independence day|4th of july|fourth of july|july 4th": _fixed_day(7, 4),
    r"labou?r day": _floating(lambda y: nth_weekday(y, 9, 0, 1)),
}


def part_of(days: Days, part: str | None) -> Days:
    if not part:
        return days
    first, last = days
    third = (last - first + 1) // 3
    part = " ".join(part.split())
    if part in ("early", "beginning of", "start of"):
        return first, first + third - 1
    return (first + third, last - third) if part == "mid" else (last - third + 1, last)


def season_days(year: int, name: str) -> Days:
    return months(year, SEASONS[name], 3)


def last_of(of: Callable[[int], Days], ctx: TimeContext, n: int) -> Days:
    """The n-th last occurrence, by year, that is over before today."""
    year = ctx.now.year + 1
    while of(year)[1] >= ctx.today:
        year -= 1
    return of(year - (n - 1))


def current_of(of: Callable[[int], Days], ctx: TimeContext) -> Days:
    """This year's occurrence, or the one that today lies in."""
    before = of(ctx.now.year - 1)
    return before if before[0] <= ctx.today <= before[1] else of(ctx.now.year)


def monday_of(day: int) -> int:
    return day - (day - 1) % 7


def unit_back(unit: str, n: int, ctx: TimeContext) -> Days:
    """The calendar day, week, weekend, month, season or year that lies n back; 0 is the current one."""
    if unit == "day":
        return ctx.today - n, ctx.today - n
    if unit == "week":
        monday = monday_of(ctx.today) - 7 * n
        return monday, monday + 6
    if unit == "weekend":
        saturday = monday_of(ctx.today) + 5
        return saturday - 7 * n, saturday + 1 - 7 * n
    if unit == "month":
        return month(ctx.now.year, ctx.now.month - n)
    if unit == "year":
        return year_days(ctx.now.year - n)
    return current_of(lambda y: season_days(y, unit), ctx) if n == 0 else last_of(lambda y: season_days(y, unit), ctx, n)


def daypart(day: int, part: str | None) -> tuple[Interval, ...]:
    start = (day - EPOCH) * DAY_MS
    low, high = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30), None: (0, 24)}[part]
    return ((start + low * 3_600_000, start + high * 3_600_000 - 1),)
