"""Which stored fact a question asks for, and whether it asks for the earlier value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gamer.index.memory.records import Item

from .words import content, stem

_BEFORE = re.compile(
    r"\b(?:before|previous(?:ly)?|use[d]? to|earlier|former(?:ly)?|original(?:ly)?|first(?! name)|"
    r"(?<!how )old|ex|prior|in the past|back then|once)\b",
    re.IGNORECASE,
)
# "Where did I live?" asks for what no longer is, "when did I move?" does not.
# From the last such word before "did", lest every one of many is followed to the end.
_ASKS = r"\b(?:what|where|who|which)\b"
_DID = re.compile(rf"{_ASKS}(?:(?!{_ASKS}).)*\bdid (?:i|we)\b(?! (?:say|tell|mention))", re.IGNORECASE)
_I = re.compile(r"\b(?:i|i'm|i've|me|mine|we|us|our)\b", re.IGNORECASE)
_DO_I_KNOW = re.compile(
    r"\b(?:do|did|have|can|could) (?:i|you) (?:know|say|said|tell|told|mention(?:ed)?|remember)\b(?: you)?"
    r"|\b(?:tell|told) me\b",
    re.IGNORECASE,
)
_MINE = re.compile(r"\bmy ((?:[\w'-]+ ){0,3}[\w'-]+)", re.IGNORECASE)
_PLAIN = frozenset(
    [
        "new",
        "old",
        "current",
        "first",
        "last",
        "full",
        "previous",
        "former",
        "own",
        "next",
        "original",
        "exact",
    ]
)
_NOW = re.compile(r"\b(?:now|current(?:ly)?|still|today|at the moment|these days|latest)\b", re.IGNORECASE)
# Words of questions that mean a key by another word.
_MEANT = {
    "home": "home live lives lived living reside address city town move moved based house",
    "job": "job work profession occupation career do-for",
    "employer": "employer company work employed firm works",
    "name": "name called",
    "persona: name": "name called",
    "age": "age old",
    "diet": "diet eat vegetarian vegan",
    "car": "car drive",
}
_OCCUPATION = re.compile(r"\b(?:do|did) i (?:use to )?do\b|\bfor a living\b", re.IGNORECASE)
_LIKING = re.compile(r"\b(?:like|love|enjoy|fond|fan|favor|into|hate|dislike|feel)\b", re.IGNORECASE)


@dataclass(frozen=True)
class FactQuestion:
    """`past`: whether the value before the current one is asked for. `mine`: it is about the person.

    `owned`: of each thing that is called "my …", the stem of its first word.
    """

    words: frozenset[str]
    past: bool
    likes: bool
    mine: bool
    owned: tuple[str, ...]


def read(question: str) -> FactQuestion:
    """Reads a question, of which the first 2,000 characters count."""
    text = question[:2_000].replace("’", "'")
    past = bool(_BEFORE.search(text) or _DID.search(text)) and not _NOW.search(text)
    mine = bool(_I.search(_DO_I_KNOW.sub(" ", text)))
    return FactQuestion(
        frozenset(map(stem, _words(text))), past, bool(_LIKING.search(text)), mine, _owned(text)
    )


def _owned(text: str) -> tuple[str, ...]:
    named = (
        [word for word in found.casefold().split() if word not in _PLAIN] for found in _MINE.findall(text)
    )
    return tuple(stem(words[0].removesuffix("'s")) for words in named if words)


def fitting(asked: FactQuestion, items: list[Item]) -> list[Item]:
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
    return [value for key in named if (value := _asked_for(keys[key], asked)) is not None]


def _fit(asked: FactQuestion, key: str) -> float:
    """0..1: the share of the key's words that the question holds."""
    head, _, rest = key.partition(" ")
    if head == "likes" or head.startswith("allergy"):
        words = {stem(word) for word in rest.split()}
        if (head == "likes" and not asked.likes) or not words or not _is_owners(asked, words | {"allergy"}):
            return 0.0
        return len(words & asked.words) / len(words)
    if key in _MEANT:
        meant = {stem(word) for word in _MEANT[key].split()}
        if not _is_owners(asked, meant):
            return 0.0
        hits = len(meant & asked.words)
        return min(0.5 + 0.1 * hits, 0.9) if hits else 0.0
    owner, of, what = key.rpartition("'s ")
    if of and what in _MEANT:  # "Clara's home": where does Clara live?
        named = {stem(word) for word in content(owner)} <= asked.words
        return 0.9 if named and {stem(word) for word in _MEANT[what].split()} & asked.words else 0.0
    words = {stem(word.removesuffix("'s")) for word in content(key) if word not in ("date", "name")} or {
        stem(key)
    }
    if asked.owned and not any(name in words for name in asked.owned):
        return 0.0  # "my sister's favourite colour" is not "favourite colour"
    hits = len(words & asked.words)
    return hits / len(words) if 2 * hits > len(words) else 0.0


def _is_owners(asked: FactQuestion, meant: set[str]) -> bool:
    """Whether a question is about the person's own home, name, likes: "where does my sister live?" is not."""
    return any(name in meant for name in asked.owned) if asked.owned else asked.mine


def _asked_for(values: list[Item], asked: FactQuestion) -> Item | None:
    """The current value, or the one that the question names; with `past`, the last other one before it.

    None if there is none.
    """
    named = [v for v in values if {stem(word) for word in content(v.value.text)} & asked.words]
    current = next((item for item in reversed(values) if not item.past), None)
    if not asked.past:
        return named[-1] if named else current
    pivot = named[-1] if named else current
    old = [
        item
        for item in values
        if item.past and (pivot is None or item.value.text.casefold() != pivot.value.text.casefold())
    ]
    if named and pivot is not None:
        old = [item for item in old if item.value.at < pivot.value.at]
    return max(old, key=lambda item: (item.value.at, item.id), default=None)


def _words(text: str) -> list[str]:
    found = re.findall(r"[\w'-]+", text.casefold().replace("for a living", " "))
    return [word.removesuffix("'s") for word in found] + ["do-for"] * bool(_OCCUPATION.search(text))
