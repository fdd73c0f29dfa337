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

from .loader import within
from .records import FloatArray, RowArray

MAX_WORDS = 64
COMMON = 10_000  # memories: a word that more of them hold costs milliseconds and tells little apart
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

    Words in more than COMMON memories are left out, unless there are no others. Raises ValueError for an index that leads nowhere.
    """
    found = [(forms, _matches(db, forms)) for forms in spellings[:MAX_WORDS]]
    rare = [(forms, hits) for forms, hits in found if len(hits) <= COMMON]
    return WordScores(tuple(_word(forms, hits, owner, photos) for forms, hits in rare or found[:1]), photos)


def _matches(db: apsw.Connection, forms: tuple[str, ...]) -> list[tuple[int, float]]:
    out: list[tuple[int, float]] = []
    for form in forms:
        found = db.execute(_SQL, ('"' + form.replace('"', '""') + '"', COMMON + 1))  # quoted: no word is FTS5 syntax
        out += [(int(memory), float(score)) for memory, score in found]
    return out


def _word(forms: tuple[str, ...], hits: list[tuple[int, float]], owner: RowArray, photos: int) -> Word:
    pairs = np.array(hits, np.float64).reshape(-1, 2)
    memories = pairs[:, 0].astype(np.int64)
    within(memories, len(owner), "words of memories")
    at, n = owner[memories], len(owner)
    rows, first = np.unique(at, return_inverse=True)
    best = np.zeros(rows.size, np.float32)
    np.maximum.at(best, first, (-pairs[:, 1]).astype(np.float32))
    held = min(len(set(memories.tolist())), n)  # np.unique alone would load numpy.ma
    return Word(forms[0], rows, best, log(1 + (n - held + 0.5) / (held + 0.5)))
