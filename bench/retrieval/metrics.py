"""Recall@K, MAP@K and MRR (paper Appendix D, and the standard form). Plain functions of ranked ids; knows no
engine.

Every metric follows from two things: the places at which relevant ids stand in the list, and how many there
are to find. Result files keep these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

DEPTH = 10  # no metric here looks further down


@dataclass(frozen=True)
class Scores:
    """`map5` divides by the relevant items found in the top 5 (Appendix D), `map5_std` by
    min(relevant, 5).
    """

    recall5: float
    map5: float
    map5_std: float
    recall10: float
    mrr10: float


METRICS = tuple(field.name for field in fields(Scores))


def places(ranked: Sequence[str], relevant: Sequence[str], depth: int = DEPTH) -> tuple[int, ...]:
    """Where relevant ids stand among the first `depth`, from 1, ascending.

    An id that repeats counts at its first place.
    """
    wanted = set(relevant)
    return tuple(
        place for place, photo in enumerate(list(dict.fromkeys(ranked))[:depth], 1) if photo in wanted
    )


def recall(found: Sequence[int], relevant: int, k: int) -> float:
    """The share of `relevant` ids that stand at place k or before."""
    return sum(place <= k for place in found) / relevant


def from_places(found: Sequence[int], relevant: int) -> Scores:
    """Scores of one query. Raises ValueError when nothing is relevant."""
    if relevant < 1:
        raise ValueError("a query without a relevant id cannot be scored")
    top = [place for place in found if place <= 5]
    precision = sum(count / place for count, place in enumerate(top, 1))
    return Scores(
        recall(found, relevant, 5),
        precision / len(top) if top else 0.0,
        precision / min(relevant, 5),
        recall(found, relevant, DEPTH),
        1 / found[0] if found and found[0] <= DEPTH else 0.0,
    )


def score(ranked: Sequence[str], relevant: Sequence[str]) -> Scores:
    """Scores of one query from its ids. Raises ValueError when nothing is relevant."""
    return from_places(places(ranked, relevant), len(set(relevant)))


def mean(rows: Sequence[Scores]) -> Scores:
    """Field-wise mean; zeros for no rows."""
    return Scores(*(sum(getattr(r, name) for r in rows) / len(rows) if rows else 0.0 for name in METRICS))
