"""Applies the rules of `cue_rules.json` to a query: each time expression becomes an atom.

Paper section 3.2, layer 1. Patterns are matched against the query as lower-case ASCII of the same length
(`flatten`), so their spans are spans of the query. A rule is compiled and tried only if the query has the
words that it needs, so that most queries, which name no time, take a few microseconds. Earlier rules take
precedence; `time_ranges` joins atoms into ranges and bounds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from .calendar_days import Days, Interval, TimeContext, current_of, holiday, last_of, month, ms_of, year_days
from .tables import RuleText, pattern, tables
from .time_words import MAKERS, Match, year_number


@dataclass(frozen=True)
class Atom:
    """A time expression before ranges are joined: fixed intervals, or a function from a year to days.

    `keep`: characters that stay in the text although understood: "Christmas" is a time and also something
    that photos show. `exact`: the holiday's day itself, if its name also covers the days around it: two days
    after Christmas is the 27th.
    """

    span: tuple[int, int]
    kind: str
    fixed: tuple[Interval, ...] = ()
    yearly: Callable[[int], Days] | None = None
    keep: tuple[int, int] | None = None
    exact: Atom | None = None


_ASCII_OF = {"–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "’": "'", "‘": "'", "`": "'"}


def flatten(text: str) -> str:
    """The query as lower-case ASCII of the same length, so that rules are simple and spans remain valid.

    Accented and other Latin letters (all letters below U+0590) become "z", because they continue a word;
    dashes and apostrophes become their ASCII forms, all other characters a space.
    """
    if text.isascii() and text.isprintable():
        return text.lower()
    return "".join(
        c.lower()
        if c.isascii() and c.isprintable()
        else _ASCII_OF.get(c) or ("z" if c.isalpha() and ord(c) < 0x590 else " ")
        for c in text
    )


@cache
def _classes() -> dict[str, frozenset[str]]:
    """The classes of words that rules name in `needs`, except "digit" and "holiday".

    A class that consists of one word is not listed here; a rule names the word itself.
    """
    t = tables()
    return {
        "month": frozenset(t.months),
        "weekday": frozenset(t.weekdays) | {w + "s" for w in t.weekdays},
        "season": frozenset(t.seasons),
        "unit": t.units,
        "decade": frozenset(t.decades),
        "ordinal": frozenset(re.sub("[^a-z]", "", w) for w in t.ordinals),
        "today": frozenset({"today", "tonight", "this"}),
        "back": frozenset({"last", "past"}),
    }


@cache
def _holiday_words() -> frozenset[frozenset[str]]:
    """The words of each holiday's name; the first alone where a hyphen or apostrophe may be left out.

    A text without them names no holiday, and the pattern of all names takes long to compile ("last spring"
    is no "spring festival").
    """
    words = ((flatten(name), re.findall("[a-z]+", flatten(name))) for name in tables().holidays)
    return frozenset(frozenset(found[:1] if {"'", "-"} & set(name) else found) for name, found in words)


def present(flat: str) -> frozenset[str]:
    """The words of a flattened text, and the names of the classes that they belong to."""
    words = frozenset(re.findall("[a-z]+", flat))
    classes = {name for name, members in _classes().items() if not words.isdisjoint(members)}
    if any(c.isdigit() for c in flat):
        classes.add("digit")
    if any(name <= words for name in _holiday_words()):
        classes.add("holiday")
    return frozenset(classes) | words


@cache
def compiled(text: str) -> re.Pattern[str]:
    """A pattern of the rules file, compiled so that it does not match inside a word or number."""
    return re.compile(r"(?<![a-z0-9$#_])" + pattern(tables().expand(text)) + r"(?![a-z0-9])")


@cache
def _holiday_pattern() -> re.Pattern[str]:
    names = sorted(tables().holidays, key=lambda n: (-len(n), n))
    spellings = "|".join(
        re.escape(flatten(n)).replace(r"\ ", r"\s+").replace("'", "'?").replace(r"\-", r"[\s-]?")
        for n in names
    )
    ahead = r"(?:<<sep>>|\s+in\s+)(?:(?:19|20)[0-9]{2}|'[0-9]{2})\b"
    year = r"(?:<<sep>>|\s+in\s+)<<named_year>>"
    return compiled(
        r"(?<prep>(?:(?:on|at|during|over|for|in|from|of)\s+(?:the\s+)?)?)(?<last>last\s+|this\s+)?(?<keep>(?<name>"
        + spellings
        # "Easter weekend 2011"
        + rf")(?![a-z0-9])<<holiday_things>>(?:\s+[a-z]+(?={ahead}))?)(?:{year}|\s+(?<lastyear>last\s+year))?"
    )


def _name_key(text: str) -> str:
    return re.sub(r"[\s'-]+", "", flatten(text))


@cache
def _holiday_of() -> dict[str, tuple[Callable[[int], Days], Callable[[int], Days]]]:
    """Name (as `_name_key`) → functions from a year to the days around the holiday, and to the day itself."""
    return {
        _name_key(n): (holiday(rule), holiday(replace(rule, before=0, after=0)))
        for n, rule in tables().holidays.items()
    }


def _holidays(flat: str, ctx: TimeContext) -> list[Atom]:
    out = []
    for m in _holiday_pattern().finditer(flat):
        around, itself = _holiday_of()[_name_key(m["name"])]
        try:
            exact = _holiday_atom(m, itself, ctx)
            out.append(replace(_holiday_atom(m, around, ctx), keep=m.span("keep"), exact=exact))
        except (ValueError, OverflowError):
            continue
    return out


def _holiday_atom(m: Match, of: Callable[[int], Days], ctx: TimeContext) -> Atom:
    """The atom of "Christmas 2010", "last Christmas", "Christmas last year", or the holiday in any year."""
    if m["year"]:
        days = of(year_number(m["year"], ctx))
    elif m["lastyear"]:
        days = of(ctx.now.year - 1)
    elif (m["last"] or "").startswith("last"):
        days = last_of(of, ctx, 1)
    elif m["last"]:
        days = current_of(of, ctx)
    else:
        return Atom(m.span(), "holiday", yearly=of)
    return Atom(m.span(), "span", fixed=(ms_of(days),))


def _capital_months(text: str, flat: str) -> list[Atom]:
    """The months May and March named alone: accepted only as the query's last word, with a capital letter.

    Not as its only word, nor after words that a person or an event follows ("with May").
    """
    out = []
    for m in re.finditer(r"(?<![a-z0-9'])(may|march)(?![a-z0-9'])", flat):
        before = flat[: m.start()].split()
        if (
            not before
            or not text[m.start()].isupper()
            or not text[m.start() + 1].islower()
            or flat[m.end() :].strip()
        ):
            continue
        if re.fullmatch(
            r"with|and|of|to|by|my|for|about|the|aunt|miss|mr|mrs|is|as|like|[a-z]*'s", before[-1]
        ):
            continue
        start = len(flat[: m.start()].rstrip()) - len(before[-1])  # of the word before the month
        if text[start].isupper():
            continue  # "the Million Mo March" is an event
        n = tables().months[m[1]]
        out.append(Atom(m.span(), "yearly", yearly=lambda y, n=n: month(y, n)))  # type: ignore[misc]
    return out


def _ideographic(text: str) -> list[Atom]:
    """Chinese and Japanese dates: 2010年5月3日 and its shorter forms."""
    out = []
    for m in re.finditer(r"([12][0-9]{3})年(?:\s*([0-9]{1,2})月(?:\s*([0-9]{1,2})日)?)?", text):
        try:
            y, mo, d = (int(g) if g else 0 for g in m.groups())
            days = (
                month(y, mo)
                if mo and not d and mo <= 12
                else year_days(y)
                if not mo
                else (date(y, mo, d).toordinal(),) * 2
            )
            out.append(
                Atom(m.span(), "day" if d else "month" if mo else "year", fixed=(ms_of((days[0], days[1])),))
            )
        except (ValueError, OverflowError):
            continue
    return out


def _by_rule(rule: RuleText, flat: str, ctx: TimeContext) -> list[Atom]:
    out = []
    for m in compiled(rule.pattern).finditer(flat):
        try:
            dates = MAKERS[rule.make](m, ctx)
        except (ValueError, OverflowError, KeyError):
            continue  # not a date (31 April, the year 0), so no cue
        if callable(dates):
            out.append(Atom(m.span(), "yearly", yearly=dates))
        else:
            out.append(Atom(m.span(), rule.kind, fixed=dates))
    return out


def atoms(text: str, ctx: TimeContext) -> list[Atom]:
    """All time expressions, in the order of the text; of overlapping ones that of the earliest rule."""
    flat = flatten(text)
    classes = present(flat)
    candidates = _ideographic(text) if "年" in text else []
    if "holiday" in classes:
        candidates += _holidays(flat, ctx)
    for rule in tables().rules:
        if all(need in classes for need in rule.needs):
            candidates += _by_rule(rule, flat, ctx)
    if "month" in classes:
        candidates += _capital_months(text, flat)
    return _without_overlaps(candidates, len(text))


def _without_overlaps(candidates: list[Atom], length: int) -> list[Atom]:
    taken = bytearray(length)
    out = []
    for atom in candidates:
        a, b = atom.span
        if not any(taken[a:b]):
            taken[a:b] = b"\1" * (b - a)
            out.append(atom)
    return sorted(out, key=lambda atom: atom.span)


__all__ = ["Atom", "Match", "atoms", "compiled", "flatten"]
