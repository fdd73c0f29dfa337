"""Like MemGPT: pages of a conversation that are found by their summaries, then read turn by turn.

The summary is made by rules, of the page's two longest sentences: MemGPT has a large model write it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamer.runtime.memory.recall import Encoder
from gamer.runtime.memory.words import content
from gamer.runtime.questions.clauses import sentences_of

from ..talks import Talk

_PAGE = 6  # turns


def over(talk: Talk, encoder: Encoder) -> Callable[[str], list[int]]:
    pages = [range(start, min(start + _PAGE, len(talk.turns))) for start in range(0, len(talk.turns), _PAGE)]
    vectors = np.stack([encoder.encode(_summary(talk, page)) for page in pages])

    def rank(question: str) -> list[int]:
        query = encoder.encode(question)
        out: list[int] = []
        for page in np.argsort(-(vectors @ query), kind="stable"):
            within = sorted(pages[page], key=lambda at: -float(talk.vectors[at] @ query))
            out += [at + 1 for at in within[: _PAGE // 2]]
        return out

    return rank


def _summary(talk: Talk, page: range) -> str:
    said = [f"{talk.turns[at].speaker}: {one}" for at in page for one in sentences_of(talk.turns[at].text)]
    return " ".join(sorted(said, key=lambda one: -len(content(one)))[:2])
