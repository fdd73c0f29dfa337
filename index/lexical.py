"""Words in memories: which photos hold each word of a query, and how much that says (BM25 by FTS5, k1 = 1.2, b = 0.75).

A word may have other spellings ("Wolfgang Schulz" was also written WolfgangSchulz): the best of them counts, once. Word by word rather than as one
OR, because the share of a question's words that a memory holds says more about a chat than their sum. Knows the text index; knows no ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import apsw
import numpy as np
from numpy.typing import NDArray

from .loader import within
from .records import FloatArray, RowArray

MAX_WORDS = 64
_COMMON = (1_000, 0.02, 10_000)  # memories: a word held by more than a + b·N of them, or than c, costs milliseconds and tells little apart
_SQL = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ? LIMIT ?"


@dataclass(frozen=True, eq=False)
class Word:
    """One word of the query. `rows`: ascending photo rows that hold it; `bm25`: float32, positive, of the photo's best memory each.

    `rarity`: its inverse document frequency over memories, ln(1 + (N - n + 0.5) / (n + 0.5)).
    """

    text: str
    rows: RowArray
    bm25: FloatArray
    rarity: float


@dataclass(frozen=True, eq=False)
class WordScores:
    """All words of a query over the `photos` rows of an album."""

    words: tuple[Word, ...]
    photos: int

    def bm25(self) -> FloatArray:
        """float32 [photos]: the sum over words; 0 where none is held."""
        total = np.zeros(self.photos, np.float32)
        for word in self.words:
            total[word.rows] += word.bm25
        return total

    def coverage(self) -> FloatArray:
        """float32 [photos] in 0..1: the held share of the query's rarity."""
        whole = sum(word.rarity for word in self.words)
        held = np.zeros(self.photos, np.float32)
        for word in self.words:
            held[word.rows] += np.float32(word.rarity / whole)
        return held


def look_up(db: apsw.Connection, spellings: Sequence[tuple[str, ...]], owner: RowArray, photos: int) -> WordScores:
    """`spellings`: for each word its forms, the plain one first. `owner`: int64 [memories], the photo row of each memory id.

    Common words are left out: vectors know them too. Raises ValueError for an index that leads nowhere.
    """
    least, share, most = _COMMON
    bound = min(most, int(least + share * len(owner)))
    found = [(forms, _matches(db, forms, bound + 1)) for forms in spellings[:MAX_WORDS]]
    return WordScores(tuple(_word(forms, hits, owner) for forms, hits in found if len(hits) <= bound), photos)


def _matches(db: apsw.Connection, forms: tuple[str, ...], limit: int) -> NDArray[np.float64]:
    """float64 [hits, 2] of memory id and BM25 (negative, as FTS5 gives it), of all forms one after the other."""
    found = [db.execute(_SQL, ('"' + form.replace('"', '""') + '"', limit)).fetchall() for form in forms]  # quoted: no word is FTS5 syntax
    return np.array([hit for hits in found for hit in hits], np.float64).reshape(-1, 2)


def _word(forms: tuple[str, ...], hits: NDArray[np.float64], owner: RowArray) -> Word:
    memories = hits[:, 0].astype(np.int64)
    within(memories, len(owner), "words of memories")
    order = np.argsort(owner[memories], kind="stable")  # numpy's unique costs several times as much
    at = owner[memories][order]
    first = np.flatnonzero(np.diff(at, prepend=-1))
    best = np.maximum.reduceat(-hits[order, 1], first) if at.size else np.zeros(0)
    n, held = len(owner), len(memories) if len(forms) == 1 else len(set(memories.tolist()))
    return Word(forms[0], at[first], best.astype(np.float32), log(1 + (n - held + 0.5) / (held + 0.5)))
