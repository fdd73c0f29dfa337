"""BM25 over the memories, with k1 = 1.5 and b = 0.75 (bm25s, its "lucene" form).

Words are lower-cased, English stop words are dropped, and the rest are stemmed (Snowball English). The data
sets' own `bm25` row follows the same protocol, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gamer.index import FloatArray

from ..user import User

_WORDS = r"(?u)\b\w+\b"


@dataclass(frozen=True, eq=False)
class Index:
    """BM25 over some texts. `retriever`: None if the texts hold no word at all."""

    retriever: Any
    stemmer: Any
    size: int

    @classmethod
    def of(cls, texts: Sequence[str]) -> Index:
        import bm25s
        import Stemmer

        stemmer = Stemmer.Stemmer("english")
        tokens = _tokens(texts, stemmer)
        retriever = bm25s.BM25(method="lucene", k1=1.5, b=0.75) if any(tokens) else None
        if retriever is not None:
            retriever.index(tokens, show_progress=False)
        return cls(retriever, stemmer, len(texts))

    def scores(self, query: str) -> FloatArray:
        """float32 [texts]: BM25 of each text, 0 for a text with no word of the query."""
        (words,) = _tokens([query], self.stemmer)
        known = (
            [] if self.retriever is None else [word for word in words if word in self.retriever.vocab_dict]
        )
        return (
            np.asarray(self.retriever.get_scores(known), np.float32)
            if known
            else np.zeros(self.size, np.float32)
        )


def _tokens(texts: Sequence[str], stemmer: Any) -> list[list[str]]:
    import bm25s

    tokens: list[list[str]] = bm25s.tokenize(
        list(texts),
        stopwords="en",
        stemmer=stemmer,
        token_pattern=_WORDS,
        return_ids=False,
        show_progress=False,
    )
    return tokens


def over_memories(user: User) -> Index:
    return Index.of(user.texts)


def rank(user: User, query: str) -> list[str]:
    return user.best(user.computed_once(over_memories).scores(query), above=0)
