"""The rules that recognise one time expression each: a pattern, and what it makes of the clock (paper section 3.2, layer 1).

Patterns see the query as lower-case ASCII of the same length (`flatten`), so their spans are spans of the query. A rule that matches no
real date (31 April) makes no cue. Earlier rules win over later ones; ranges and bounds are joined in `cues_time`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from .cues_calendar import (
    AMBIGUOUS_MONTHS,
    DECADES,
    FIRST_YEAR,
    HOLIDAYS,
    LAST_YEAR,
    MONTHS,
    NUMBERS,
    SEASONS,
    WEEKDAYS,
    Days,
    Interval,
    TimeContext,
    _fixed_day,
    current_of,
    daypart,
    last_of,
    month,
    ms_of,
    part_of,
    season_days,
    unit_back,
    year_days,
)


@dataclass(frozen=True)
class Atom:
    """A time expression before ranges are joined: either fixed intervals, or a rule that a year makes an interval of."""

    span: tuple[int, int]
    fixed: tuple[Interval, ...] = ()
    yearly: Callable[[int], Days] | None = None
    keep: tuple[int, int] | None = None  # characters that stay in the text though understood: "Christmas" is a time and a thing


# "Christmas tree" is a thing, and stood there a week before.
_HOLIDAY_THINGS = (
    r"(?!\s+(?:trees?|lights?|markets?|decorations?|cards?|costumes?|eggs?|bunn\w+|sweaters?|jumpers?|ornaments?|songs?|carols?|cookies?|cakes?|"
    r"presents?|gifts?|stockings?|wreaths?|movies?|films?|concerts?|pumpkins?|island|fair|resolutions?|shopping|turkeys?|jokes?)\b)"
)
_SEASON_THINGS = (
    r"(?!\s+(?:coats?|jackets?|dress\w*|cloth\w+|hats?|boots?|rolls?|onions?|colou?rs|"
    r"break|school|camp|olympics|jobs?|tires?|tyres?)\b)"
)


def flatten(text: str) -> str:
    """The query as lower-case ASCII of the same length, so that rules stay simple and spans stay true.

    Accented and other Latin letters become "z" (they continue a word), all other characters a space, except dashes and apostrophes.
    """
    table = {"–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "’": "'", "‘": "'", "`": "'"}
    return "".join(c.lower() if c.isascii() and c.isprintable() else table.get(c) or ("z" if c.isalpha() and ord(c) < 0x590 else " ") for c in text)


# ---------------------------------------------------------------------------------------------------------------------- rules
_M = "(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b\.?"
_Y = r"(?P<year>(?:19|20)[0-9]{2})\b(?!\s*(?:dollars|euros|pounds|bucks|usd|eur|people|steps|photos|pictures|km|miles|m\b|px|%|[.,][0-9]))"
_D = r"(?P<day>0?[1-9]|[12][0-9]|3[01])(?:st|nd|rd|th)?\b"
_N = r"(?P<n>[0-9]{1,3}|a couple of|a couple|couple|" + "|".join(w for w in NUMBERS if " " not in w and w != "couple") + r")"
_UNIT = r"(?P<unit>day|week|weekend|month|year|spring|summer|autumn|fall|winter)s?"
_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)"
_WEEKDAY = r"(?P<weekday>" + "|".join(w for w in sorted(WEEKDAYS, key=len, reverse=True)) + r")"
_PREP = (
    r"(?:(?:back\s+)?(?:in|on|at|during|from|of|for|over|around|by|as\s+of)\s+(?:the\s+)?"
    r"(?:(?:month|year|day|summer\s+of|weekend|week)\s+of\s+)?)?"
)
_HARD_PREP = r"(?:in|during|since|from|until|till|before|after|over|every|each|through)\s+(?:the\s+)?(?:month\s+of\s+)?"
_PART = r"(?:(?P<part>early|mid|late|beginning of|start of|end of)[\s-]+)?(?:the\s+)?"
_SEP = r"[\s,]{1,3}(?:of\s+)?"

Match = re.Match[str]
Rule = tuple[re.Pattern[str], Callable[[Match, TimeContext], "tuple[Interval, ...] | Callable[[int], Days] | None"]]


def _days(first: int, last: int) -> tuple[Interval, ...]:
    return (ms_of((first, last)),)


def _int(text: str) -> int:
    found = NUMBERS.get(" ".join(text.split()))
    return int(text) if found is None else found


def _day_of(y: int, m: int, d: int) -> tuple[Interval, ...]:
    if not FIRST_YEAR <= y <= LAST_YEAR:
        raise ValueError(y)
    day = date(y, m, d).toordinal()
    return _days(day, day)


def _iso(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return _day_of(int(m["y"]), int(m["m"]), int(m["d"]))


def _slashed(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    a, b, y = int(m["a"]), int(m["b"]), int(m["y"])
    y += 0 if y > 99 else 2000 if 2000 + y <= ctx.now.year + 1 else 1900
    return _day_of(y, b, a) if a > 12 or m["sep"] == "." else _day_of(y, a, b)


def _month_day(m: Match, ctx: TimeContext) -> tuple[Interval, ...] | Callable[[int], Days]:
    n, d = MONTHS[m["month"]], int(m["day"])
    if m["year"]:
        return _day_of(int(m["year"]), n, d)
    date(2000, n, d)  # April 31 is no date: ValueError
    return _fixed_day(n, d)


def _month_days(m: Match, ctx: TimeContext) -> tuple[Interval, ...] | Callable[[int], Days]:
    n, a, b = MONTHS[m["month"]], int(m["day"]), int(m["day2"])
    if b <= a:
        raise ValueError(b)
    date(2000, n, b)
    if m["year"]:
        y = int(m["year"])
        return _days(date(y, n, a).toordinal(), date(y, n, b).toordinal())
    return _fixed_day(n, a, 0, b - a)


def _month_year(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return (ms_of(part_of(month(int(m["year"]), MONTHS[m["month"]]), m["part"])),)


def _year_month(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return (ms_of(month(int(m["y"]), int(m["m"]))),)


def _month_alone(m: Match, ctx: TimeContext) -> Callable[[int], Days]:
    n, part = MONTHS[m["month"]], m["part"]
    return lambda year: part_of(month(year, n), part)


def _month_range(m: Match, ctx: TimeContext) -> tuple[Interval, ...] | Callable[[int], Days]:
    first, last = MONTHS[m["month"]], MONTHS[m["month2"]]
    over = 12 if last < first else 0  # "from November to February" ends in the year after
    if m["year2"]:
        y = int(m["year"]) if m["year"] else int(m["year2"]) - (1 if over else 0)
        days = month(y, first)[0], month(int(m["year2"]), last)[1]
        if days[0] > days[1]:
            raise ValueError(y)
        return (ms_of(days),)
    if m["year"]:
        y = int(m["year"])
        return (ms_of((month(y, first)[0], month(y, last + over)[1])),)
    return lambda year: (month(year, first)[0], month(year, last + over)[1])


def _season_year(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    y = int(m["year"])
    spans = [season_days(y, m["season"])]
    if m["season"] == "winter":  # people mean the January as often as the December
        spans.insert(0, season_days(y - 1, "winter"))
    return tuple(ms_of(s) for s in spans)


def _season_alone(m: Match, ctx: TimeContext) -> Callable[[int], Days]:
    name = m["season"]
    return lambda year: season_days(year, name)


def _ago(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    days = unit_back(m["unit"], _int(m["n"]), ctx)
    date_first = date.fromordinal(days[0])
    if date_first.year < FIRST_YEAR:
        raise ValueError(date_first)  # "999 years ago": nobody took photos
    return (ms_of(days),)


def _last_unit(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    if m["unit"] == "day":
        raise ValueError("the last day of school is not yesterday")
    return (ms_of(unit_back(m["unit"], 1, ctx)),)


def _before_last(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return (ms_of(unit_back(m["unit"], 2, ctx)),)


def _this_unit(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return (ms_of(unit_back(m["unit"], 0, ctx)),)


def _past_units(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    n = _int(m["n"] or "1")
    first = ctx.today - n * {"day": 1, "week": 7, "month": 30, "year": 365}[m["unit2"]] + (1 if m["unit2"] == "day" else 0)
    return ((ms_of((first, first))[0], ctx.now_ms),)


def _few_ago(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    unit = m["unit"] if m["unit"] != "weekend" else "week"
    if unit in SEASONS:
        raise ValueError(unit)
    return _days(unit_back(unit, 6, ctx)[0], unit_back(unit, 2, ctx)[1])


def _last_named(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    n = MONTHS[m["month"]]
    return (ms_of(last_of(lambda y: month(y, n), ctx, 1)),)


def _this_named(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return (ms_of(month(ctx.now.year, MONTHS[m["month"]])),)


def _weekday(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    back = (ctx.today - 1 - WEEKDAYS[m["weekday"]]) % 7
    day = ctx.today - (back or (7 if m["last"] == "last" else 0))
    return _days(day, day)


def _yesterday(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return daypart(ctx.today - (2 if m["before"] else 1), m["part"])


def _today(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return daypart(ctx.today, None if m[0].endswith("today") else "night" if m[0].endswith("tonight") else m["part"])


def _last_night(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    return daypart(ctx.today - 1, "night")


def _last_time(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    """The paper's Table 9: "last time" is from the earliest photo to now, so that the ranking, not the cube, decides which was last."""
    return ((ctx.extent[0] if ctx.extent else None, ctx.now_ms),)


