"""Lexical search in memories: the photos that hold each query word, and their BM25 scores.

Scores are those of FTS5 (k1 = 1.2, b = 0.75). A word may have alternative spellings ("Wolfgang Schulz" is
also written WolfgangSchulz): only the best of them counts. Words are looked up one by one rather than as one
OR query, because for a chat the share of the query's words that a photo's memories hold is a better signal
than the sum of their scores.
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

from ...records import FloatArray, RowArray
from .. import in_bulk
from ..loader import within

MAX_WORDS = 64
# (a, b, c): a word held by more than min(c, a + b·N) of the N memories is skipped: it costs milliseconds and
# hardly discriminates.
_COMMON = (1_000, 0.02, 10_000)
_K1, _B = 1.2, 0.75
# FTS5's bm25() takes 2 µs a memory; reading the ids as one comma-separated text takes a tenth of that.
_COUNT = "SELECT doc FROM temp.word_counts WHERE term = ?"
_PLACES = "SELECT group_concat(doc) FROM temp.word_places WHERE term = ?"
_PHRASE = "SELECT rowid, bm25(memories_fts) FROM memories_fts WHERE memories_fts MATCH ? LIMIT ?"


@dataclass(frozen=True, eq=False)
class Word:
    """One word of the query, with the photos that hold it.

    `rows`: int64, ascending photo rows; `bm25`: float32 [len(rows)], positive, of each photo's best memory.
    `rarity`: the word's inverse document frequency over memories, ln(1 + (N - n + 0.5) / (n + 0.5)).
    """

    text: str
    rows: RowArray
    bm25: FloatArray
    rarity: float


@dataclass(frozen=True, eq=False)
class WordScores:
    """All words of a query, over an album of `photos` rows."""

    words: tuple[Word, ...]
    photos: int

    @cached_property
    def bm25(self) -> FloatArray:
        """float32 [photos]: the sum over words; 0 for a photo that holds none."""
        total = np.zeros(self.photos, np.float32)
        for word in self.words:
            total[word.rows] += word.bm25
        return total

    @cached_property
    def coverage(self) -> FloatArray:
        """float32 [photos] in 0..1: the share of query words that the photo holds, weighted by rarity."""
        total = sum(word.rarity for word in self.words)
        share = np.zeros(self.photos, np.float32)
        for word in self.words:
            share[word.rows] += np.float32(word.rarity / total)
        return share


@dataclass(frozen=True, eq=False)
class Texts:
    """Owners and lengths of all memories, as arrays indexed by memory id.

    `owner`: int64, photo rows. `lengths`: float32, in words, 0 for ids not in use. `count`: the number of
    memories in the full-text index.
    """

    owner: RowArray
    lengths: FloatArray
    count: int

    @classmethod
    def read(cls, db: apsw.Connection, owner: RowArray) -> Texts:
        """Raises ValueError for an index that refers to memories that do not exist."""
        ids, sizes = in_bulk.varints(db, "id", "sz", "memories_fts_docsize")
        within(ids, len(owner), "words of memories")
        lengths = np.zeros(len(owner), np.float32)
        lengths[ids] = sizes
        return cls(owner, lengths, ids.size)

    @cached_property
    def _mean(self) -> float:
        return float(self.lengths.sum(dtype=np.float64)) / max(self.count, 1)

    def bm25(self, memories: RowArray, times: RowArray) -> NDArray[np.float64]:
        """float64 [len(memories)]: a word's BM25 score in each of the memories that hold it.

        `times`: how often the word occurs in each. As FTS5 computes it, but positive.
        """
        # FTS5's inverse document frequency; a word in most memories counts next to nothing.
        idf = max(log((self.count - len(memories) + 0.5) / (len(memories) + 0.5)), 1e-6)
        saturation = _K1 * (1 - _B + _B * self.lengths[memories] / self._mean)
        return np.asarray(idf * times * (_K1 + 1) / (times + saturation), np.float64)


def look_up(
    db: apsw.Connection, spellings: Sequence[tuple[str, ...]], texts: Texts, photos: int
) -> WordScores:
    """Looks up each word of a query. `spellings`: for each word its forms, the plain one first.

    Common words are left out, since the vectors cover their meaning. Raises ValueError for an index that
    refers to memories that do not exist.
    """
    least, share, most = _COMMON
    bound = min(most, int(least + share * len(texts.owner)))
    tokens = db.fts5_tokenizer("porter", ["unicode61"])
    words = []
    for forms in spellings[:MAX_WORDS]:
        hits = [_hits(db, tokens, form, bound, texts) for form in forms]
        memories, scores = (np.concatenate(parts) for parts in zip(*hits, strict=True))
        if len(memories) <= bound:
            words.append(_word(forms, memories, scores, texts.owner))
    return WordScores(tuple(words), photos)


def holding(db: apsw.Connection, words: Sequence[str]) -> frozenset[str]:
    """Those of the first MAX_WORDS words that a memory holds."""
    tokens = db.fts5_tokenizer("porter", ["unicode61"])
    return frozenset(word for word in words[:MAX_WORDS] if _holds(db, _terms(tokens, word), word))


def _holds(db: apsw.Connection, terms: Sequence[str], word: str) -> bool:
    found = db.execute(_COUNT, terms) if len(terms) == 1 else db.execute(_PHRASE, (_quoted(word), 1))
    return found.fetchone() is not None


def _terms(tokens: Any, form: str) -> Sequence[str]:
    """The words of a form as the index spells them."""
    asked = apsw.FTS5_TOKENIZE_QUERY
    terms: Sequence[str] = tokens(form.encode(), asked, None, include_offsets=False, include_colocated=False)
    return terms


def _quoted(form: str) -> str:
    """A form of several words for FTS5, quoted, so that no word is read as its syntax."""
    return '"' + form.replace('"', '""') + '"'


def _hits(
    db: apsw.Connection, tokens: Any, form: str, bound: int, texts: Texts
) -> tuple[RowArray, NDArray[np.float64]]:
    """The memory ids that hold a form, and their BM25 scores.

    A single word is read from the index directly; a form that the tokenizer splits into several words is
    searched as an FTS5 phrase. If more than `bound` ids are returned, the word is common and the ids are
    placeholders.
    """
    terms = _terms(tokens, form)
    if len(terms) != 1:
        found = db.execute(_PHRASE, (_quoted(form), bound + 1)).fetchall()
        rows = np.array(found, np.float64).reshape(-1, 2)
        memories, scores = rows[:, 0].astype(np.int64), -rows[:, 1]
        within(memories, len(texts.owner), "words of memories")
        return memories, scores
    (count,) = db.execute(_COUNT, (terms[0],)).fetchone() or (0,)
    if count > bound:
        return np.zeros(bound + 1, np.int64), np.zeros(bound + 1)
    (line,) = db.execute(_PLACES, (terms[0],)).fetchone() or ("",)
    occurrences = np.fromstring(line or "", np.int64, sep=",")  # a memory id per occurrence, ascending
    within(occurrences, len(texts.owner), "words of memories")
    first = np.flatnonzero(np.diff(occurrences, prepend=-1))
    memories = occurrences[first]
    return memories, texts.bm25(memories, np.diff(first, append=occurrences.size))


def _word(forms: tuple[str, ...], memories: RowArray, scores: NDArray[np.float64], owner: RowArray) -> Word:
    order = np.argsort(owner[memories], kind="stable")  # np.unique costs several times as much
    at = owner[memories][order]
    first = np.flatnonzero(np.diff(at, prepend=-1))
    best = np.maximum.reduceat(scores[order], first) if at.size else np.zeros(0)
    n, frequency = len(owner), len(memories) if len(forms) == 1 else len(set(memories.tolist()))
    return Word(
        forms[0], at[first], best.astype(np.float32), log(1 + (n - frequency + 0.5) / (frequency + 0.5))
    )
