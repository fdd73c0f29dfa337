"""Probabilities of hits: several photos may be meant at once, and an answer in doubt promises nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any, cast

import pytest

from gamer.runtime.search.answer import Answer, Hit
from gamer.runtime.search.confidence import calibrated


def _answer(scores: Sequence[float], presence: float = 0.95) -> Answer:
    """An answer whose probabilities are shared out as the engine does, among these hits and a thousand
    photos of score 0.
    """
    total = sum(map(exp, scores)) + 1_000
    hits = tuple(
        Hit(n, f"p{n}", None, None, None, None, score, presence * exp(score) / total, {}, None, ())
        for n, score in enumerate(scores)
    )
    return Answer(hits, cast(Any, None), presence)


def _probabilities(scores: Sequence[float], presence: float = 0.95) -> list[float]:
    return [hit.probability for hit in calibrated(_answer(scores, presence)).hits]


def test_photos_of_a_set_are_all_likely() -> None:
    shared = [hit.probability for hit in _answer([12.0, 11.8, 11.7, 11.6]).hits]
    together = _probabilities([12.0, 11.8, 11.7, 11.6])
    assert shared[3] < 0.25
    assert min(together) > 0.5


def test_a_photo_far_behind_the_best_is_unlikely() -> None:
    first, second, *_ = _probabilities([14.0, 9.0, 8.5])
    assert first > 0.9
    assert second < 0.1


@pytest.mark.parametrize("scores", [[12.0, 11.0, 3.0], [1.0, 0.5, 0.0], [60.0, 59.0, -60.0]])
def test_the_order_of_the_hits_is_that_of_their_probabilities(scores: list[float]) -> None:
    found = _probabilities(scores)
    assert found == sorted(found, reverse=True)
    assert all(0 <= p <= 1 for p in found)


def test_an_answer_in_doubt_is_less_likely_than_its_doubt() -> None:
    assert max(_probabilities([14.0, 2.0], presence=0.2)) <= 0.2


def test_no_hits_stay_none() -> None:
    assert calibrated(_answer([])).hits == ()