def _year(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    y = int(m["year"])
    bare = m["part"] is None and not re.search(r"[a-z]", m[0])
    if bare and (y > ctx.now.year + 1 or (ctx.extent is not None and y not in ctx.years() and y + 1 not in ctx.years())):
        raise ValueError(y)  # "1984" alone, in an album of this century, is a book
    return (ms_of(part_of(year_days(y), m["part"])),)


def _decade(m: Match, ctx: TimeContext) -> tuple[Interval, ...]:
    y = DECADES[m["word"]] if m["word"] else int(m["decade"])
    if y < 100:
        y += 2000 if 2000 + y <= ctx.now.year else 1900
    return (ms_of(year_days(y, 10)),)


def _rules() -> list[Rule]:
    def rule(pattern: str) -> re.Pattern[str]:
        return re.compile(r"(?<![a-z0-9$#_])" + pattern + r"(?![a-z0-9])")

    unit2 = r"(?P<unit2>day|week|month|year)s?"
    month_any = r"(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + ")"
    any_year = r"(?:[\s,]{1,3}(?:of\s+)?(?P<year%s>(?:19|20)[0-9]{2}))?"
    between = r"between\s+" + month_any + any_year % ""
    month2 = month_any.replace("<month>", "<month2>") + any_year % "2"
    and_months = r"\s+and\s+" + month2
    to_months = month_any + any_year % "" + r"\s*(?:-|\bto\b|\buntil\b|\btill\b|\bthrough\b)\s*" + month2
    clear = r"(?P<month>" + "|".join(sorted((m for m in MONTHS if m not in AMBIGUOUS_MONTHS and len(m) > 3), key=len, reverse=True)) + ")"
    day2 = r"\s*(?:-|to)\s*(?P<day2>[0-9]{1,2})(?:st|nd|rd|th)?"
    maybe_year = "(?:" + _SEP + _Y + ")?"
    day_before = r"(?P<before>(?:the\s+)?day\s+before\s+)?"
    decade = r"(?:(?P<decade>(?:19|20)?[0-9]0)'?s|(?P<word>" + "|".join(DECADES) + "))"
    iso_month, iso_day = r"(?P<m>0[1-9]|1[0-2])", r"(?P<d>0[1-9]|[12][0-9]|3[01])"
    return [
        (rule(_PREP + r"(?P<y>(?:19|20)[0-9]{2})(?P<sep>[-/.]?)" + iso_month + "(?P=sep)" + iso_day), _iso),
        (rule(_PREP + r"(?P<y>(?:19|20)[0-9]{2})-(?P<m>[1-9]|1[0-2])-(?P<d>[12][0-9]|3[01]|[1-9])"), _iso),
        (rule(_PREP + r"(?P<a>[0-9]{1,2})(?P<sep>[/.-])(?P<b>[0-9]{1,2})(?P=sep)(?P<y>(?:19|20)[0-9]{2}|(?<=/)[0-9]{2})"), _slashed),
        (rule(_PREP + _M + r"\s*" + _D + day2 + maybe_year), _month_days),
        (rule(_PREP + _D + day2 + r"\s+(?:of\s+)?" + _M + maybe_year), _month_days),
        (rule(between + and_months), _month_range),
        (rule(r"(?:from\s+|in\s+|during\s+)?" + to_months), _month_range),
        (rule(_PREP + _D + r"\s+(?:of\s+)?" + _M + maybe_year), _month_day),
        (rule(_PREP + _M + r"\s*" + r"(?:the\s+)?" + _D + maybe_year), _month_day),
        (rule(_PREP + _PART + _M + r"(?:[\s,]{1,3}(?:of\s+)?|-)" + _Y), _month_year),
        (rule(_PREP + r"(?P<y>(?:19|20)[0-9]{2})[-/](?P<m>0[1-9]|1[0-2])"), _year_month),
        (rule(_PREP + r"(?P<m>0?[1-9]|1[0-2])/(?P<y>(?:19|20)[0-9]{2})"), _year_month),
        (rule(_PREP + _SEASON + r"(?:" + _SEP + r"|\s+in\s+)" + _Y), _season_year),
        (rule(r"the\s+last\s+time|last\s+time"), _last_time),
        (rule(r"(?:over\s+|in\s+|during\s+|from\s+)?(?:the\s+)?(?:past|last)\s+" + _N + r"\s+" + unit2), _past_units),
        (rule(r"(?:over\s+|in\s+|during\s+)?(?:the\s+)?past\s+(?P<n>)" + unit2), _past_units),
        (rule(r"(?:from\s+)?" + _N + r"\s+" + _UNIT + r"\s+ago"), _ago),
        (rule(r"(?:from\s+)?(?:a\s+few|several|some)\s+" + _UNIT + r"\s+ago"), _few_ago),
        (rule(_PREP + r"(?:the\s+)?" + _UNIT.removesuffix("s?") + r"\s+before\s+last"), _before_last),
        (rule(_PREP + r"last\s+night"), _last_night),
        (rule(_PREP + r"(?:the\s+)?last\s+" + _UNIT.removesuffix("s?")), _last_unit),
        (rule(_PREP + r"(?:earlier\s+)?this\s+" + _UNIT.removesuffix("s?")), _this_unit),
        (rule(_PREP + r"last\s+" + month_any), _last_named),
        (rule(_PREP + r"this\s+(?:past\s+)?" + month_any), _this_named),
        (rule(r"(?:(?:on|from)\s+)?(?P<last>last|this\s+past|this|on|from|past)\s+" + _WEEKDAY), _weekday),
        (rule(r"(?:from\s+)?" + day_before + r"yesterday(?:\s+(?P<part>morning|afternoon|evening|night))?"), _yesterday),
        (rule(r"(?:from\s+)?(?:earlier\s+)?(?:this\s+(?P<part>morning|afternoon|evening)|today|tonight)"), _today),
        (rule(_PREP + _PART + _Y), _year),
        (rule(_PREP + r"(?:the\s+)?(?:early\s+|late\s+|mid[\s-]+)?" + decade), _decade),
        (rule(_HARD_PREP + _PART + month_any), _month_alone),
        (rule(_PART + clear), _month_alone),
        (rule(_HARD_PREP + _SEASON + _SEASON_THINGS), _season_alone),
    ]


