"""Recall: which turns a question means, by words, meaning, and the turns around them.

A turn is often not understandable without the one before it, so a turn's score takes its neighbours' words
and vectors into account. The weights were fitted to questions about long conversations (`gamer bench study
memory`, which also says how they do on conversations that they were not fitted to).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gamer.index.entities.words import WORD
from gamer.index.memory.reading import NO_HEADS
from gamer.index.memory.records import Heads
from gamer.index.memory.store import MemoryStore
from gamer.index.records import FloatArray, RowArray
from gamer.index.vectors.quantize import Query, VectorSet, greatest

from .. import defaults
from .words import ASKS, LENGTH, TIMED, WHEN, content

if TYPE_CHECKING:
    from ..models.models import Models

SILENCE_MS = 60 * 60_000  # a session ends with it
_BY_WORDS, _BY_MEANING = 300, 300  # candidates
# What a turn is scored by; `Recall._features` computes them. "before" and "after" are neighbours in the
# conversation, "session" the best three turns of it.
FEATURES = (
    "words", "words_before", "words_after", "words_two_before", "meaning", "meaning_before", "meaning_after",
    "speaker", "when_timed", "timed", "asks", "answers", "length", "session_meaning", "session_words",
    "period",
)  # fmt: skip
WEIGHTS: NDArray[np.float64] = np.array(defaults.RECALL_WEIGHTS)


@dataclass(frozen=True)
class Encoder:
    """A text tower. Vectors of two names are not compared.

    `encode`: what was said → its unit vector float32 [d]. `ask`: the same of a question.
    """

    name: str
    encode: Callable[[str], FloatArray]
    ask: Callable[[str], FloatArray]


def encoder_of(models: Models | None) -> Encoder | None:
    """What makes a text's vector; None without a bundle."""
    if models is None:
        return None
    opened = models
    return Encoder(
        models.manifest.text_encoder,
        lambda text: opened.text.encode([text])[0],
        lambda question: opened.text.encode_query(question),
    )


@dataclass(frozen=True)
class Period:
    """A time that is asked for, ms of wall time, both ends included."""

    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Candidates:
    """Turns that may be meant. `ids`: int64 [n], ascending. `features`: float64 [n, len(FEATURES)]."""

    ids: RowArray
    features: NDArray[np.float64]

    def best(self, weights: NDArray[np.float64]) -> tuple[RowArray, NDArray[np.float64]]:
        """The ids and scores, best first."""
        scores = self.features @ weights
        order = np.lexsort((self.ids, -scores))
        return self.ids[order], scores[order]


