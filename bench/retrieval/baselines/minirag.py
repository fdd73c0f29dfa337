"""MiniRAG-like graph retrieval (Fan et al. 2025), as adapted to an album.

MiniRAG indexes chunks and entities in one heterogeneous graph, so that a small model need not understand
much: it finds the query's entities in it, walks paths from them, and takes the chunks that lie on strong
ones. Here: chunks are photos, entities and links are the album's own (layer 2). Start nodes are the START
entities nearest to the query, and those nearest to each name that the album's extractor finds in it.
Activation is the cosine and passes on to joined entities, damped by DAMPING and shared by degree, for two
steps; a photo's graph score is the sum of its entities' activation over the square root of their number,
scaled to 1 for the best photo; WEIGHT times it is added to the cosine of its text. What differs: no language
model names the answer's type and no edge has a description; WEIGHT is the best of six on a sample of the
development queries, as our own weights are fitted to them.
"""

from __future__ import annotations

import numpy as np

from gamer.index import FloatArray, extract

from ..user import User
from .entity_graph import EntityGraph, entity_graph

START, DAMPING, STEPS = 10, 0.5, 2
WEIGHT = 0.1


def activation(graph: EntityGraph, seeds: FloatArray) -> FloatArray:
    """float32 [m]: what the seeds' cosines [m] (0: not a seed) amount to after STEPS along the joints."""
    degree = np.maximum(np.asarray(graph.joined.sum(axis=1)).reshape(-1), 1)
    total = here = seeds.astype(np.float64)
    for _ in range(STEPS):
        here = DAMPING * (graph.joined @ (here / degree))
        total = total + here
    return total.astype(np.float32)


def seeds_of(user: User, graph: EntityGraph, query: str) -> FloatArray:
    """float32 [m]: cosines of the start nodes, 0 elsewhere."""
    out = np.zeros(len(graph.names), np.float32)
    for text, count in ((query, START), *((mention.name, 1) for mention in extract(query))):
        near = graph.vectors @ user.vector(text)
        best = np.argsort(-near, kind="stable")[:count]
        out[best] = np.maximum(out[best], near[best])
    return out


def rank(user: User, query: str) -> list[str]:
    graph = user.kept(entity_graph)
    active = activation(graph, seeds_of(user, graph, query))
    mentioned = np.maximum(np.asarray(graph.mentions.sum(axis=0)).reshape(-1), 1)
    linked = (graph.mentions.T @ active) / np.sqrt(mentioned)
    return user.best(user.cosines("text", query) + WEIGHT * linked / max(float(linked.max()), 1e-9))
