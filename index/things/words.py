"""The words by which things and their attributes are known, from words.json. English; it knows no grammar."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..entities.words import NOT_ENTITIES, singular


@dataclass(frozen=True)
class Words:
    """`category_of`: noun → category; `attribute_of`: word → name of the attribute that it is a value of.

    `owners`: "my", "our"; `same`: a word → the one that stands for it; `plural_only`: nouns without a
    singular; `kinds`: words in -ing that say of what kind a thing is; `qualities`: adjectives that say
    nothing of what a thing is; `no_heads`: these, and all other words after "my" that name no thing.
    """

    owners: frozenset[str]
    category_of: dict[str, str]
    attribute_of: dict[str, str]
    same: dict[str, str]
    plural_only: frozenset[str]
    kinds: frozenset[str]
    qualities: frozenset[str]
    no_heads: frozenset[str]

    def noun(self, word: str) -> str:
        """The noun that a lower-case word is a form of, as things are named by it."""
        one = word if word in self.plural_only else singular(word)
        one = one if one in self.category_of or word not in self.category_of else word
        return self.same.get(one, one)

    def value(self, word: str) -> str:
        return self.same.get(word, word)


@cache
def words() -> Words:
    raw = json.loads(Path(__file__).with_name("words.json").read_text("utf-8"))
    qualities = frozenset(raw["qualities"].split())
    return Words(
        frozenset(raw["owners"]),
        {noun: category for category, nouns in raw["categories"].items() for noun in nouns.split()},
        {word: name for name, listed in raw["attributes"].items() for word in listed.split()},
        raw["same"],
        frozenset(raw["plural_only"].split()),
        frozenset(raw["kinds"].split()),
        qualities,
        qualities | NOT_ENTITIES | frozenset(raw["other_than_things"].split()),
    )
