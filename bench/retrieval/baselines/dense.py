"""Dense retrieval: a photo scores the cosine of its best text chunk with the query's vector."""

from __future__ import annotations

from ..user import User


def rank(user: User, query: str) -> list[str]:
    return user.best(user.cosines("text", query))
