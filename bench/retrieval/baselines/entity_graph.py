"""The album's own entity graph as matrices, for the baselines that search graphs: nodes with vectors, which
photos mention them, how they are joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gamer.index import FloatArray

from ..album_rows import entities
from ..user import NotApplicable, User


@dataclass(frozen=True, eq=False)
class EntityGraph:
    """`vectors`: float32 [m, D]. `mentions`: sparse [m, photos] of 0 and 1. `joined`: sparse [m, m],
    symmetric, no loops: the photos that two entities share, one more for an edge between them."""

    names: tuple[str, ...]
    vectors: FloatArray
    mentions: Any
    joined: Any


def entity_graph(user: User) -> EntityGraph:
    from scipy.sparse import coo_array

    found = entities(user.path)
    m, n = len(found.names), len(user.album)
    if not m or not found.vectors.size:
        raise NotApplicable("no entities in these albums")
    mentions = coo_array((np.ones(found.mentions.shape[1]), found.mentions), shape=(m, n)).tocsr()
    edges = coo_array((np.ones(found.edges.shape[1]), found.edges), shape=(m, m)).tocsr()
    joined = (mentions @ mentions.T + edges + edges.T).tolil()
    joined.setdiag(0)
    joined = joined.tocsr()
    joined.eliminate_zeros()
    return EntityGraph(found.names, found.vectors, mentions, joined)