_RULES = _rules()
_HOLIDAY_RULES = [
    (
        re.compile(
            r"(?<![a-z0-9])(?P<prep>(?:(?:on|at|during|over|for|in|from|of)\s+(?:the\s+)?)?)(?P<last>last\s+|this\s+)?(?P<keep>"
            + names
            + r")(?:(?:"
            + _SEP
            + r"|\s+in\s+)"
            + _Y
            + r"|\s+(?P<lastyear>last\s+year))?(?![a-z0-9])"
            + _HOLIDAY_THINGS
        ),
        of,
    )
    for names, of in HOLIDAYS.items()
]


def _capital_months(text: str, flat: str) -> list[Atom]:
    """May, March, April, June, August alone: only with a capital, not first, and not where a person would stand ("with May")."""
    out = []
    for m in re.finditer(r"(?<![a-z0-9'])(may|march)(?![a-z0-9'])", flat):
        before = flat[: m.start()].split()
        if not before or not text[m.start()].isupper() or not text[m.start() + 1].islower():
            continue
        if re.fullmatch(r"with|and|of|to|by|my|for|about|the|aunt|miss|mr|mrs|is|as|like|[a-z]*'s", before[-1]) or flat[m.end() :].strip():
            continue
        n = MONTHS[m[1]]
        out.append(Atom(m.span(), yearly=lambda y, n=n: month(y, n)))  # type: ignore[misc]
    return out


