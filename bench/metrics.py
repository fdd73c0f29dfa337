"""Recall@K, MAP@K and MRR (paper Appendix D, and the standard form). Plain functions of ranked ids; knows no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Scores:
    """`map5` divides by the relevant items found in the top 5 (Appendix D), `map5_std` by min(relevant, 5)."""

    recall5: float
    map5: float
    map5_std: float
    recall10: float
    mrr10: float


def score(ranked: Sequence[str], relevant: Sequence[str]) -> Scores:
    """Scores of one query. An id that repeats counts at its first place. Raises ValueError when nothing is relevant."""
    wanted = set(relevant)
    if not wanted:
        raise ValueError("a query without a relevant id cannot be scored")
    flags = [i in wanted for i in dict.fromkeys(ranked)][:10]
    top = flags[:5]
    precision = sum(sum(top[: n + 1]) / (n + 1) for n, hit in enumerate(top) if hit)
    found = sum(top)
    first = next((n for n, hit in enumerate(flags, 1) if hit), None)
    return Scores(
        found / len(wanted),
        precision / found if found else 0.0,
        precision / min(len(wanted), 5),
        sum(flags) / len(wanted),
        1 / first if first else 0.0,
    )


def mean(rows: Sequence[Scores]) -> Scores:
    """Field-wise mean; zeros for no rows."""
    return Scores(*(sum(getattr(r, f.name) for r in rows) / len(rows) if rows else 0.0 for f in fields(Scores)))
