"""Fits the weights of recall: a listwise softmax over the candidates of each question, with a small ridge.

The turns that answer share the probability; every conversation weighs the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.recall import FEATURES, Encoder, Recall

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
    from scipy.optimize import minimize

    counts = {name: sum(choice.talk == name for choice in given) for name in {c.talk for c in given}}

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = _RIDGE * float(w @ w), 2 * _RIDGE * w
        for choice in given:
            share = 1 / counts[choice.talk] / len(counts)
            scores = choice.features @ w
            top = scores.max()
            total = top + np.log(np.exp(scores - top).sum())
            value += share * float(total - choice.meant @ scores)
            slope = slope + share * choice.features.T @ (np.exp(scores - total) - choice.meant)
        return value, slope

    found: Any = minimize(loss, np.ones(len(FEATURES)), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(np.round(found.x, 2), np.float64)
