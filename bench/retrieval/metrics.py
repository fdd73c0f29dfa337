"""Recall@K, MAP@K and MRR of ranked ids, as in the paper's Appendix D and in the standard form.

Every metric follows from the places at which relevant ids stand in the list, and from the number of relevant
ids. Result files store these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

DEPTH = 10  # no metric looks below this place


@dataclass(frozen=True)
class Scores:
    """The metrics of one query, or their means.

    `map5` divides by the number of relevant ids in the top 5 (Appendix D), `map5_std` by min(relevant, 5).
    """

    recall5: float
    map5: float
    map5_std: float
    recall10: float
    mrr10: float


METRICS = tuple(field.name for field in fields(Scores))


def places(ranked: Sequence[str], relevant: Sequence[str], depth: int = DEPTH) -> tuple[int, ...]:
    """The places, from 1 and ascending, of the relevant ids among the first `depth` distinct ids.

    An id that repeats counts at its first place.
    """
    wanted = set(relevant)
    return tuple(
        place for place, photo in enumerate(list(dict.fromkeys(ranked))[:depth], 1) if photo in wanted
    )


def recall(relevant_places: Sequence[int], relevant: int, k: int) -> float:
    """The share of the `relevant` ids that stand at place k or before."""
    return sum(place <= k for place in relevant_places) / relevant


def from_places(relevant_places: Sequence[int], relevant: int) -> Scores:
    """Scores of one query, from what `places` returned. Raises ValueError when nothing is relevant."""
    if relevant < 1:
        raise ValueError("a query without a relevant id cannot be scored")
    top = [place for place in relevant_places if place <= 5]
    precision = sum(count / place for count, place in enumerate(top, 1))
    return Scores(
        recall(relevant_places, relevant, 5),
        precision / len(top) if top else 0.0,
        precision / min(relevant, 5),
        recall(relevant_places, relevant, DEPTH),
        1 / relevant_places[0] if relevant_places and relevant_places[0] <= DEPTH else 0.0,
    )


def score(ranked: Sequence[str], relevant: Sequence[str]) -> Scores:
    """Scores of one query, from its ranked ids. Raises ValueError when nothing is relevant."""
    return from_places(places(ranked, relevant), len(set(relevant)))


def mean(rows: Sequence[Scores]) -> Scores:
    """Field-wise mean; zeros for no rows."""
    return Scores(*(sum(getattr(r, name) for r in rows) / len(rows) if rows else 0.0 for name in METRICS))