def _ideographic(text: str) -> list[Atom]:
    """2010年5月3日 and its shorter forms, as Chinese and Japanese write dates."""
    out = []
    for m in re.finditer(r"([12][0-9]{3})年(?:\s*([0-9]{1,2})月(?:\s*([0-9]{1,2})日)?)?", text):
        try:
            y, mo, d = (int(g) if g else 0 for g in m.groups())
            days = month(y, mo) if mo and not d and mo <= 12 else year_days(y) if not mo else (date(y, mo, d).toordinal(),) * 2
            out.append(Atom(m.span(), fixed=(ms_of((days[0], days[1])),)))
        except (ValueError, OverflowError):
            continue
    return out


def _holidays(flat: str, ctx: TimeContext) -> list[Atom]:
    out = []
    for pattern, of in _HOLIDAY_RULES:
        for m in pattern.finditer(flat):
            try:
                keep = m.span("keep")
                if m["year"]:
                    out.append(Atom(m.span(), fixed=(ms_of(of(int(m["year"]))),), keep=keep))
                elif m["lastyear"]:
                    out.append(Atom(m.span(), fixed=(ms_of(of(ctx.now.year - 1)),), keep=keep))
                elif (m["last"] or "").startswith("last"):
                    out.append(Atom(m.span(), fixed=(ms_of(last_of(of, ctx, 1)),), keep=keep))
                elif m["last"]:
                    out.append(Atom(m.span(), fixed=(ms_of(current_of(of, ctx)),), keep=keep))
                else:
                    out.append(Atom(m.span(), yearly=of, keep=keep))
            except (ValueError, OverflowError):
                continue
    return out


def atoms(text: str, ctx: TimeContext) -> list[Atom]:
    """Every time expression, none overlapping another (earlier rules win), in the order of the text."""
    flat = flatten(text)
    found = _ideographic(text) + _holidays(flat, ctx)
    for pattern, make in _RULES:
        for m in pattern.finditer(flat):
            try:
                made = make(m, ctx)
            except (ValueError, OverflowError, KeyError):
                continue  # 31 April, the year 0: no date, so no cue
            if made is not None:
                found.append(Atom(m.span(), yearly=made) if callable(made) else Atom(m.span(), fixed=made))
    found += _capital_months(text, flat)
    taken = bytearray(len(text))
    out = []
    for atom in found:
        a, b = atom.span
        if not any(taken[a:b]):
            taken[a:b] = b"\1" * (b - a)
            out.append(atom)
    return sorted(out, key=lambda atom: atom.span)
