"""Dense retrieval: the text tower on the query, and the cosine of the best chunk of each photo's memories."""

from __future__ import annotations

from ..user import User


def rank(user: User, query: str) -> list[str]:
    return user.best(user.cosines("text", query))
