"""The makers of `cue_rules.json`: functions that turn the match of a rule into intervals.

A maker returns fixed intervals, or a function from a year to days if the words name no year. It raises
ValueError if the words are not a date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from .calendar_days import (
    FIRST_YEAR,
    LAST_YEAR,
    Days,
    Interval,
    TimeContext,
    daypart,
    fixed_day,
    last_of,
    month,
    ms_of,
    nth_weekday,
    part_of,
    season_days,
    unit_back,
    year_days,
)
from .tables import tables

Match = re.Match[str]
DatesOrRule = tuple[Interval, ...] | Callable[[int], Days]  # fixed intervals, or the days in a year


def _days(first: int, last: int) -> tuple[Interval, ...]:
    return (ms_of((first, last)),)


def number(text: str) -> int:
    """The value of a number in digits or words: "3", "three", "a couple of"."""
    value = tables().numbers.get(" ".join(text.split()))
    return int(text) if value is None else value


def year_number(text: str, ctx: TimeContext) -> int:
    """The year of "2009" or "'09"; two digits mean 20xx up to next year, and 19xx beyond."""
    y = int(text.lstrip("'"))
    return y if y > 99 else y + (2000 if 2000 + y <= ctx.now.year + 1 else 1900)


def _day_of(y: int, m: int, d: int) -> tuple[Interval, ...]:
    if not FIRST_YEAR <= y <= LAST_YEAR:
        raise ValueError(y)
    day = date(y, m, d).toordinal()
    return _days(day, day)


def _month(m: Match, group: str = "month") -> int:
    return tables().months[m[group]]


def _iso(m: Match, ctx: TimeContext) -> DatesOrRule:
    return _day_of(int(m["y"]), int(m["m"]), int(m["d"]))


def _slashed(m: Match, ctx: TimeContext) -> DatesOrRule:
    a, b, y = int(m["a"]), int(m["b"]), year_number(m["y"], ctx)
    return _day_of(y, b, a) if a > 12 or m["sep"] == "." else _day_of(y, a, b)


def _month_day(m: Match, ctx: TimeContext) -> DatesOrRule:
    n, d = _month(m), int(m["day"])
    if m["year"]:
        return _day_of(year_number(m["year"], ctx), n, d)
    date(2000, n, d)  # raises ValueError for a day such as 31 April
    return fixed_day(n, d)


def _month_days(m: Match, ctx: TimeContext) -> DatesOrRule:
    n, a, b = _month(m), int(m["day"]), int(m["day2"])
    if b <= a:
        raise ValueError(b)
    date(2000, n, b)
    if m["year"]:
        y = year_number(m["year"], ctx)
        return _days(date(y, n, a).toordinal(), date(y, n, b).toordinal())
    return fixed_day(n, a, b - a)


def _month_year(m: Match, ctx: TimeContext) -> DatesOrRule:
    return (ms_of(part_of(month(year_number(m["year"], ctx), _month(m)), m["part"])),)


def _year_month(m: Match, ctx: TimeContext) -> DatesOrRule:
    return (ms_of(month(int(m["y"]), int(m["m"]))),)


def _month_alone(m: Match, ctx: TimeContext) -> DatesOrRule:
    n, part = _month(m), m["part"]
    return lambda year: part_of(month(year, n), part)


def _month_range(m: Match, ctx: TimeContext) -> DatesOrRule:
    first, last = _month(m), _month(m, "month2")
    wrap = 12 if last < first else 0  # "from November to February" ends in the following year
    if m["year2"]:
        y = int(m["year"]) if m["year"] else int(m["year2"]) - (1 if wrap else 0)
        days = month(y, first)[0], month(int(m["year2"]), last)[1]
        if days[0] > days[1]:
            raise ValueError(y)
        return (ms_of(days),)
    if m["year"]:
        y = int(m["year"])
        return (ms_of((month(y, first)[0], month(y, last + wrap)[1])),)
    return lambda year: (month(year, first)[0], month(year, last + wrap)[1])


def _nth_in(days: Days, unit: str, n: int) -> Days:
    """The n-th day, week, fortnight, half, weekend, weekday or month within `days`; the last one for n = -1.

    Weeks are counted from the first of the days. Raises ValueError if there are fewer than n.
    """
    first, last = days
    if unit in tables().weekdays or unit == "weekend":
        start = date.fromordinal(first)
        weekday = 5 if unit == "weekend" else tables().weekdays[unit]
        day = last - (last - 1 - weekday) % 7 if n < 0 else nth_weekday(start.year, start.month, weekday, n)
        return day, day + (1 if unit == "weekend" else 0)
    if unit == "month":
        y = date.fromordinal(first).year
        return month(y, 12 if n < 0 else n)
    length = {"day": 1, "week": 7, "fortnight": 14, "half": (last - first + 2) // 2}[unit]
    if n < 0:
        return last - length + 1, last
    begin = first + (n - 1) * length
    if begin > last:
        raise ValueError(n)
    return begin, min(last, begin + length - 1)


def _nth_of(m: Match, ctx: TimeContext) -> DatesOrRule:
    """Reads "the first week of June", "last weekend of May 2010", "the last day of 2011"."""
    n, unit = tables().ordinals[m["nth"]], m["unit"]
    groups = m.groupdict()
    if "month" not in groups:
        return (ms_of(_nth_in(year_days(int(m["year"])), unit, n)),)
    number_of_month = _month(m)
    if groups["year"]:
        return (ms_of(_nth_in(month(year_number(m["year"], ctx), number_of_month), unit, n)),)
    return lambda year: _nth_in(month(year, number_of_month), unit, n)


def _season_year(m: Match, ctx: TimeContext) -> DatesOrRule:
    y = year_number(m["year"], ctx)
    name = m["season"]
    spans = [season_days(y, name, ctx.southern)]
    # "winter 2010" (in the south, "summer 2010") means the one that ends in 2010 as often as the one that
    # begins in it: both are returned.
    if name == ("summer" if ctx.southern else "winter") and "/" not in m[0]:
        spans.append(season_days(y + 1, name, True)) if ctx.southern else spans.insert(
            0, season_days(y - 1, name)
        )
    return tuple(ms_of(part_of(s, m["part"])) for s in spans)


def _season_last_year(m: Match, ctx: TimeContext) -> DatesOrRule:
    return (ms_of(part_of(season_days(ctx.now.year - 1, m["season"], ctx.southern), m["part"])),)


def _season_alone(m: Match, ctx: TimeContext) -> DatesOrRule:
    name, part, southern = m["season"], m["part"], ctx.southern
    return lambda year: part_of(season_days(year, name, southern), part)


def _ago(m: Match, ctx: TimeContext) -> DatesOrRule:
    unit = {"night": "day"}.get(m["unit"], m["unit"])
    days = unit_back(unit, number(m["n"]), ctx)
    first = date.fromordinal(days[0])
    if first.year < FIRST_YEAR:
        raise ValueError(first)  # "999 years ago" is before any photo
    return daypart(days[0], "night") if m["unit"] == "night" else (ms_of(days),)


def _half_ago(m: Match, ctx: TimeContext) -> DatesOrRule:
    middle = unit_back("month", 18 if m["half"] else 6, ctx)
    return _days(middle[0] - 15, middle[1] + 15)


def _few_ago(m: Match, ctx: TimeContext) -> DatesOrRule:
    unit = {"weekend": "week", "night": "day"}.get(m["unit"], m["unit"])
    if unit in tables().seasons or unit == "fortnight":
        raise ValueError(unit)
    return _days(unit_back(unit, 6, ctx)[0], unit_back(unit, 2, ctx)[1])


def _year_ago_today(m: Match, ctx: TimeContext) -> DatesOrRule:
    day = ctx.today - 365
    reach = 14 if "time" in m[0] else 1
    return _days(day - reach, day + reach)


def _last_unit(m: Match, ctx: TimeContext) -> DatesOrRule:
    if m["unit"] == "day":
        raise ValueError("the last day of school is not yesterday")
    return (ms_of(unit_back(m["unit"], 1, ctx)),)


def _before_last(m: Match, ctx: TimeContext) -> DatesOrRule:
    return (ms_of(unit_back(m["unit"], 2, ctx)),)


def _this_unit(m: Match, ctx: TimeContext) -> DatesOrRule:
    return (ms_of(unit_back(m["unit"], 0, ctx)),)


def _other_day(m: Match, ctx: TimeContext) -> DatesOrRule:
    return _days(ctx.today - (28 if "week" in m[0] else 14), ctx.today - 1)


def _past_units(m: Match, ctx: TimeContext) -> DatesOrRule:
    n = 3 if "few" in m[0] else number(m["n"] or "1")
    first = ctx.today - n * tables().unit_days[m["unit2"]] + (1 if m["unit2"] == "day" else 0)
    return ((ms_of((first, first))[0], ctx.now_ms),)


def _last_named(m: Match, ctx: TimeContext) -> DatesOrRule:
    n = _month(m)
    return (ms_of(last_of(lambda y: month(y, n), ctx, 1)),)


def _this_named(m: Match, ctx: TimeContext) -> DatesOrRule:
    return (ms_of(month(ctx.now.year, _month(m))),)


def _weekday(m: Match, ctx: TimeContext) -> DatesOrRule:
    back = (ctx.today - 1 - tables().weekdays[m["weekday"]]) % 7
    return daypart(ctx.today - (back or (7 if m["last"] == "last" else 0)), m["part"])


def _yesterday(m: Match, ctx: TimeContext) -> DatesOrRule:
    return daypart(ctx.today - (2 if m["before"] else 1), m["part"])


def _today(m: Match, ctx: TimeContext) -> DatesOrRule:
    return daypart(
        ctx.today, None if m[0].endswith("today") else "night" if m[0].endswith("tonight") else m["part"]
    )


def _last_night(m: Match, ctx: TimeContext) -> DatesOrRule:
    return daypart(ctx.today - 1, "night")


def _night_before_last(m: Match, ctx: TimeContext) -> DatesOrRule:
    return daypart(ctx.today - 2, "night")


def _last_time(m: Match, ctx: TimeContext) -> DatesOrRule:
    """ "last time": from the earliest photo to now (the paper's Table 9).

    The ranking, not the cube, decides which photo is the last.
    """
    return ((ctx.extent[0] if ctx.extent else None, ctx.now_ms),)


def _year(m: Match, ctx: TimeContext) -> DatesOrRule:
    y = int(m["year"])
    bare = m["part"] is None and not re.search(r"[a-z]", m[0])
    if bare and (
        y > ctx.now.year + 1 or (ctx.extent is not None and y not in ctx.years() and y + 1 not in ctx.years())
    ):
        raise ValueError(y)  # "1984" alone, outside the album's years, is a title and not a date
    return (ms_of(part_of(year_days(y), m["part"])),)


def _decade(m: Match, ctx: TimeContext) -> DatesOrRule:
    groups = m.groupdict()
    y = tables().decades[groups["word"]] if groups.get("word") else int(m["decade"])
    if y < 100:
        y += 2000 if 2000 + y <= ctx.now.year else 1900
    return (ms_of(part_of(year_days(y, 10), m["part"])),)


MAKERS: dict[str, Callable[[Match, TimeContext], DatesOrRule]] = {
    "iso": _iso,
    "slashed": _slashed,
    "month_day": _month_day,
    "month_days": _month_days,
    "month_year": _month_year,
    "year_month": _year_month,
    "month_alone": _month_alone,
    "month_range": _month_range,
    "nth_of": _nth_of,
    "season_year": _season_year,
    "season_last_year": _season_last_year,
    "season_alone": _season_alone,
    "ago": _ago,
    "half_ago": _half_ago,
    "few_ago": _few_ago,
    "year_ago_today": _year_ago_today,
    "last_unit": _last_unit,
    "before_last": _before_last,
    "this_unit": _this_unit,
    "other_day": _other_day,
    "past_units": _past_units,
    "last_named": _last_named,
    "this_named": _this_named,
    "weekday": _weekday,
    "yesterday": _yesterday,
    "today": _today,
    "last_night": _last_night,
    "night_before_last": _night_before_last,
    "last_time": _last_time,
    "year": _year,
    "decade": _decade,
}
