"""Image-only retrieval: the cosine of the query's vector and each photo's image vector (both in the text
tower's space). Needs photos with pixels.
"""

from __future__ import annotations

from ..user import User


def rank(user: User, query: str) -> list[str]:
    return user.best(user.cosines("image", query))
