"""The default ranking: the features of all layers as weighted summands of one score per photo.

In the paper (section 3.2, layer 3) the score is v_Q · v_I alone. Here a score is a log-odds: the weights were
fitted so that, among the ranked photos, softmax(score) is the probability that a photo is meant. A cue adds
the log of a likelihood ratio: the share of meant photos that lie inside such a cue, over the share of the
album's photos that do. A reliable cue dominates the score, a weak one shifts it slightly, and an unknown time
or place changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamer.index import FloatArray, RowArray, distinct
from gamer.index.album.layers.lexical import WordScores

from ... import defaults
from ...bundle.manifest import Ranking

NEAR = defaults.CONTEXT
SESSION_MS = defaults.SESSION_HOURS * 3_600_000
LEAST, MOST = defaults.CUE_EVIDENCE


@dataclass(frozen=True, eq=False)
class Clue:
    """A cue and the photos of one album that fit it.

    `known`, `inside`: bool [photos of the album], whether the field is known and whether the photo fits.
    `trust`: the share of meant photos that lie inside such a cue (cue_rules.json, from the development data).
    """

    known: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    trust: float

    def evidence(self, rows: RowArray) -> FloatArray:
        """float32 [rows]: the log likelihood ratio of each row.

        0 where the field is unknown, and for all rows if `trust` is not above the cue's share of the album.
        """
        count = int(np.count_nonzero(self.known))
        if not count:
            return np.zeros(len(rows), np.float32)
        base = min(max(int(np.count_nonzero(self.inside)), 1) / (count + 1), 1 - 1 / (count + 1))
        trust = min(self.trust, 0.98)
        if trust <= base:
            return np.zeros(len(rows), np.float32)
        ratio = np.where(self.inside[rows], np.log(trust / base), np.log((1 - trust) / (1 - base)))
        return np.asarray(np.where(self.known[rows], ratio, 0.0), np.float32)


def evidence(clues: Sequence[Clue], rows: RowArray) -> FloatArray:
    """float32 [rows]: the sum of all clues, as if independent, clipped to LEAST..MOST."""
    total = np.sum([np.zeros(len(rows), np.float32), *(clue.evidence(rows) for clue in clues)], axis=0)
    return np.asarray(np.clip(total, LEAST, MOST), np.float32)


class Conversations:
    """Which rows are chat messages, and which follow each other in time without a long silence."""

    def __init__(self, times: NDArray[np.int64], is_message: NDArray[np.bool_]) -> None:
        self.any = bool(is_message.any())
        self._said = is_message
        if not self.any:  # then nothing joins two rows, and their order does not matter
            self._order = self._place = np.arange(len(times))
            self._session = np.zeros(len(times), np.int64)
            return
        self._order = np.lexsort((np.arange(len(times)), times))
        self._place = np.empty_like(self._order)
        self._place[self._order] = np.arange(len(times))
        in_time = times[self._order]
        # An unknown time is the least int64: a difference with it would overflow.
        gap = (np.diff(in_time.astype(np.float64)) > SESSION_MS) | (in_time[:-1] == np.iinfo(np.int64).min)
        self._session = np.concatenate([[0], np.cumsum(gap)]) if len(times) else np.zeros(0, np.int64)

    def neighbour(self, rows: RowArray, step: int) -> tuple[RowArray, NDArray[np.bool_]]:
        """For each of `rows` the row `step` places later (earlier if negative) in time order.

        Also bool [rows]: whether both are messages of the same conversation; if not, ignore the row.
        """
        position = self._place[rows]
        target = np.clip(position + step, 0, len(self._order) - 1)
        neighbours = self._order[target]
        joined = (
            (target == position + step)
            & (self._session[target] == self._session[position])
            & self._said[rows]
            & self._said[neighbours]
        )
        return neighbours, joined


def context(words: WordScores, conversations: Conversations, rows: RowArray) -> tuple[FloatArray, FloatArray]:
    """(BM25, coverage), float32 [rows] each: how the messages around a message match the query's words.

    BM25 is summed over the neighbours in NEAR; coverage is the share of the words that the message and its
    neighbours hold together, weighted by rarity. Both are 0 for photos that are not messages. Computed from
    the few messages that hold a word outwards to their neighbours.
    """
    bm25, coverage = np.zeros(words.photos, np.float32), np.zeros(words.photos, np.float32)
    if not words.words or not conversations.any:
        return bm25[: len(rows)], coverage[: len(rows)]
    matching = np.flatnonzero(words.bm25)
    for step in NEAR:
        neighbours, joined = conversations.neighbour(matching, -step)
        bm25[neighbours[joined]] += words.bm25[matching[joined]]
    total = sum(word.rarity for word in words.words)
    for word in words.words:
        around = (conversations.neighbour(word.rows, step) for step in (0, *NEAR))
        coverage[
            distinct(np.concatenate([neighbours[joined] for neighbours, joined in around]), words.photos)
        ] += np.float32(word.rarity / total)
    return bm25[rows], coverage[rows]


def weighted(features: dict[str, FloatArray], ranking: Ranking) -> dict[str, FloatArray]:
    """Each feature times its weight: the summands of the score, by name."""
    return {
        name: np.asarray(values * np.float32(getattr(ranking, name)), np.float32)
        for name, values in features.items()
    }


def by_cues(parts: dict[str, FloatArray]) -> dict[str, FloatArray]:
    """The summands for a query of cues only: all but "cue" are zeroed.

    They would only measure how much a photo resembles the word "photo".
    """
    return {name: values if name == "cue" else np.zeros_like(values) for name, values in parts.items()}
