"""PA-CQR-like retrieval: the language model rewrites the query in the light of the person's own memories.

The paper fine-tunes a language model to rewrite queries, by dynamic direct preference optimization with its
own reward network as the judge (Appendix C), and searches the rewritten query densely. Here no model is
trained; instead the model is told what is known of the person. These are the NEAREST memories by cosine,
which the bundle's model is shown with its own prompt for refinement and the same checks of its answer
(runtime/search/stages/refine.py: it may add words of those that share one with the query); a rejected answer
leaves the query as it was typed. The lists of the query and of its rewriting are fused by reciprocal rank.

What differs, then: no preference is learned, and there is no conversation before a query. A model that has
learned to write the memory for a query is measured in bench/trained/generated.py.
"""

from __future__ import annotations

from gamer.runtime.search.stages import refine

from ..user import User
from . import dense, rrf

NEAREST = 3


class Rewriter:
    """Rewrites queries for one user, each query once."""

    def __init__(self, user: User) -> None:
        user.needs_language_model()
        self._texts = dict(zip(user.ids, user.texts, strict=True))
        self._known: dict[str, str] = {}

    def __call__(self, user: User, query: str, nearest: list[str]) -> str:
        """The rewritten query, or `query` if the model's answer fails the checks."""
        if query not in self._known:
            context = refine.Context(memories=tuple(self._texts[name] for name in nearest))
            self._known[query] = refine.by_llm(user.models, refine.RefinementRequest(query, query, context))[
                0
            ]
        return self._known[query]


def rank(user: User, query: str) -> list[str]:
    nearest = dense.rank(user, query)[:NEAREST]
    return with_rewriting(user, query, user.computed_once(Rewriter)(user, query, nearest))


def with_rewriting(user: User, query: str, rewritten: str) -> list[str]:
    return rrf.fused([dense.rank(user, text) for text in (query, rewritten)])