class Recall:
    """Not thread-safe. `encoder`: None where no bundle is at hand; words alone then count."""

    def __init__(
        self, store: MemoryStore, encoder: Encoder | None = None, weights: NDArray[np.float64] = WEIGHTS
    ) -> None:
        self._store, self._encoder, self._heads, self.weights = store, encoder, NO_HEADS, weights
        self._seen = -1

    def refresh(self) -> None:
        """Takes up what has changed in the store, also by other programs."""
        self._seen, first, new = self._store.heads(self._seen)
        if first >= 1 << 62:
            return
        self._heads = _joined(self._heads, first, new)
        heads = self._heads
        # Conversations one after the other, each by time.
        self._order = np.lexsort((heads.ids, heads.at, heads.chats))
        self._place = np.empty_like(self._order)
        self._place[self._order] = np.arange(len(self._order))
        chats, at = heads.chats[self._order], heads.at[self._order]
        new_run = (np.diff(chats, prepend=-1) != 0) | (np.diff(at, prepend=at[:1]) >= SILENCE_MS)
        self._run = np.cumsum(new_run) if len(at) else np.zeros(0, np.int64)
        self._names = [frozenset(content(name)) for name in heads.names]

    def months(self) -> list[str]:
        """The months in which something was said, "2026-01", ascending."""
        self.refresh()
        return [
            str(month) for month in np.unique(self._heads.at.astype("datetime64[ms]").astype("datetime64[M]"))
        ]

    def candidates(self, question: str, period: Period | None = None, only: bool = False) -> Candidates:
        """The turns that the question may mean, with what they are scored by.

        `period`: the time that the question names; with `only`, no turn outside of it is returned.
        """
        self.refresh()
        heads = self._heads
        if not len(heads.ids):
            return Candidates(heads.ids, np.zeros((0, len(FEATURES))))
        inside = np.ones(len(heads.ids), bool)
        if period is not None:
            inside = (heads.at >= period.start) & (heads.at <= period.end)
        if only and not inside.any():
            return Candidates(heads.ids[:0], np.zeros((0, len(FEATURES))))
        words = self._by_words(question, inside if only else None)
        meaning = self._by_meaning(question)
        found = [np.flatnonzero(words)]
        found += [self._shifted_places(found[0], step) for step in (-1, 1, 2)]
        if meaning is not None:
            found.append(greatest(np.where(inside, meaning, -2) if only else meaning, _BY_MEANING))
        places = np.unique(np.concatenate(found))
        places = places[inside[places]] if only else places
        return Candidates(heads.ids[places], self._features(question, places, words, meaning, inside))

    def _by_words(self, question: str, inside: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """float64 [turns]: BM25 over the greatest of all turns, 0 for turns without a word of it."""
        heads, out = self._heads, np.zeros(len(self._heads.ids))
        terms = content(question) or WORD.findall(question)
        first, last = 1, None
        if inside is not None:
            at = np.flatnonzero(inside)
            first, last = int(heads.ids[at[0]]), int(heads.ids[at[-1]])
        hits = self._store.search(terms, _BY_WORDS, first, last)
        if hits:
            ids, scores = (np.array(column) for column in zip(*hits, strict=True))
            at = np.searchsorted(heads.ids, ids)
            known = (at < len(out)) & (heads.ids[np.minimum(at, len(out) - 1)] == ids)
            out[at[known]] = scores[known] / max(float(scores.max()), 1e-9)
        return out

    def _by_meaning(self, question: str) -> FloatArray | None:
        """float32 [turns]: cosines with the question; None without vectors of this encoder's."""
        heads = self._heads
        if self._encoder is None or not heads.codes.shape[1]:
            return None
        if self._store.setting("encoder") != self._encoder.name:
            return None
        query = self._encoder.ask(question)
        if len(query) != heads.codes.shape[1]:
            return None
        vectors = VectorSet(heads.codes, heads.scales, heads.ids)
        return vectors.rough(Query(query)) * np.float32(Query(query).scale)

    def _shifted_places(self, places: RowArray, step: int) -> RowArray:
        """The places of the turns `step` after these in their runs; the places themselves at a run's end."""
        here = self._place[places]
        there = np.clip(here + step, 0, len(self._order) - 1)
        there = np.where(self._run[there] == self._run[here], there, here)
        return np.asarray(self._order[there], np.int64)

    def _features(
        self,
        question: str,
        places: RowArray,
        words: NDArray[np.float64],
        meaning: FloatArray | None,
        inside: NDArray[np.bool_],
    ) -> NDArray[np.float64]:
        heads = self._heads

        def near(values: NDArray[np.float64] | FloatArray, step: int) -> NDArray[np.float64]:
            there = self._shifted_places(places, step)
            return np.asarray(np.where(there != places, values[there], 0.0), np.float64)

        cosines = np.zeros(len(heads.ids), np.float32) if meaning is None else meaning
        asked = set(content(question))
        named = np.array([bool(name and name & asked) for name in self._names])
        when = bool(WHEN.search(question))
        bits = np.maximum(heads.traits, 0)
        timed = (bits[places] & TIMED) > 0
        before = self._shifted_places(places, -1)
        answers = (before != places) & ((bits[before] & ASKS) > 0)
        runs = self._run[self._place[places]]
        columns = [
            words[places], near(words, -1), near(words, 1), near(words, -2),
            cosines[places], near(cosines, -1), near(cosines, 1),
            named[heads.speakers[places]], timed & when, timed, (bits[places] & ASKS) > 0,
            answers * cosines[before], np.log(np.maximum(bits[places] // LENGTH, 1)),
            _best_three(cosines[places], runs), _best_three(words[places], runs),
            inside[places] & (not inside.all()),
        ]  # fmt: skip
        return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


def _best_three(values: NDArray[np.float64] | FloatArray, runs: RowArray) -> NDArray[np.float64]:
    """For each value the mean of the three greatest of its run; those that a run lacks count as 0."""
    order = np.lexsort((-values, runs))
    sorted_runs = runs[order]
    starts = np.flatnonzero(np.diff(sorted_runs, prepend=-1))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    kept = np.where(rank < 3, values[order], 0.0)
    sums = np.add.reduceat(kept, starts) / 3 if len(starts) else np.zeros(0)
    out = np.empty(len(order))
    out[order] = np.repeat(sums, np.diff(np.append(starts, len(order))))
    return out


def _joined(old: Heads, first: int, new: Heads) -> Heads:
    """What is known of the turns before `first`, and what is new."""
    keep = int(np.searchsorted(old.ids, first))
    if not keep:
        return new
    names = tuple(dict.fromkeys([*old.names, *new.names]))
    number = {name: i for i, name in enumerate(names)}
    renamed = np.array([number[name] for name in new.names], np.int64)[new.speakers]
    if old.codes.shape[1] != new.codes.shape[1]:
        dim = max(old.codes.shape[1], new.codes.shape[1])
        old_codes, new_codes = _widened(old.codes[:keep], dim), _widened(new.codes, dim)
    else:
        old_codes, new_codes = old.codes[:keep], new.codes
    return Heads(
        np.concatenate([old.ids[:keep], new.ids]),
        np.concatenate([old.at[:keep], new.at]),
        np.concatenate([old.chats[:keep], new.chats]),
        np.concatenate([old.speakers[:keep], renamed]),
        np.concatenate([old.sessions[:keep], new.sessions]),
        np.concatenate([old.traits[:keep], new.traits]),
        np.concatenate([old_codes, new_codes]),
        np.concatenate([old.scales[:keep], new.scales]),
        names,
    )


def _widened(codes: NDArray[np.int8], dim: int) -> NDArray[np.int8]:
    """Turns without vectors get zeros; vectors of another length, from another encoder, do not count."""
    return codes if codes.shape[1] == dim else np.zeros((len(codes), dim), np.int8)
