"""How likely each hit is one of the photos that a query means, of which there may be one or many.

The engine shares out one unit of probability among all photos, as if a single one were meant: of seven cats
the first then seems certain and the others impossible. This is logistic regression on that share, on the
hit's log-odds and on how far it lies behind the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

from .. import defaults
from .answer import Answer

# Fitted on the twenty best hits of each query about the development album of pictures and, at a quarter of
# the weight, of two photographers. Left out in ten parts, the mean log loss falls from 0.48 to 0.31 where a
# set is meant, from 0.128 to 0.121 where one photo is; the first hit's expected calibration error from 0.19
# to 0.08.
SHARE, SCORE, BEHIND, NONE = defaults.HIT_SHARE, defaults.HIT_SCORE, defaults.HIT_BEHIND, defaults.HIT_NONE
LEAST = 1e-6  # share of the probability below which all are alike


def calibrated(answer: Answer) -> Answer:
    """`answer` with each hit's probability judged by itself; lowered where the whole answer is doubtful."""
    values = judged(
        [hit.score for hit in answer.hits], [hit.probability for hit in answer.hits], answer.presence
    )
    hits = (replace(hit, probability=value) for hit, value in zip(answer.hits, values, strict=True))
    return replace(answer, hits=tuple(hits))


def judged(scores: Sequence[float], probabilities: Sequence[float], presence: float) -> list[float]:
    """For each hit, best first, its probability by itself, from its score and its share of `presence`."""
    doubt = presence if presence < 0.5 else 1.0
    out = []
    for score, probability in zip(scores, probabilities, strict=True):
        share = min(max(probability / max(presence, 1e-9), LEAST), 1 - LEAST)
        odds = SHARE * log(share / (1 - share)) + SCORE * score + BEHIND * (score - scores[0]) + NONE
        out.append(round(doubt / (1 + exp(-odds)), 4))
    return out
