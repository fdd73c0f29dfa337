"""Which language a query is in: English, or one of the bundle's tables.

A word is about as frequent in its language as its gloss is in English, and a vocabulary of English lists its
words by frequency. So each word says how much likelier one language is than English, and the sum decides. A
name, or any word that neither knows, says nothing; of two words "la playa" both speak for Spanish, and of
"die cat" one for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .table import Gloss

Ranks = Mapping[str, int]  # English word → its place in the vocabulary, the commonest first
UNKNOWN = 100_000  # the rank of a word that a language does not have
FORMS = 2.5  # forms of a word that share the frequency of its gloss
MARGIN = 1.2  # nats by which a language must be likelier than English
SHARED = 1.0  # nats at most that a word tells against English which English has as well
TOLD = 2.0  # nats for the language that the reader of cues tells
CAPITAL = -2.5  # nats at most against a language for a capital word that it lacks: it may be a name
ALIKE = 4  # letters with which a word and its gloss begin alike, as "toasted" and "toast"
COMMON = 2_500  # a name that is one of so many commonest English words counts as that word


@dataclass(frozen=True)
class QueryWord:
    """A word of a query, as table.folded spells it. `is_name`: of the album; `is_capital`: with a
    capital, and not the first.
    """

    word: str
    is_name: bool = False
    is_capital: bool = False


def ranks(vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The English words of a tokenizer's vocabulary, by their order in it."""
    words = (word for word in vocabulary if word.isascii() and (len(word) > 1 or word in "ai"))
    return {word: rank for rank, word in enumerate(sorted(words, key=lambda word: vocabulary[word]))}


def frequency(rank: float) -> float:
    """Nats: the logarithm of how often a word of that rank occurs (Zipf's law)."""
    return -math.log(rank + 20.0)


def likelier(word: str, glosses: Sequence[Gloss], english: Ranks) -> float:
    """Nats by which the language with these glosses of `word` is likelier than English to have said it."""
    own = english.get(word, UNKNOWN)
    if not glosses:
        return frequency(UNKNOWN) - frequency(own)
    if any(gloss.text.removesuffix("s") == word.removesuffix("s") for gloss in glosses):
        return 0.0  # "computer" is said in both
    best = min((rank(gloss.text, english) for gloss in glosses if gloss.weight > 0.5), default=UNKNOWN)
    more = frequency(FORMS * best) - frequency(own)
    cognate = any(gloss.text[:ALIKE] == word[:ALIKE] for gloss in glosses if len(word) >= ALIKE)
    return more if own == UNKNOWN and not cognate else min(more, SHARED)


def rank(gloss: str, english: Ranks) -> int:
    """The rank of a gloss: of a phrase, of its rarest word."""
    return max((english.get(word, UNKNOWN // 4) for word in gloss.lower().split()), default=UNKNOWN)


def language(
    words: Sequence[QueryWord],
    tables: Mapping[str, Callable[[str], Sequence[Gloss]]],
    english: Ranks,
    told: str | None,
) -> str | None:
    """The code of the likeliest of `tables`; None for English.

    `told`: the language whose words of time and place the query has, by the reader of cues, or None.
    """
    best, most = None, MARGIN
    telling = [
        said
        for said in sorted(words, key=lambda said: said.word in english)  # what English lacks tells most
        if not (said.word.isascii() and len(said.word) < 2)  # "s" of "it's", "l" of "l'eau"
        and not (said.is_name and english.get(said.word, UNKNOWN) > COMMON)
    ]
    gains = [SHARED if said.word in english else frequency(0) - frequency(UNKNOWN) for said in telling]
    for code, lookup in tables.items():
        score = TOLD if code == told else 0.0
        left = sum(gains)
        for said, gain in zip(telling, gains, strict=True):
            if score + left <= most:
                break  # whatever the words from here on say, another language is likelier
            left -= gain
            glosses = lookup(said.word)
            more = likelier(said.word, glosses, english)
            score += max(more, CAPITAL) if said.is_capital and not glosses else more
        if score > most:
            best, most = code, score
    return best
