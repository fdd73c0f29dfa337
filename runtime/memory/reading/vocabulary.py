"""The vocabulary by which what a person tells is read: kinds of words, and relations (the two .txt here)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ...questions.words import sections

Aspect = Literal["is", "change", "end", "does"]
# Verbs around those of the relations.
_OTHERS = frozenset(
    ["be", "do", "get", "go", "hate", "have", "hide", "keep", "like", "love", "put", "stop", "store", "turn"]
)


@dataclass(frozen=True)
class Relation:
    """What a phrase tells. `aspect`: what holds, a new value, that the value no longer holds, or what is done
    for a living, where nothing certain is named ("sell insurance", not "sell my car").

    `with_verb`: whether the verb belongs to the value ("teach year 4").
    """

    name: str
    aspect: Aspect
    with_verb: bool


@cache
def kind(name: str) -> frozenset[str]:
    """The words of a kind."""
    return frozenset(_sections("words.txt")[name])


def classes_of(text: str) -> frozenset[str]:
    """The classes of the things that a text names: {"hot drink"} of "a strong coffee"."""
    known = _sections("words.txt")["class"]
    words = (word for word in re.findall(r"[^\W_]+(?:-[^\W_]+)*", text.lower()) if word in known)
    return frozenset(known[word] for word in words)


def is_being(noun: str) -> bool:
    """Whether a noun is somebody: kin, or a pet."""
    return noun in kind("kin") or noun in kind("pet")


@cache
def phrases() -> Mapping[tuple[str, ...], Relation]:
    """Plain words, the verb first → the relation that they tell."""
    out = {}
    for heading, lines in _sections("relations.txt").items():
        name, aspect = heading.split()
        for line in lines if aspect != "noun" else ():
            *words, last = line.split()
            words += [] if last == "*" else [last]
            out[tuple(words)] = Relation(name, _aspect(aspect), last == "*")
    return out


@cache
def relation_named() -> Mapping[str, str]:
    """Noun → the relation that it names ("address" → "home")."""
    sections = _sections("relations.txt").items()
    return {
        noun: heading.split()[0] for heading, nouns in sections if heading.endswith(" noun") for noun in nouns
    }


@cache
def verbs() -> frozenset[str]:
    """The plain forms of the verbs, and of what stands with them ("start work")."""
    return _OTHERS.union(*phrases())


def _aspect(text: str) -> Aspect:
    aspects: dict[str, Aspect] = {"change": "change", "end": "end", "does": "does"}
    return aspects.get(text, "is")


def _sections(file: str) -> Mapping[str, Mapping[str, str]]:
    return sections(Path(__file__).with_name(file))
