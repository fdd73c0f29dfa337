"""Which of a search's hits belong to the set that a query means ("cherry blossoms", "every cat").

A ranking says what comes first; a set needs an end. A hit belongs to it if a weighted sum of its log-odds
score and of its distance to the best hit's score reaches a threshold. Where the query names a time or a
place, only photos that fit it belong to the set.
"""

from __future__ import annotations

from gamer.index import Album

from ..search.answer import Answer, Hit

CANDIDATES = 60  # hits that are looked at
# Logistic regression, fitted by `gamer bench agent --fit` on sets of the development album.
BEST, BEHIND, LEAST = 0.4, 1.0, 0.4
PRESENT = 0.5  # probability below which nothing in the album is said to fit


def members(album: Album, answer: Answer) -> tuple[Hit, ...]:
    """The hits that belong to the set, best first; the best one always does."""
    hits = answer.hits
    if answer.trace.cubes and not answer.trace.widened:
        fits = album.in_cubes(answer.trace.cubes).found.mask
        hits = tuple(hit for hit in hits if fits[hit.row])
    if not hits:
        return answer.hits[:1]
    best = hits[0].score
    return tuple(
        hit for hit in hits if hit is hits[0] or BEST * hit.score + BEHIND * (hit.score - best) >= LEAST
    )
