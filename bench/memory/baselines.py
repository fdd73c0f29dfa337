"""What the memory is compared with, by name: each takes a talk and gives a ranking of its turns.

- bm25-window: BM25 of a turn, and half of that of the turn with its two neighbours.
- dense-turns: a plain RAG over turns, those whose vectors are nearest to the question's.
- summaries: like MemGPT, pages of a conversation that are found by their summaries, then read turn by turn.
- facts: like Mem0, the statements of each turn with a vector; a new one replaces one that it repeats.

Summaries (a page's two longest sentences) and facts are made by rules: MemGPT and Mem0 have a large model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gamer.index import FloatArray
from gamer.runtime.memory.recall import Encoder
from gamer.runtime.memory.words import asks, content
from gamer.runtime.questions.clauses import sentences_of

from ..retrieval.baselines.bm25 import Index
from .talks import Talk

Rank = Callable[[str], list[int]]  # a question → turns, best first
_PAGE = 6  # turns
_SAME = 0.9  # cosine from which on two facts are one


def _first(scores: FloatArray) -> list[int]:
    """Places by score, the greatest first."""
    return [int(at) for at in np.argsort(-scores, kind="stable")]


def bm25_window(talk: Talk, encoder: Encoder) -> Rank:
    texts = [f"{turn.speaker}: {turn.text}" for turn in talk.turns]
    single = Index.of(texts)
    window = Index.of([" ".join(texts[max(at - 1, 0) : at + 2]) for at in range(len(texts))])
    return lambda question: [at + 1 for at in _first(single.scores(question) + 0.5 * window.scores(question))]


def dense_turns(talk: Talk, encoder: Encoder) -> Rank:
    return lambda question: [at + 1 for at in _first(talk.vectors @ encoder.encode(question))]


def summaries(talk: Talk, encoder: Encoder) -> Rank:
    pages = [range(start, min(start + _PAGE, len(talk.turns))) for start in range(0, len(talk.turns), _PAGE)]
    vectors = np.stack([encoder.encode(_summary(talk, page)) for page in pages])

    def rank(question: str) -> list[int]:
        query = encoder.encode(question)
        read = (
            [pages[page][at] + 1 for at in _first(talk.vectors[pages[page]] @ query)[: _PAGE // 2]]
            for page in _first(vectors @ query)
        )
        return [turn for page in read for turn in page]

    return rank


def _summary(talk: Talk, page: range) -> str:
    said = [f"{talk.turns[at].speaker}: {one}" for at in page for one in sentences_of(talk.turns[at].text)]
    return " ".join(sorted(said, key=lambda one: -len(content(one)))[:2])


def facts(talk: Talk, encoder: Encoder) -> Rank:
    kept: list[tuple[int, FloatArray]] = []
    for number, turn in enumerate(talk.turns, 1):
        said = [one for one in sentences_of(turn.text) if not asks(one) and len(content(one)) >= 2]
        if said:
            vector = encoder.encode(f"{turn.speaker}: {' '.join(said)}")
            kept = [one for one in kept if float(one[1] @ vector) < _SAME] + [(number, vector)]
    table = np.stack([vector for _, vector in kept])
    return lambda question: [kept[at][0] for at in _first(table @ encoder.encode(question))]


BASELINES: dict[str, Callable[[Talk, Encoder], Rank]] = {
    "bm25-window": bm25_window,
    "dense-turns": dense_turns,
    "summaries": summaries,
    "facts": facts,
}
