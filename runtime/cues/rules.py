"""Runs the rules of `cue_rules.json` over a query: each time expression becomes an atom (paper section 3.2,
layer 1).

Patterns see the query as lower-case ASCII of the same length (`flatten`), so their spans are spans of the
query. A rule is compiled and tried only when the query holds the words that it needs: most queries name no
time and cost a few microseconds. Earlier rules win over later ones; ranges and bounds are joined in
`cues_time`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from functools import cache

from .dates import Days, Interval, TimeContext, current_of, holiday, last_of, month, ms_of, year_days
from .makers import MAKERS, Match, year_number
from .tables import RuleText, pattern, tables


@dataclass(frozen=True)
class Atom:
    """A time expression before ranges are joined: either fixed intervals, or a rule that a year makes an
    interval of.

    `keep`: characters that stay in the text though understood: "Christmas" is a time and a thing. `exact`:
    the day itself, for a holiday whose name covers the days around it: two days after Christmas is the 27th.
    """

    span: tuple[int, int]
    kind: str
    fixed: tuple[Interval, ...] = ()
    yearly: Callable[[int], Days] | None = None
    keep: tuple[int, int] | None = None
    exact: Atom | None = None


_LIKE = {"–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "’": "'", "‘": "'", "`": "'"}


def flatten(text: str) -> str:
    """The query as lower-case ASCII of the same length, so that rules stay simple and spans stay true.

    Accented and other Latin letters become "z" (they continue a word), all other characters a space, except
    dashes and apostrophes.
    """
    if text.isascii() and text.isprintable():
        return text.lower()
    return "".join(
        c.lower()
        if c.isascii() and c.isprintable()
        else _LIKE.get(c) or ("z" if c.isalpha() and ord(c) < 0x590 else " ")
        for c in text
    )


@cache
def _classes() -> dict[str, frozenset[str]]:
    """The word classes that rules need, but "digit"; a class of one word has that word's name."""
    t = tables()
    return {
        "month": frozenset(t.months),
        "weekday": frozenset(t.weekdays) | {w + "s" for w in t.weekdays},
        "season": frozenset(t.seasons),
        "unit": t.units,
        "decade": frozenset(t.decades),
        "ordinal": frozenset(re.sub("[^a-z]", "", w) for w in t.ordinals),
        "holiday": frozenset(re.findall("[a-z]+", flatten(name))[0] for name in t.holidays),
        "today": frozenset({"today", "tonight", "this"}),
        "back": frozenset({"last", "past"}),
    }


def present(flat: str) -> frozenset[str]:
    """The words of a flat text, and the classes that they belong to."""
    words = frozenset(re.findall("[a-z]+", flat))
    found = {name for name, members in _classes().items() if not words.isdisjoint(members)}
    if any(c.isdigit() for c in flat):
        found.add("digit")
    return frozenset(found) | words


@cache
def compiled(text: str) -> re.Pattern[str]:
    """A pattern of the rules file, standing apart from letters and digits."""
    return re.compile(r"(?<![a-z0-9$#_])" + pattern(tables().expand(text)) + r"(?![a-z0-9])")


@cache
def _holiday_pattern() -> re.Pattern[str]:
    names = sorted(tables().holidays, key=lambda n: (-len(n), n))
    spelt = "|".join(
        re.escape(flatten(n)).replace(r"\ ", r"\s+").replace("'", "'?").replace(r"\-", r"[\s-]?")
        for n in names
    )
    ahead = r"(?:<<sep>>|\s+in\s+)(?:(?:19|20)[0-9]{2}|'[0-9]{2})\b"
    year = r"(?:<<sep>>|\s+in\s+)<<named_year>>"
    return compiled(
        r"(?<prep>(?:(?:on|at|during|over|for|in|from|of)\s+(?:the\s+)?)?)(?<last>last\s+|this\s+)?(?<keep>(?<name>"
        + spelt
        # "Easter weekend 2011"
        + rf")(?![a-z0-9])<<holiday_things>>(?:\s+[a-z]+(?={ahead}))?)(?:{year}|\s+(?<lastyear>last\s+year))?"
    )


def _name_key(text: str) -> str:
    return re.sub(r"[\s'-]+", "", flatten(text))


@cache
def _holiday_of() -> dict[str, tuple[Callable[[int], Days], Callable[[int], Days]]]:
    """Name → the days around it, and the day itself."""
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
    """ "Christmas 2010", "last Christmas", "Christmas last year", or the holiday of any year."""
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
    """May, March alone: only as the last word, with a capital, not first, and not where a person or an event
    would stand ("with May").
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
        start = m.start() - len(flat[: m.start()]) + len(flat[: m.start()].rstrip()) - len(before[-1])
        if text[start].isupper():
            continue  # "the Million Mo March" is an event
        n = tables().months[m[1]]
        out.append(Atom(m.span(), "yearly", yearly=lambda y, n=n: month(y, n)))  # type: ignore[misc]
    return out


def _ideographic(text: str) -> list[Atom]:
    """2010年5月3日 and its shorter forms, as Chinese and Japanese write dates."""
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
            made = MAKERS[rule.make](m, ctx)
        except (ValueError, OverflowError, KeyError):
            continue  # 31 April, the year 0: no date, so no cue
        if callable(made):
            out.append(Atom(m.span(), "yearly", yearly=made))
        else:
            out.append(Atom(m.span(), rule.kind, fixed=made))
    return out


def atoms(text: str, ctx: TimeContext) -> list[Atom]:
    """Every time expression, none overlapping another (earlier rules win), in the order of the text."""
    flat = flatten(text)
    held = present(flat)
    found = _ideographic(text) if "年" in text else []
    if "holiday" in held:
        found += _holidays(flat, ctx)
    for rule in tables().rules:
        if all(need in held for need in rule.needs):
            found += _by_rule(rule, flat, ctx)
    if "month" in held:
        found += _capital_months(text, flat)
    return _apart(found, len(text))


def _apart(found: list[Atom], length: int) -> list[Atom]:
    taken = bytearray(length)
    out = []
    for atom in found:
        a, b = atom.span
        if not any(taken[a:b]):
            taken[a:b] = b"\1" * (b - a)
            out.append(atom)
    return sorted(out, key=lambda atom: atom.span)


__all__ = ["Atom", "Match", "atoms", "compiled", "flatten"]
