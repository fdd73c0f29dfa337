"""The baselines that our search is compared with, on the same albums and the same text tower.

Each is one file with a function `rank(user, query) -> ids`. To add one: write such a file and give it a name
in BASELINES (bench/README.md has an example).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..user import Rank
from . import bm25, dense, gar, graphrag, image, minirag, pa_cqr, reminisce, rrf, st


@dataclass(frozen=True)
class Baseline:
    """A method to compare with. `what`: its description in tables and --help, one line."""

    rank: Rank
    what: str


BASELINES: dict[str, Baseline] = {
    "bm25": Baseline(bm25.rank, "words of the memories (BM25, k1 1.5, b 0.75)"),
    "dense": Baseline(dense.rank, "cosine of the text vectors, the best chunk of each photo"),
    "rrf": Baseline(rrf.rank, "reciprocal-rank fusion of bm25 and dense"),
    "st": Baseline(st.rank, "time and place written out as text, matched by BM25"),
    "st-dense": Baseline(st.rank_dense, "time and place written out as text, matched by its vector"),
    "image": Baseline(image.rank, "cosine of the image vectors"),
    "gar": Baseline(
        gar.rank,
        "BM25 of the query, fused with BM25 of it and the language model's sentence (kept sentences cost "
        "no time)",
    ),
    "gar-dense": Baseline(
        gar.rank_dense,
        "dense, fused with dense of the query and the language model's sentence (kept ones cost no time)",
    ),
    "pa-cqr": Baseline(
        pa_cqr.rank,
        "PA-CQR-like: dense, fused with dense of the query as the language model rewrites it with the "
        "nearest memories",
    ),
    "minirag": Baseline(
        minirag.rank, "MiniRAG-like: paths of two steps through the entity graph, and the text's cosine"
    ),
    "graphrag": Baseline(
        graphrag.rank, "GraphRAG-like: communities of the entity graph, and the text's cosine"
    ),
    "reminisce": Baseline(
        reminisce.rank, "Reminisce-like: coarse short vectors first, the best of them by the whole vector"
    ),
}
