"""Image-only retrieval: the cosine of each photo's image vector with the query's vector.

Both are in the text tower's space. The data set needs photos with pixels.
"""

from __future__ import annotations

from ..user import User


def rank(user: User, query: str) -> list[str]:
    return user.best(user.cosines("image", query))
