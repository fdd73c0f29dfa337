"""Fits the weights of recall: a listwise softmax over the candidates of each question, with a small ridge.

The turns that answer share the probability; every conversation weighs the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.recall import FEATURES, Encoder, Recall

from .. import stats
from .talks import Talk

_RIDGE = 2e-4


@dataclass(frozen=True, eq=False)
class Choice:
    """`features`: float64 [candidates, features]; `meant`: float64 [candidates], sums to 1."""

    talk: str
    features: NDArray[np.float64]
    meant: NDArray[np.float64]


def choices(talk: Talk, store: MemoryStore, encoder: Encoder) -> list[Choice]:
    """The candidates of each question of which one at least is meant."""
    recall, out = Recall(store, encoder), []
    for question in talk.questions:
        found = recall.candidates(question.text)
        meant = np.isin(found.ids, [*question.evidence]).astype(np.float64)
        if meant.any():
            out.append(Choice(talk.name, found.features, meant / meant.sum()))
    return out


def fit(given: Sequence[Choice]) -> NDArray[np.float64]:
    """float64 [FEATURES]."""
    counts = Counter(choice.talk for choice in given)
    listed = [(one.features, one.meant, 1 / counts[one.talk] / len(counts)) for one in given]
    ridge = np.full(len(FEATURES), _RIDGE)
    return np.round(stats.listwise(listed, np.ones(len(FEATURES)), ridge, 200), 2)
