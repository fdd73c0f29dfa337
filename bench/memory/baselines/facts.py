"""Like Mem0: the statements of each turn as facts with vectors; a new one replaces one that it repeats.

The facts are drawn by rules: Mem0 has a large model draw and merge them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamer.runtime.memory.recall import Encoder
from gamer.runtime.memory.words import asks, content
from gamer.runtime.questions.clauses import sentences_of

from ..talks import Talk

_SAME = 0.9  # cosine from which on two facts are one


def over(talk: Talk, encoder: Encoder) -> Callable[[str], list[int]]:
    turns: list[int] = []
    vectors: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = []
    for number, turn in enumerate(talk.turns, 1):
        said = [one for one in sentences_of(turn.text) if not asks(one) and len(content(one)) >= 2]
        if not said:
            continue
        vector = encoder.encode(f"{turn.speaker}: {' '.join(said)}")
        for at in range(len(turns) - 1, -1, -1):
            if float(vectors[at] @ vector) >= _SAME:
                del turns[at], vectors[at]
        turns.append(number)
        vectors.append(vector)
    table = np.stack(vectors)

    def rank(question: str) -> list[int]:
        return [turns[at] for at in np.argsort(-(table @ encoder.encode(question)), kind="stable")]

    return rank
