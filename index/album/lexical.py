"""Words in memories: which photos hold each word of a query, and how much that says (BM25 as FTS5's, k1 =
1.2, b = 0.75).

A word may have other spellings ("Wolfgang Schulz" was also written WolfgangSchulz): the best of them counts,
once. Word by word rather than as one OR, because the share of a question's words that a memory holds says
more about a chat than their sum. Knows the text index; knows no ranking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from ..records import FloatArray, RowArray
from .loader import within

MAX_WORDS = 64
_COMMON = (
    1_000,
    0.02,
    10_000,
)  # memories: a word held by more than a + b·N of them, or than c, costs milliseconds and tells little apart
_K1, _B = 1.2, 0.75
# FTS5's own bm25() takes 2 µs a memory; a list of numbers as one text takes a tenth of that.
_COUNT = "SELECT doc FROM temp.word_counts WHERE term = ?"
_PLACES = "SELECT group_concat(doc) FROM temp.word_places WHERE term = ?"
_PHRASE = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ? LIMIT ?"


@dataclass(frozen=True, eq=False)
class Word:
    """One word of the query. `rows`: ascending photo rows that hold it; `bm25`: float32, positive, of the
    photo's best memory each.

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

    @cached_property
    def bm25(self) -> FloatArray:
        """float32 [photos]: the sum over words; 0 where none is held."""
        total = np.zeros(self.photos, np.float32)
        for word in self.words:
            total[word.rows] += word.bm25
        return total

    @cached_property
    def coverage(self) -> FloatArray:
        """float32 [photos] in 0..1: the held share of the query's rarity."""
        whole = sum(word.rarity for word in self.words)
        held = np.zeros(self.photos, np.float32)
        for word in self.words:
            held[word.rows] += np.float32(word.rarity / whole)
        return held


@dataclass(frozen=True, eq=False)
class Texts:
    """By memory id: `owner`, the photo row, and `lengths` in words, 0 for ids that are not taken.

    `count`: of the memories in the index.
    """

    owner: RowArray
    lengths: FloatArray
    count: int

    @classmethod
    def read(cls, db: apsw.Connection, owner: RowArray) -> Texts:
        """Raises ValueError for an index that leads nowhere."""
        found: list[Any] = db.execute("SELECT id, sz FROM memories_fts_docsize ORDER BY id").fetchall()
        ids = np.array([memory for memory, _ in found], np.int64)
        within(ids, len(owner), "words of memories")
        lengths = np.zeros(len(owner), np.float32)
        lengths[ids] = [size[0] if len(size) == 1 else _varint(size) for _, size in found]
        return cls(owner, lengths, len(found))

    @cached_property
    def _mean(self) -> float:
        return float(self.lengths.sum(dtype=np.float64)) / max(self.count, 1)

    def bm25(self, memories: RowArray, times: RowArray) -> NDArray[np.float64]:
        """float64, of a word that stands so many `times` in each of `memories`: as FTS5 computes it,
        positive.
        """
        worth = max(
            log((self.count - len(memories) + 0.5) / (len(memories) + 0.5)), 1e-6
        )  # a word in most memories counts next to nothing
        shortness = _K1 * (1 - _B + _B * self.lengths[memories] / self._mean)
        return np.asarray(worth * times * (_K1 + 1) / (times + shortness), np.float64)


def look_up(
    db: apsw.Connection, spellings: Sequence[tuple[str, ...]], texts: Texts, photos: int
) -> WordScores:
    """`spellings`: for each word its forms, the plain one first.

    Common words are left out: vectors know them too. Raises ValueError for an index that leads nowhere.
    """
    least, share, most = _COMMON
    bound = min(most, int(least + share * len(texts.owner)))
    tokens = db.fts5_tokenizer("porter", ["unicode61"])
    words = []
    for forms in spellings[:MAX_WORDS]:
        found = [_hits(db, tokens, form, bound, texts) for form in forms]
        memories, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if len(memories) <= bound:
            words.append(_word(forms, memories, scores, texts.owner))
    return WordScores(tuple(words), photos)


def _hits(
    db: apsw.Connection, tokens: Any, form: str, bound: int, texts: Texts
) -> tuple[RowArray, NDArray[np.float64]]:
    """Memory ids and BM25. A word is read from the index itself; a form that the index holds as several words
    is a phrase, which FTS5 finds.

    More ids than `bound` say that the word is common: they are not the right ones then.
    """
    terms = tokens(
        form.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
    )
    if len(terms) != 1:
        quoted = '"' + form.replace('"', '""') + '"'  # no word is FTS5 syntax
        rows = np.array(db.execute(_PHRASE, (quoted, bound + 1)).fetchall(), np.float64).reshape(-1, 2)
        memories, scores = rows[:, 0].astype(np.int64), -rows[:, 1]
        within(memories, len(texts.owner), "words of memories")
        return memories, scores
    (count,) = db.execute(_COUNT, (terms[0],)).fetchone() or (0,)
    if count > bound:
        return np.zeros(bound + 1, np.int64), np.zeros(bound + 1)
    (line,) = db.execute(_PLACES, (terms[0],)).fetchone() or ("",)
    stands = np.fromstring(line or "", np.int64, sep=",")  # once for each time, in order of memory
    within(stands, len(texts.owner), "words of memories")
    first = np.flatnonzero(np.diff(stands, prepend=-1))
    memories = stands[first]
    return memories, texts.bm25(memories, np.diff(first, append=stands.size))


def _varint(data: bytes) -> int:
    """SQLite's: seven bits a byte, the highest first."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 127
    return value


def _word(forms: tuple[str, ...], memories: RowArray, scores: NDArray[np.float64], owner: RowArray) -> Word:
    order = np.argsort(owner[memories], kind="stable")  # numpy's unique costs several times as much
    at = owner[memories][order]
    first = np.flatnonzero(np.diff(at, prepend=-1))
    best = np.maximum.reduceat(scores[order], first) if at.size else np.zeros(0)
    n, held = len(owner), len(memories) if len(forms) == 1 else len(set(memories.tolist()))
    return Word(forms[0], at[first], best.astype(np.float32), log(1 + (n - held + 0.5) / (held + 0.5)))
