"""Every method that `gamer bench quality` can ask, by name: our modes and the baselines. A literal table;
knows no data set.
"""

from __future__ import annotations

from .baselines import BASELINES, Baseline
from .user import DEPTH, User


def ours(user: User, query: str) -> list[str]:
    return _search(user, query, "fused")


def paper(user: User, query: str) -> list[str]:
    return _search(user, query, "paper")


def _search(user: User, query: str, mode: str) -> list[str]:
    return [hit.id for hit in user.engine.search(query, HITS, mode=mode, now=user.now).hits]


HITS = min(DEPTH, 10)  # a hit's photo is read and proved, which nobody needs of the two hundredth
METHODS: dict[str, Baseline] = {
    "ours": Baseline(ours, "gamer search, its defaults"),
    "ours-paper": Baseline(paper, "gamer search --mode paper: cube, nodes over δ, cosine alone"),
    **BASELINES,
}
