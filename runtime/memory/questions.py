"""Which stored fact a question asks for, and whether it asks for the earlier value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gamer.index.memory.records import Item

from .words import content

_BEFORE = re.compile(
    r"\b(?:before|previous(?:ly)?|used to|earlier|former(?:ly)?|original(?:ly)?|at first|first|old|ex|prior|"
    r"in the past|back then|once|did i)\b",
    re.IGNORECASE,
)
_NOW = re.compile(r"\b(?:now|current(?:ly)?|still|today|at the moment|these days|latest)\b", re.IGNORECASE)
# Words of questions that mean a key by another word.
_MEANT = {
    "home": "home live lives lived living reside address city town move moved based house",
    "job": "job work profession occupation career do-for",
    "employer": "employer company work employed firm works",
    "name": "name called",
    "age": "age old",
    "diet": "diet eat vegetarian vegan",
    "car": "car drive",
}
_OCCUPATION = re.compile(r"\b(?:do|did) i (?:use to )?do\b|\bfor a living\b", re.IGNORECASE)
_LIKING = re.compile(r"\b(?:like|love|enjoy|fond|fan|favor|into|hate|dislike|feel)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """`past`: whether the value before the current one is asked for."""

    words: frozenset[str]
    past: bool
    likes: bool
    text: str


def read(question: str) -> Asked:
    """Reads a question, of which the first 2,000 characters count."""
    text = question[:2_000].replace("’", "'")
    past = bool(_BEFORE.search(text)) and not _NOW.search(text)
    return Asked(frozenset(map(_stem, _words(text))), past, bool(_LIKING.search(text)), text)


def fitting(asked: Asked, items: list[Item]) -> list[Item]:
    """The core memories whose key the question names, best first; of each key the value that is asked for."""
    keys: dict[str, list[Item]] = {}
    for item in items:
        if item.value.kind == "core":
            keys.setdefault(item.value.key, []).append(item)
    scored = [(_fit(asked, key), key) for key in keys]
    best = max((score for score, _ in scored), default=0.0)
    if best < 0.5:
        return []
    named = [key for score, key in scored if score > best - 1e-9]
    return [value for key in named if (value := _asked_for(keys[key], asked.past)) is not None]


def _fit(asked: Asked, key: str) -> float:
    """0..1: the share of the key's words that the question holds."""
    head, _, rest = key.partition(" ")
    if head == "likes" or head.startswith("allergy"):
        words = {_stem(word) for word in rest.split()}
        if (head == "likes" and not asked.likes) or not words:
            return 0.0
        return len(words & asked.words) / len(words)
    if key in _MEANT:
        meant = {_stem(word) for word in _MEANT[key].split()}
        hits = len(meant & asked.words)
        return min(0.5 + 0.1 * hits, 0.9) if hits else 0.0
    words = {_stem(word.removesuffix("'s")) for word in content(key) if word not in ("date", "name")} or {
        _stem(key)
    }
    hits = len(words & asked.words)
    return hits / len(words) if hits else 0.0


def _asked_for(values: list[Item], past: bool) -> Item | None:
    """The current value; with `past`, the last one that another has replaced, None if there is none."""
    if not past:
        return next((item for item in reversed(values) if not item.past), None)
    old = [item for item in values if item.past]
    return max(old, key=lambda item: (item.value.at, item.id), default=None)


def _words(text: str) -> list[str]:
    found = re.findall(r"[\w'-]+", text.casefold())
    return [word.removesuffix("'s") for word in found] + ["do-for"] * bool(_OCCUPATION.search(text))


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
