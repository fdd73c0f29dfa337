"""The methods that `gamer bench quality` measures, by name: our search modes and the baselines."""

from __future__ import annotations

from .baselines import BASELINES, Baseline
from .user import DEPTH, NotApplicable, User


def ours(user: User, query: str) -> list[str]:
    return _search(user, query, "fused")


def paper(user: User, query: str) -> list[str]:
    return _search(user, query, "paper")


def strict(user: User, query: str) -> list[str]:
    if "image" not in user.engine.album.channels():
        raise NotApplicable("no image vectors in these albums")
    return _search(user, query, "strict")


def _search(user: User, query: str, mode: str) -> list[str]:
    return [hit.id for hit in user.engine.search(query, HITS, mode=mode, now=user.now).hits]


HITS = min(
    DEPTH, 10
)  # a search reads and verifies the photo of every hit, and no metric looks below place 10
METHODS: dict[str, Baseline] = {
    "ours": Baseline(ours, "gamer search, its defaults"),
    "ours-paper": Baseline(paper, "gamer search --mode paper: cube, nodes over δ, cosine alone"),
    "ours-strict": Baseline(strict, "gamer search --mode strict: the paper's layers as printed, no fallback"),
    **BASELINES,
}
