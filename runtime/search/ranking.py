"""The default ranking: what each layer knows of a photo, as summands of one score (paper section 3.2, layer
3, where it is v_Q · v_I alone).

A score is a log-odds: of the ranked photos, one is meant with probability softmax(score), which is how the
weights were fitted. A cue enters as a likelihood ratio: of the photos that people meant by such a cue, the
share that lay inside it, over the album's own share. A reliable cue dominates the score, a weak one nudges
it, and an unknown time or place changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamer.index import FloatArray, RowArray, distinct
from gamer.index.album.lexical import WordScores

from ..bundle.manifest import Ranking

NEAR = (-2, -1, 1, 2)  # messages before and after that a message is read with
SESSION_MS = 3 * 3_600_000  # a longer silence ends a conversation
LEAST, MOST = -4.0, 6.0  # of a cue's evidence, so that no cue outvotes everything else


@dataclass(frozen=True, eq=False)
class Clue:
    """A cue that was asked of the album. `known`, `inside`: ascending rows whose field is known, and those
    that fit. `trust`: the share of meant photos that lie inside such a cue (cue_rules.json, from the
    development data)."""

    known: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    trust: float

    def evidence(self, rows: RowArray) -> FloatArray:
        """float32, for each of `rows`: the log of the likelihood ratio; 0 where the field is unknown, or the
        cue tells nothing apart.
        """
        count = int(np.count_nonzero(self.known))
        if not count:
            return np.zeros(len(rows), np.float32)
        base = min(max(int(np.count_nonzero(self.inside)), 1) / (count + 1), 1 - 1 / (count + 1))
        trust = min(self.trust, 0.98)
        if trust <= base:
            return np.zeros(len(rows), np.float32)
        worth = np.where(self.inside[rows], np.log(trust / base), np.log((1 - trust) / (1 - base)))
        return np.asarray(np.where(self.known[rows], worth, 0.0), np.float32)


def evidence(clues: Sequence[Clue], rows: RowArray) -> FloatArray:
    """float32, for each of `rows`: all clues together, as if they were independent."""
    total = np.sum([np.zeros(len(rows), np.float32), *(clue.evidence(rows) for clue in clues)], axis=0)
    return np.asarray(np.clip(total, LEAST, MOST), np.float32)


class Conversations:
    """Which rows are messages, and which stand next to each other in time without a long silence between."""

    def __init__(self, times: NDArray[np.int64], said: NDArray[np.bool_]) -> None:
        self.any = bool(said.any())
        self._said = said
        self._order = np.lexsort((np.arange(len(times)), times))
        self._place = np.empty_like(self._order)
        self._place[self._order] = np.arange(len(times))
        in_time = times[self._order]
        # Unknown times are the least int64: a difference from one would wrap.
        silence = (np.diff(in_time.astype(np.float64)) > SESSION_MS) | (
            in_time[:-1] == np.iinfo(np.int64).min
        )
        self._session = np.concatenate([[0], np.cumsum(silence)]) if len(times) else np.zeros(0, np.int64)

    def neighbour(self, rows: RowArray, step: int) -> tuple[RowArray, NDArray[np.bool_]]:
        """For each of `rows` the row `step` places later (earlier when negative), and whether both are
        messages of one conversation.
        """
        here = self._place[rows]
        there = np.clip(here + step, 0, len(self._order) - 1)
        other = self._order[there]
        joined = (
            (there == here + step)
            & (self._session[there] == self._session[here])
            & self._said[rows]
            & self._said[other]
        )
        return other, joined


def context(words: WordScores, conversations: Conversations, rows: RowArray) -> tuple[FloatArray, FloatArray]:
    """For each of `rows` that is a message: BM25 of the messages around it, summed, and the share of the
    query's rarity that it and they hold together. 0 for other photos, which stand for themselves. Told from
    the few messages that hold a word, to those around them."""
    around, held = np.zeros(words.photos, np.float32), np.zeros(words.photos, np.float32)
    if not words.words or not conversations.any:
        return around[: len(rows)], held[: len(rows)]
    spoken = np.flatnonzero(words.bm25)
    for step in NEAR:
        hears, joined = conversations.neighbour(spoken, -step)
        around[hears[joined]] += words.bm25[spoken[joined]]
    whole = sum(word.rarity for word in words.words)
    for word in words.words:
        near = (conversations.neighbour(word.rows, step) for step in (0, *NEAR))
        held[distinct(np.concatenate([hears[joined] for hears, joined in near]), words.photos)] += np.float32(
            word.rarity / whole
        )
    return around[rows], held[rows]


def weighted(features: dict[str, FloatArray], ranking: Ranking) -> dict[str, FloatArray]:
    """Each feature times its weight, by name: the summands of the score."""
    return {
        name: np.asarray(values * np.float32(getattr(ranking, name)), np.float32)
        for name, values in features.items()
    }


def by_cues(parts: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """The summands when a query says when or where and nothing else: what else is known of a photo only tells
    how it resembles the word "photo".
    """
    return {name: values if name == "cue" else np.zeros_like(values) for name, values in parts.items()}


def likelihoods(parts: dict[str, FloatArray]) -> FloatArray:
    """float32, for each ranked row: the probability that it is meant, given that one of them is (softmax of
    the scores).
    """
    total = np.sum(list(parts.values()), axis=0, dtype=np.float64)
    odds = np.exp(total - total.max()) if total.size else total
    return np.asarray(odds / max(odds.sum(), 1e-300), np.float32)


def presence(ranking: Ranking, cosine: float, coverage: float, evidence: float) -> float:
    """The probability that the album holds what is meant, from the best hit's text cosine, word coverage and
    cue evidence (logistic).
    """
    return float(
        1
        / (
            1
            + np.exp(
                -(
                    ranking.here
                    + ranking.here_cosine * cosine
                    + ranking.here_coverage * coverage
                    + ranking.here_cue * evidence
                )
            )
        )
    )
