"""The words and rules of the readers of cues and questions, from `cue_rules.json`, which the apps read too.

Patterns use the syntax that ECMAScript, Java and ICU have in common; `pattern` converts it to Python's.
<<name>> in a pattern stands for a macro, or for the words of a table, longest first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..errors import RuntimeFailure

VERSION = 1
_MACRO = re.compile(r"<<(\w+)>>")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class HolidayRule:
    """The date of a holiday, given by exactly one of the first six fields.

    `day`: (month, day). `nth`: (month, weekday, n), the last one for n = -1. `easter`, `orthodox`: days after
    Easter Sunday of that calendar. `weekday_from`: (month, day, weekday), the first such weekday on or after
    that date. `table`: the name of a table of first days by year. `shift`: days from that date to the holiday
    itself. `before`, `after`: days around it on which people photograph under its name.
    """

    day: tuple[int, ...] = ()
    nth: tuple[int, ...] = ()
    easter: int | None = None
    orthodox: int | None = None
    weekday_from: tuple[int, ...] = ()
    table: str = ""
    shift: int = 0
    before: int = 0
    after: int = 0


@dataclass(frozen=True)
class RuleText:
    """One rule: its maker's name, the kind of cue, the word classes that a text must contain, the pattern."""

    make: str
    kind: str
    needs: tuple[str, ...]
    pattern: str


@dataclass(frozen=True)
class PlaceWords:
    """Prepositions and other words near the name of a place.

    `strong`, `weak`: prepositions that govern a place. `uncertain`: strong ones that govern other words too.
    `wide`: those that mean "near". `skip`: words between preposition and name. `openers`: words before a name
    that are not part of it, even if capitalised. `inner`: words inside a name that need no capital.
    `capitals`: abbreviations ("US") that, in capitals, are accepted after any preposition. `home`: a pattern
    for "at home".
    """

    strong: frozenset[str]
    weak: frozenset[str]
    uncertain: frozenset[str]
    wide: frozenset[str]
    skip: frozenset[str]
    openers: frozenset[str]
    inner: frozenset[str]
    capitals: frozenset[str]
    home: str


@dataclass(frozen=True)
class Phrase:
    """A rule of another language: the pattern, and the English words for what it matches."""

    pattern: str
    english: str


@dataclass(frozen=True, eq=False)
class Language:
    """How queries in one language other than English are read (`languages.py`).

    `marks`: a pattern of letters or words by which the language is known, "" for a language of Latin letters,
    which is known by its `words`. `spaceless`: words are not separated by spaces. `before`, `after`,
    `near_before`, `near_after`: patterns of what stands beside the name of a place and means "in" or "near".
    `endings`: endings of inflected names, and what they replace. `tables`: name → words → English words.
    `digits`: name → pattern of a number.
    """

    name: str
    marks: str
    words: frozenset[str]
    spaceless: bool
    before: str
    after: str
    near_before: str
    near_after: str
    endings: tuple[tuple[str, str], ...]
    tables: Mapping[str, Mapping[str, str]]
    digits: Mapping[str, str]
    rules: tuple[Phrase, ...]


@dataclass(frozen=True)
class QuestionWords:
    """The words by which questions are read (questions/words.py).

    `words`: language → role → word → its reading: a number, a unit, or the plain form of another spelling; ""
    without one. `lists`: name → words that the reader's rules name.
    """

    words: Mapping[str, Mapping[str, Mapping[str, str]]]
    lists: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class CueTables:
    """The content of `cue_rules.json`, typed.

    Months are 1..12, weekdays 0 (Monday)..6, hours 0..24 (above 24: of the next day).
    """

    months: Mapping[str, int]
    ambiguous_months: frozenset[str]
    weekdays: Mapping[str, int]
    seasons: Mapping[str, int]
    numbers: Mapping[str, int]
    ordinals: Mapping[str, int]
    decades: Mapping[str, int]
    thirds: Mapping[str, tuple[int, int]]
    units: frozenset[str]
    unit_days: Mapping[str, int]
    reporting: frozenset[str]
    dayparts: Mapping[str, tuple[int, int]]
    recurring_hours: Mapping[str, tuple[int, int, float]]
    recurring_weekdays: Mapping[str, tuple[int, ...]]
    holidays: Mapping[str, HolidayRule]
    tables: Mapping[str, Mapping[int, int]]
    macros: Mapping[str, str]
    rules: tuple[RuleText, ...]
    places: PlaceWords
    trust: Mapping[str, float]
    english: frozenset[str]
    languages: tuple[Language, ...]
    questions: QuestionWords

    @cached_property
    def clear_months(self) -> frozenset[str]:
        """Month names that are not also another word or name: "may" and "jan" are missing."""
        return frozenset(m for m in self.months if m not in self.ambiguous_months and len(m) > 3)

    def expand(self, text: str) -> str:
        """The pattern with its macros and tables expanded, still in the shared syntax.

        Raises RuntimeFailure for an unknown name, and for macros that refer to each other in a circle.
        """
        for _ in range(8):
            text, changed = _MACRO.subn(lambda m: self._macro(m[1]), text)
            if not changed:
                return text
        raise RuntimeFailure("cue_rules.json: macros that name each other")

    def _macro(self, name: str) -> str:
        if name in self.macros:
            return self.macros[name]
        words = getattr(self, name, None)
        if not isinstance(words, Mapping | frozenset):
            raise RuntimeFailure(f"cue_rules.json: no macro and no table {name!r}")
        return "|".join(
            re.escape(w).replace(r"\ ", r"\s+") for w in sorted(words, key=lambda w: (-len(w), w))
        )


