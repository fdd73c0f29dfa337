"""Which words of a query a refinement replaced by their correction or translation, rather than dropped.

A word is replaced by one that is near in spelling, or near by the text tower's vectors. A word that neither
the tower nor the album can read, as most words of another language are, may be replaced by any one that they
can; so may that language's articles and prepositions be left out. Each word stands for one word, so that an
answer cannot smuggle in a sentence in place of a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gamer.index import FloatArray

from ... import defaults

NEAR = defaults.SYNONYM  # cosine
MOST = 12  # words of a query and of an answer that are compared
_WORD = re.compile(r"\w{3,}")
_FUNCTION = frozenset(
    re.findall(
        _WORD,
        """
    der die das den dem des ein eine einen einem einer auf mit und von vom zum zur bei für nach über
    unter aus les des une dans avec sur chez aux pour los las una con por del para sobre gli nel
    nella dal della sul alla uma com dos das nos nas
""",
    )
)


@dataclass(frozen=True)
class Dictionary:
    """`vector`: a word's, float32 [D], of length 1. `readable`: whether the tower or the album knows it."""

    vector: Callable[[str], FloatArray]
    readable: Callable[[str], bool]


def replaced(text: str, plain: str, dictionary: Dictionary) -> tuple[str, str]:
    """(`plain` with its replaced words as `text` has them, the words of `text` that replaced one)."""
    mine, theirs = (list(dict.fromkeys(_WORD.findall(t.lower()))) for t in (plain, text))
    dropped = [word for word in mine if word not in theirs][:MOST]
    added = [word for word in theirs if word not in mine][:MOST]
    foreign = any(not dictionary.readable(word) for word in dropped)
    kept, new = plain, list[str]()
    for word in dropped:
        if foreign and word in _FUNCTION:
            kept = _swap(kept, word, " ")
            continue
        better = _standing_for(word, [other for other in added if other not in new], dictionary)
        if better is not None:
            kept = _swap(kept, word, better)
            new.append(better)
    return kept, " ".join(new)


def _standing_for(word: str, added: list[str], dictionary: Dictionary) -> str | None:
    """The one of `added` that replaces `word`: by spelling, by meaning, or because nobody can read `word`."""
    allowed = 1 if len(word) < 7 else 2
    spelt = [other for other in added if len(word) > 3 and distance(word, other) <= allowed]
    if spelt:
        return spelt[0]
    if not added:
        return None
    vector = dictionary.vector(word)
    cosines = {other: float(dictionary.vector(other) @ vector) for other in added}
    nearest = max(added, key=lambda other: cosines[other])
    translates = dictionary.readable(nearest) and not dictionary.readable(word)
    return nearest if cosines[nearest] >= NEAR or translates else None


def distance(a: str, b: str) -> int:
    """Letters to insert, delete, replace or exchange with their neighbour, to make `b` of `a`."""
    before, row = list[int](), list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y)))
            if last and j > 1 and x == b[j - 2] and a[i - 2] == y:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]


def _swap(text: str, word: str, other: str) -> str:
    return " ".join(re.sub(rf"\b{re.escape(word)}\b", other, text, flags=re.IGNORECASE).split())
