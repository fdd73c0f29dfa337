"""BM25 of a turn, and half of that of the turn with its two neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamer.runtime.memory.recall import Encoder

from ...retrieval.baselines.bm25 import Index
from ..talks import Talk


def over(talk: Talk, encoder: Encoder) -> Callable[[str], list[int]]:
    texts = [f"{turn.speaker}: {turn.text}" for turn in talk.turns]
    single = Index.of(texts)
    window = Index.of([" ".join(texts[max(at - 1, 0) : at + 2]) for at in range(len(texts))])

    def rank(question: str) -> list[int]:
        scores = single.scores(question) + 0.5 * window.scores(question)
        return [int(at) + 1 for at in np.argsort(-scores, kind="stable")]

    return rank
