"""The album's entity graph as matrices, for the baselines that search graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gamer.index import FloatArray

from ..album_rows import entities
from ..user import NotApplicable, User


@dataclass(frozen=True, eq=False)
class EntityGraph:
    """`vectors`: float32 [m, D], one a node. `mentions`: sparse [m, photos] of 0 and 1.

    `joined`: sparse [m, m], symmetric, zero on the diagonal: the number of photos that mention both entities,
    plus one for each edge between them.
    """

    names: tuple[str, ...]
    vectors: FloatArray
    mentions: Any
    joined: Any


def entity_graph(user: User) -> EntityGraph:
    from scipy.sparse import coo_array

    album = entities(user.path)
    m, n = len(album.names), len(user.album)
    if not m or not album.vectors.size:
        raise NotApplicable("no entities in these albums")
    mentions = coo_array((np.ones(album.mentions.shape[1]), album.mentions), shape=(m, n)).tocsr()
    edges = coo_array((np.ones(album.edges.shape[1]), album.edges), shape=(m, m)).tocsr()
    joined = (mentions @ mentions.T + edges + edges.T).tolil()
    joined.setdiag(0)
    joined = joined.tocsr()
    joined.eliminate_zeros()
    return EntityGraph(album.names, album.vectors, mentions, joined)
