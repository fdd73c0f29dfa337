"""MiniRAG-like graph retrieval (Fan et al. 2025), as adapted to an album.

MiniRAG indexes chunks and entities in one heterogeneous graph, so that a small model need not understand
much: it matches the query's entities to nodes, follows paths from them, and takes the chunks on strong paths.
Here, chunks are photos, and entities and links are the album's (layer 2).

Start nodes are the START entities nearest to the query, and the entity nearest to each name that the album's
extractor reads in the query. A start node's activation is its cosine. It passes on to joined entities for two
steps, damped by DAMPING and divided by degree. A photo's graph score is the sum of its entities' activation
over the square root of their number, scaled to 1 for the best photo; WEIGHT times it is added to the cosine
of the photo's text.

What differs: no language model names the type of the answer, and edges have no descriptions. WEIGHT is the
best of six on a sample of the development queries, as our own weights are fitted to them.
"""

from __future__ import annotations

import numpy as np

from gamer.index import FloatArray, extract

from ..user import User
from .entity_graph import EntityGraph, entity_graph

START, DAMPING, STEPS = 10, 0.5, 2
WEIGHT = 0.1


def activation(graph: EntityGraph, seeds: FloatArray) -> FloatArray:
    """float32 [m]: each node's activation, summed over the start and STEPS steps along `graph.joined`.

    `seeds`: float32 [m], the cosines of the start nodes, 0 for other nodes.
    """
    degree = np.maximum(np.asarray(graph.joined.sum(axis=1)).reshape(-1), 1)
    total = current = seeds.astype(np.float64)
    for _ in range(STEPS):
        current = DAMPING * (graph.joined @ (current / degree))
        total = total + current
    return total.astype(np.float32)


def seeds_of(user: User, graph: EntityGraph, query: str) -> FloatArray:
    """float32 [m]: the cosines of the start nodes, 0 for other nodes."""
    out = np.zeros(len(graph.names), np.float32)
    for text, count in ((query, START), *((mention.name, 1) for mention in extract(query))):
        near = graph.vectors @ user.vector(text)
        best = np.argsort(-near, kind="stable")[:count]
        out[best] = np.maximum(out[best], near[best])
    return out


def rank(user: User, query: str) -> list[str]:
    graph = user.computed_once(entity_graph)
    active = activation(graph, seeds_of(user, graph, query))
    mentioned = np.maximum(np.asarray(graph.mentions.sum(axis=0)).reshape(-1), 1)
    linked = (graph.mentions.T @ active) / np.sqrt(mentioned)
    return user.best(user.cosines("text", query) + WEIGHT * linked / max(float(linked.max()), 1e-9))
