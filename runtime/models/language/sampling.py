"""Chooses the next token from logits: greedy, or sampled with temperature, top-k and top-p from a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ...errors import RuntimeFailure


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen. Equal seeds give equal tokens for equal logits.

    `temperature`: 0 always takes the likeliest token. `top_k`: 0 for no limit. `top_p`: 1 for no limit.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (
            0.0 <= self.temperature <= 100.0
            and self.top_k >= 0
            and 0.0 < self.top_p <= 1.0
            and self.seed >= 0
        ):
            raise RuntimeFailure(
                f"{self}: temperature 0..100, top_k ≥ 0, top_p above 0 and at most 1, seed ≥ 0 are wanted"
            )


GREEDY = Sampling()


def pick(
    logits: FloatArray,
    sampling: Sampling,
    random: np.random.Generator,
    allowed: NDArray[np.int64] | None = None,
) -> int:
    """The next token id from logits [V]; `allowed`: the only ids to choose from (not empty), if given."""
    ids = np.arange(len(logits)) if allowed is None else allowed
    scores = logits if allowed is None else logits[allowed]
    if sampling.temperature == 0.0:
        return int(ids[np.argmax(scores)])
    order, shares = distribution(scores, sampling)
    return int(ids[order[random.choice(len(order), p=shares)]])


def distribution(scores: FloatArray, sampling: Sampling) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The indices that remain after top-k and top-p, likeliest first, and their probabilities (sum one)."""
    order = np.argsort(-scores, kind="stable")
    if sampling.top_k:
        order = order[: sampling.top_k]
    scaled = scores[order].astype(np.float64) / sampling.temperature
    shares = np.exp(scaled - scaled[0])
    shares /= shares.sum()
    # The fewest of the likeliest tokens whose probabilities reach top_p; at least one.
    head = int(np.searchsorted(np.cumsum(shares), sampling.top_p * (1 - 1e-12))) + 1
    order, shares = order[:head], shares[:head]
    return order, shares / shares.sum()
