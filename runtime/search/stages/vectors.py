"""The fifth stage, layer 3: ranks what the stages before left, and says which photos are best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gamer.index import Album, top

from ...defaults import PREFERRED
from ..state import Parts, Positions, Ranked, State
from . import fused
from .channels import finite, scores


def ranked(parts: Parts, state: State) -> State:
    """Adds the ranked photos: by the features of all layers, or in the other modes by cosine alone."""
    ways = {"fused": fused.rank, "paper": _by_cosine, "strict": _by_product}
    found = ways[state.request.mode](parts, state)
    with state.request.observer.step("vectors", "re-rank"):
        best = _best(parts.album, found, state.request.k)
    return replace(state, ranked=replace(found, best=best))


def _by_cosine(parts: Parts, state: State) -> Ranked:
    """Mode "paper" (section 3.2): a photo's score is the greatest of its channels' cosines, and at least 0.

    Of the photos that hang on a node; if none does, of those in the cube. Without the layer "vectors" the
    strength of the nodes is the score.
    """
    nodes = state.nodes
    rows = nodes.reached if state.narrowed else state.scope.cube.rows
    if "vectors" in state.request.options.skip:
        features = {"entity": np.maximum(nodes.linked, nodes.related)[rows]}
    else:
        vectors = state.refined.vectors(state.refined.plain)
        features = finite(scores(parts.album, vectors, rows))
    greatest = np.max([np.zeros(len(rows), np.float32), *features.values()], axis=0)
    return Ranked(rows, features, {"cosine": greatest}, f"exact scan of {len(rows)} photos")


def _by_product(parts: Parts, state: State) -> Ranked:
    """Mode "strict": v_Q · v_I of the photos that hang on a node, as printed, in no photo's place another.

    v_I is the trained experts' vector where the album has it, else the picture's.
    """
    vectors = state.refined.projected or {"image": state.refined.plain}
    rows = state.nodes.reached
    products = list(scores(parts.album, vectors, rows).values())
    product = products[0] if products else np.full(len(rows), -np.inf, np.float32)
    has = np.isfinite(product)
    return Ranked(rows[has], {}, {"product": product[has]}, f"exact scan of {len(rows)} photos")


def _best(album: Album, found: Ranked, k: int) -> Positions:
    """Positions of the k best, best first.

    A photo that the user preferred to another is moved before it, among the best max(k, PREFERRED).
    """
    best = top(np.sum(list(found.parts.values()), axis=0), max(k, PREFERRED))
    position_of = {int(row): position for row, position in zip(found.rows[best], best, strict=True)}
    return np.array([position_of[row] for row in album.preferred(list(position_of))][:k], np.int64)
