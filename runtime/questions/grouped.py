"""What a question counts by: "how many a month", "which year did I photograph most", "where most"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from .words import Word, Words, index_of

Group = Literal["", "day", "month", "year", "place", "country"]
_UNITS: dict[str, Group] = {
    "day": "day", "month": "month", "year": "year", "city": "place", "place": "place", "country": "country"
}  # fmt: skip
_EACH = frozenset({"each", "every", "per"})
UNKNOWN = "unknown"  # the name of a group that the album does not say
SHOWN = 24  # days, months, years or places in a line
_BEFORE_WHICH = 2  # words: "in which year"


def take_groups(words: Words) -> tuple[list[Word], Group, bool]:
    """The words without what they count by, what that is, and whether only the greatest is asked for."""
    for at in range(1, len(words) - 1):
        group = _group(words[at + 1])
        each = words[at].key in _EACH or (words[at].key == "a" and words[at - 1].has("picture", "howmany"))
        if group and each and index_of(words[:at], "howmany") >= 0:
            return [*words[:at], *words[at + 2 :]], group, False
    most = next((at for at, word in enumerate(words) if word.key == "most" and _counts(words[at + 1 :])), -1)
    group = _asked(words) if most > 0 else ""
    if not group:
        return list(words), "", False
    begin = most - 1 if words[most - 1].key == "the" else most
    return [*words[:begin], *words[most + 1 :]], group, True


def _counts(after: Words) -> bool:
    """Whether "most" is of photos: it ends the question, or a picture follows, not "beautiful"."""
    rest = [word for word in after if not word.is_mark]
    return not rest or rest[0].has("picture", "medium") or rest[0].key in ("of", "often", "in")


def _asked(words: Words) -> Group:
    """What the question begins with: "in which year", "where"."""
    if words[0].has("where"):
        return "place"
    at = index_of(words[: _BEFORE_WHICH + 1], "which")
    return _group(words[at + 1]) if 0 <= at < len(words) - 1 else ""


def _group(word: Word) -> Group:
    return _UNITS.get(word.values.get("unit", word.key), "")


def counted(of: Sequence[str], most: bool) -> dict[str, int]:
    """How often each known name is in `of`, by name; only those with the most, if `most`."""
    counts = Counter(name for name in of if name != UNKNOWN)
    greatest = max(counts.values(), default=0)
    return {name: count for name, count in sorted(counts.items()) if not most or count == greatest}


def line(counts: Mapping[str, int]) -> str:
    """ "2025-01: 1, 2025-06: 9", in any language."""
    told = [f"{name}: {count}" for name, count in list(counts.items())[:SHOWN]]
    more = [f"… (+{len(counts) - SHOWN})"] if len(counts) > SHOWN else []
    return ", ".join([*told, *more])
