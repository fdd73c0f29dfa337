"""The arithmetic of the fused ranking compared with plain loops: cues as likelihood ratios, messages with
their neighbours, probabilities.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.index.album.layers.lexical import Word, WordScores
from gamer.runtime.bundle.manifest import Ranking
from gamer.runtime.search.hits import likelihoods, of_fewer, presence
from gamer.runtime.search.stages.ranking import (
    LEAST,
    MOST,
    NEAR,
    SESSION_MS,
    Clue,
    Conversations,
    context,
    evidence,
    weighted,
)

UNKNOWN = np.iinfo(np.int64).min


def clue(known: list[int], inside: list[int], trust: float) -> Clue:
    return Clue(np.array(known, np.bool_), np.array(inside, np.bool_), trust)


def test_the_evidence_of_a_cue_is_a_log_likelihood_ratio() -> None:
    worth = clue([1, 1, 1, 1, 0], [1, 0, 0, 0, 0], 0.9).evidence(np.arange(5))
    assert worth[0] == pytest.approx(math.log(0.9 / 0.2))
    assert worth[1] == pytest.approx(math.log(0.1 / 0.8))
    assert worth[4] == 0, "an unknown time says nothing"


@pytest.mark.parametrize(("known", "inside"), [([0, 0, 0], [0, 0, 0]), ([1, 1, 1], [1, 1, 1])])
def test_a_cue_that_distinguishes_no_photos_is_no_evidence(known: list[int], inside: list[int]) -> None:
    assert not clue(known, inside, 0.5).evidence(np.arange(3)).any()


def test_a_cue_below_chance_is_no_evidence_and_many_cues_together_are_bounded() -> None:
    assert not clue([1] * 4, [1, 1, 1, 0], 0.3).evidence(np.arange(4)).any()
    many = [clue([1] * 1000, [1] + [0] * 999, 1.0)] * 5
    assert evidence(many, np.array([0, 1])).tolist() == [MOST, LEAST]
    assert evidence([], np.arange(3)).tolist() == [0, 0, 0]


albums = st.lists(
    st.tuples(
        st.sampled_from([UNKNOWN, 0, 1, SESSION_MS, 2 * SESSION_MS + 1, 10 * SESSION_MS]), st.booleans()
    ),
    min_size=1,
    max_size=12,
)


@given(albums, st.sampled_from(NEAR))
def test_neighbours_are_those_of_a_plain_walk_in_time(album: list[tuple[int, bool]], step: int) -> None:
    times, spoken = np.array([t for t, _ in album], np.int64), np.array([s for _, s in album])
    order = sorted(range(len(album)), key=lambda row: (album[row][0], row))
    other, joined = Conversations(times, spoken).neighbour(np.arange(len(album)), step)
    for place, row in enumerate(order):
        there = place + step
        path = [order[p] for p in range(min(place, there), max(place, there) + 1) if 0 <= p < len(order)]
        together = 0 <= there < len(order) and all(
            album[a][0] != UNKNOWN and album[b][0] - album[a][0] <= SESSION_MS for a, b in pairwise(path)
        )
        expected = together and spoken[row] and spoken[order[there]]
        assert bool(joined[row]) == expected
        if expected:
            assert other[row] == order[there]


def test_a_message_is_scored_with_those_around_it_and_a_caption_alone() -> None:
    dog = Word("dog", np.array([1, 3]), np.array([1.0, 1.0], np.float32), 3.0)
    words = WordScores((Word("beach", np.array([0]), np.array([2.0], np.float32), 1.0), dog), 4)
    talk = Conversations(np.array([0, 1, 2, 3], np.int64), np.array([True, True, True, False]))
    around, coverage = context(words, talk, np.arange(4))
    assert around.tolist() == [1.0, 2.0, 3.0, 0.0]
    assert coverage.tolist() == [1.0, 1.0, 1.0, 0.0], (
        "each message's conversation holds both words; the caption has none"
    )
    assert words.coverage.tolist() == [0.25, 0.75, 0.0, 0.75]
    assert words.bm25.tolist() == [2.0, 1.0, 0.0, 1.0]


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=20))
def test_likelihoods_are_a_softmax(scores: list[float]) -> None:
    likely = likelihoods({"text": np.array(scores, np.float32), "cue": np.zeros(len(scores), np.float32)})
    assert float(likely.sum()) == pytest.approx(1.0, abs=1e-5)
    assert likely[int(np.argmax(np.array(scores, np.float32)))] == likely.max()


def test_weights_and_presence_follow_the_bundle() -> None:
    ranking = Ranking()
    assert weighted({"text": np.ones(2, np.float32)}, ranking)["text"].tolist() == pytest.approx(
        [ranking.text] * 2
    )
    assert presence(ranking, 0.1, 0.0, 0.0) < 0.5 < presence(ranking, 0.6, 1.0, 0.0)
    assert presence(ranking, 0.4, 0.5, 3.0) > presence(ranking, 0.4, 0.5, -3.0)


def test_of_fewer_photos_less_likeness_is_enough_within_the_sizes_that_were_measured() -> None:
    lacks = [of_fewer(photos) for photos in (20, 60, 150, 599, 600)]
    assert lacks == sorted(lacks, reverse=True)
    assert lacks[0] == pytest.approx(0.0748, abs=1e-4)
    assert of_fewer(0) == of_fewer(5) == lacks[0]
    assert of_fewer(1_000_000) == lacks[-1] == 0
