"""Which of a search's hits belong to the set that a query means ("cherry blossoms", "every cat").

A ranking says what comes first; a set needs an end. A hit belongs to it if a weighted sum of its log-odds
score and of its distance to the best hit's score reaches a threshold. Where the query names a time or a
place, only photos that fit it belong to the set.
"""

from __future__ import annotations

from math import exp

from gamer.index import Album

from ..bundle.manifest import Ranking
from .answer import Answer, Hit

CANDIDATES = 40  # hits that are looked at
# The best point of a grid on the 26 visual sets of the development album (mean F1 0.67, left out one by one
# 0.64; with the best number of hits for each query it would be 0.78).
ALL_WORDS = 0.99  # share of the query's words, by rarity, that a hit's memories hold
BEST, BEHIND, LEAST = 0.4, 1.0, 0.4
# Whether the album holds what is meant, judged by the best hit: logistic regression on the development
# albums' own queries against those put to another person's album, half of each. Fitted without the album of
# pictures, it refuses 75 % of that album's absent queries where it refuses 10 % of the others.
COSINE, COVERAGE, CONTEXT, CUE, NONE = 11.4, 1.43, 1.31, 0.45, -5.5
PRESENT = 0.47  # probability below which nothing in the album is said to fit


def presence(answer: Answer, weights: Ranking) -> float:
    """The probability that the album holds what is meant; the search's own if the best hit has no text."""
    if not answer.hits:
        return 0.0
    parts = answer.hits[0].parts

    def feature(name: str) -> float:
        weight = float(getattr(weights, name))
        return parts.get(name, 0.0) / weight if weight else 0.0

    if not feature("text"):
        return answer.presence
    odds = (
        COSINE * max(feature("text"), feature("image"))
        + COVERAGE * feature("coverage")
        + CONTEXT * feature("context_coverage")
        + CUE * feature("cue")
        + NONE
    )
    return 1 / (1 + exp(-odds))


def members(album: Album, answer: Answer, weights: Ranking) -> tuple[Hit, ...]:
    """The hits that belong to the set, best first; the best one does, and whatever holds all the words."""
    hits = answer.hits
    if answer.trace.cubes and not answer.trace.widened:
        fits = album.in_cubes(answer.trace.cubes).found.mask
        hits = tuple(hit for hit in hits if fits[hit.row])
    if not hits:
        return answer.hits[:1]
    best = hits[0].score
    return tuple(
        hit
        for hit in hits
        if hit is hits[0]
        or BEST * hit.score + BEHIND * (hit.score - best) >= LEAST
        or (weights.coverage and hit.parts.get("coverage", 0.0) / weights.coverage >= ALL_WORDS)
    )
