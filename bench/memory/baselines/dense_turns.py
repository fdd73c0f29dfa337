"""A plain RAG over turns: those whose vectors are nearest to the question's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamer.runtime.memory.recall import Encoder

from ..talks import Talk


def over(talk: Talk, encoder: Encoder) -> Callable[[str], list[int]]:
    def rank(question: str) -> list[int]:
        scores = talk.vectors @ encoder.encode(question)
        return [int(at) + 1 for at in np.argsort(-scores, kind="stable")]

    return rank
