"""Reciprocal-rank fusion (Cormack et al. 2009) of ranked lists of ids, with the usual k = 60.

The baseline fuses the lists of BM25 and dense retrieval.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..user import DEPTH, User
from . import bm25, dense

K = 60


def fused(lists: Sequence[Sequence[str]]) -> list[str]:
    """At most DEPTH ids by the sum of 1 / (K + place) over the lists that hold them, best first.

    Equal scores stand in the order in which their ids first appear in the lists.
    """
    scores: dict[str, float] = {}
    for ranked in lists:
        for place, photo in enumerate(ranked, 1):
            scores[photo] = scores.get(photo, 0.0) + 1 / (K + place)
    return sorted(scores, key=lambda photo: -scores[photo])[:DEPTH]


def rank(user: User, query: str) -> list[str]:
    return fused([bm25.rank(user, query), dense.rank(user, query)])
