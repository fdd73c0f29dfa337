"""Reciprocal-rank fusion (Cormack et al.

2009) of lists of ids, and its form over BM25 and the dense list with the usual k = 60.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..user import DEPTH, User
from . import bm25, dense

K = 60


def fused(lists: Sequence[Sequence[str]]) -> list[str]:
    """An id scores the sum of 1 / (K + place) over the lists that hold it; equal scores in the order in which
    they were met.
    """
    scores: dict[str, float] = {}
    for ranked in lists:
        for place, photo in enumerate(ranked, 1):
            scores[photo] = scores.get(photo, 0.0) + 1 / (K + place)
    return sorted(scores, key=lambda photo: -scores[photo])[:DEPTH]


def rank(user: User, query: str) -> list[str]:
    return fused([bm25.rank(user, query), dense.rank(user, query)])
