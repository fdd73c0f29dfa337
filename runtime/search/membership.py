"""Which of a search's hits belong to the set that a query means ("cherry blossoms", "every cat").

A ranking says what comes first; a set needs an end. A hit belongs to it if a weighted sum of its log-odds
score and of its distance to the best hit's score reaches a threshold, which rises with the number of the
query's words: the more are said, the more of them any photo resembles. Where the query names a time or a
place, only photos that fit it belong to the set.
"""

from __future__ import annotations

from math import exp

from gamer.index import Album
from gamer.index.entities.words import query_terms

from .. import defaults
from ..bundle.manifest import Ranking
from .answer import Answer, Hit
from .hits import of_fewer

CANDIDATES, PRESENT = defaults.SET_LOOKED_AT, defaults.SET_PRESENT
# SET_SCORE, SET_LEAST and SET_WORD are from a grid on the development album, with and without memories, and
# three albums drawn as newcomers' are, by thing and by kind of thing: the best mean F1 that finds no fewer by
# one word. Without SET_WORD it is 0.62 where one photo of the album is meant, 0.58 without memories, 0.49 of
# sets; with it 0.74, 0.72, 0.50. The album's median score, the share of the likelihood, the largest gap and
# plural nouns add nothing. The others say whether the album holds what is meant, judged by the best hit:
# logistic regression on the development albums' own queries against those put to another person's album, half
# of each. Fitted without the album of pictures, it refuses 75 % of that album's absent queries where it
# refuses 10 % of the others.


def presence(answer: Answer, weights: Ranking, photos: int) -> float:
    """The probability that an album of so many photos holds what is meant.

    It is the search's own if the best hit has no text.
    """
    if not answer.hits:
        return 0.0
    parts = answer.hits[0].parts

    def feature(name: str) -> float:
        weight = float(getattr(weights, name))
        return parts.get(name, 0.0) / weight if weight else 0.0

    if not feature("text"):
        return answer.presence
    odds = (
        defaults.SET_COSINE * (max(feature("text"), feature("image")) + of_fewer(photos))
        + defaults.SET_COVERAGE * feature("coverage")
        + defaults.SET_CONTEXT * feature("context_coverage")
        + defaults.SET_CUE * feature("cue")
        + defaults.SET_NONE
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
    best, words = hits[0].score, len(query_terms(answer.trace.refined))
    least = defaults.SET_LEAST + defaults.SET_WORD * max(words - 1, 0)
    return tuple(
        hit
        for hit in hits
        if hit is hits[0]
        or defaults.SET_SCORE * hit.score + (hit.score - best) >= least
        or (weights.coverage and hit.parts.get("coverage", 0.0) / weights.coverage >= defaults.SET_ALL_WORDS)
    )