def pattern(text: str) -> str:
    """Converts the shared syntax to Python's, in which named groups and back references differ."""
    return re.sub(r"\\k<(\w+)>", r"(?P=\1)", re.sub(r"\(\?<(?![=!])", "(?P<", text))


def _pairs(raw: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    return {str(name): (int(low), int(high)) for name, (low, high) in raw.items()}


def _holiday(raw: Mapping[str, Any]) -> HolidayRule:
    unknown = set(raw) - set(HolidayRule.__dataclass_fields__)
    if unknown:
        raise ValueError(f"holiday rule {sorted(unknown)}")
    return HolidayRule(
        day=tuple(raw.get("day", ())),
        nth=tuple(raw.get("nth", ())),
        easter=raw.get("easter"),
        orthodox=raw.get("orthodox"),
        weekday_from=tuple(raw.get("weekday_from", ())),
        table=raw.get("table", ""),
        shift=raw.get("shift", 0),
        before=raw.get("before", 0),
        after=raw.get("after", 0),
    )


def _places(raw: Mapping[str, Any]) -> PlaceWords:
    return PlaceWords(
        strong=frozenset(raw["strong"]),
        weak=frozenset(raw["weak"]),
        uncertain=frozenset(raw["uncertain"]),
        wide=frozenset(raw["wide"]),
        skip=frozenset(raw["skip"]),
        openers=frozenset(raw["openers"]),
        inner=frozenset(raw["inner"]),
        capitals=frozenset(raw["capitals"]),
        home=str(raw["home"]),
    )


def _language(raw: Mapping[str, Any], digits: Mapping[str, str]) -> Language:
    places = raw["places"]
    written = {word for table in raw["tables"].values() for name in table for word in _LETTERS.findall(name)}
    return Language(
        name=raw["name"],
        marks=raw["marks"],
        # A language with marks is known by them alone.
        words=frozenset() if raw["marks"] else frozenset(raw["words"]) | written,
        spaceless=raw["spaceless"],
        before=places["before"],
        after=places["after"],
        near_before=places["near_before"],
        near_after=places["near_after"],
        endings=tuple((ending, base) for ending, base in raw["endings"]),
        tables=raw["tables"],
        digits=digits,
        rules=tuple(Phrase(r["pattern"], r["english"]) for r in raw["rules"]),
    )


def read(text: str) -> CueTables:
    """Parses a rules file. Raises RuntimeFailure if the text is not one of this version."""
    try:
        raw = json.loads(text)
        if raw["version"] != VERSION:
            raise RuntimeFailure(f"cue_rules.json: version {raw['version']}, this program reads {VERSION}")
        return _typed(raw)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RuntimeFailure(
            f"cue_rules.json: {type(error).__name__} {error}: install the package again"
        ) from None


def _typed(raw: Mapping[str, Any]) -> CueTables:
    languages = raw["languages"]
    english = frozenset(
        (*languages["english"], *raw["months"], *raw["weekdays"], *raw["seasons"], *raw["numbers"])
    )
    return CueTables(
        months=raw["months"],
        ambiguous_months=frozenset(raw["ambiguous_months"]),
        weekdays=raw["weekdays"],
        seasons=raw["seasons"],
        numbers=raw["numbers"],
        ordinals=raw["ordinals"],
        decades=raw["decades"],
        thirds=_pairs(raw["thirds"]),
        units=frozenset(raw["units"]),
        unit_days=raw["unit_days"],
        reporting=frozenset(raw["reporting"]),
        dayparts=_pairs(raw["dayparts"]),
        recurring_hours={
            str(name): (int(low), int(high), float(share))
            for name, (low, high, share) in raw["recurring"]["hours"].items()
        },
        recurring_weekdays={name: tuple(days) for name, days in raw["recurring"]["weekdays"].items()},
        holidays={name: _holiday(entry["rule"]) for entry in raw["holidays"] for name in entry["names"]},
        tables={
            name: {int(year): int(day) for year, day in days.items()} for name, days in raw["tables"].items()
        },
        macros=raw["macros"],
        rules=tuple(RuleText(r["make"], r["kind"], tuple(r["needs"]), r["pattern"]) for r in raw["rules"]),
        places=_places(raw["places"]),
        trust=raw["trust"],
        english=english,
        languages=tuple(_language(one, languages["digits"]) for one in languages["known"]),
        questions=QuestionWords(
            words=raw["questions"]["words"],
            lists={name: frozenset(words) for name, words in raw["questions"]["lists"].items()},
        ),
    )


@cache
def tables() -> CueTables:
    """The rules that the package contains, read once."""
    return read(Path(__file__).with_name("cue_rules.json").read_text(encoding="utf-8"))
