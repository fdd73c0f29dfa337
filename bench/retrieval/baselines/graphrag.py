"""GraphRAG-like retrieval (Edge et al. 2024), as adapted to an album.

GraphRAG clusters an entity graph into communities, has a language model write a report on each, and answers
from the reports and from the neighbourhood of the query's entities. Here, entities and links are the album's
(layer 2). Communities come from Louvain's method on the entities that two photos or more mention (GraphRAG
uses Leiden's, in levels). In place of a report stands the mean vector of the community's entities, weighted
by mentions. A photo scores the cosine of its text, plus GLOBAL times the cosine of its best community, plus
LOCAL times the cosine of its nearest entity.

What differs: no report is written, there is one level only, and photos are ranked instead of an answer
generated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gamer.index import FloatArray

from ..user import User
from .entity_graph import EntityGraph, entity_graph

GLOBAL, LOCAL = 0.5, 0.25  # the best of six pairs on a sample of the development queries
SEED = 0


@dataclass(frozen=True, eq=False)
class Communities:
    """`vectors`: float32 [c, D], unit length.

    `photos`: sparse [c, photos], true where a photo mentions any entity of the community.
    """

    vectors: FloatArray
    photos: Any


def communities(user: User) -> Communities:
    from scipy.sparse import coo_array

    graph = user.computed_once(entity_graph)
    groups = _louvain(graph)
    community_of = np.concatenate([np.full(len(group), at) for at, group in enumerate(groups)])
    member = coo_array(
        (np.ones(len(community_of)), (community_of, np.concatenate(groups))),
        shape=(len(groups), len(graph.names)),
    ).tocsr()
    mention_counts = np.asarray(graph.mentions.sum(axis=1)).reshape(-1, 1)
    means = np.asarray(member @ (graph.vectors * mention_counts), np.float32)
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    return Communities(means, ((member @ graph.mentions) > 0).tocsr())


def _louvain(graph: EntityGraph) -> list[list[int]]:
    """The communities, as ascending entity numbers, in order of their first member.

    Entities that a single photo mentions are left out, unless there are no others.
    """
    import networkx as nx

    frequent = np.flatnonzero(np.asarray(graph.mentions.sum(axis=1)).reshape(-1) >= 2)
    frequent = frequent if len(frequent) else np.arange(len(graph.names))
    links = graph.joined[frequent][:, frequent].tocoo()
    network: Any = nx.Graph()
    network.add_nodes_from(range(len(frequent)))
    network.add_weighted_edges_from(
        (int(a), int(b), float(w)) for a, b, w in zip(links.row, links.col, links.data, strict=True) if a < b
    )
    return sorted(
        [
            sorted(int(frequent[node]) for node in group)
            for group in nx.community.louvain_communities(network, seed=SEED)
        ]
    )


def rank(user: User, query: str) -> list[str]:
    graph, grouped = user.computed_once(entity_graph), user.computed_once(communities)
    vector = user.vector(query)
    best = _greatest(grouped.photos, grouped.vectors @ vector)
    near = _greatest(graph.mentions, graph.vectors @ vector)
    return user.best(user.cosines("text", query) + GLOBAL * best + LOCAL * near)


def _greatest(links: Any, values: FloatArray) -> FloatArray:
    """float32 [photos]: the greatest positive value of the rows of `links` that hold the photo, or 0."""
    scaled = links.astype(np.float64).multiply(np.maximum(values, 0)[:, None])
    return np.asarray(scaled.max(axis=0).toarray(), np.float32).reshape(-1)
