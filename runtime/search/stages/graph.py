"""The fourth stage, the graph of layer 2: entities whose similarity to Q̂ is at least δ, and their photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from gamer.index import EntityMatch, FloatArray

from ...defaults import LEAST_LINK
from ..state import Nodes, Parts, State


def matched(parts: Parts, state: State) -> State:
    """Adds the entity nodes that photos in the cube activate, and how strongly each photo hangs on them."""
    delta, cube = state.request.delta, state.scope.cube
    search = parts.album.traversed if state.request.mode == "strict" else parts.album.match_entities
    with state.request.observer.step("graph", "entity match"):
        matches = search(state.refined.plain, cube, delta)
    linked, related = (_strengths(matches, kind, len(parts.album), delta) for kind in ("photos", "reached"))
    reached = cube.keep(np.flatnonzero((linked > 0) | (related > 0)))
    return replace(state, nodes=Nodes(tuple(matches), linked, related, reached))


def _strengths(
    matches: Sequence[EntityMatch], kind: Literal["photos", "reached"], photos: int, delta: float
) -> FloatArray:
    """float32 [photos] in 0..1: how similar each photo's best entity node of that kind is to the query.

    Scaled so that δ is 0 and a similarity of 1 is 1, but at least LEAST_LINK for a linked photo; 0 for
    all others.
    """
    shares = np.zeros(photos, np.float32)
    for match in matches:
        rows = np.asarray(getattr(match, kind), np.int64)
        share = np.float32(max(LEAST_LINK, (match.similarity - delta) / max(1e-6, 1.0 - delta)))
        shares[rows] = np.maximum(shares[rows], share)
    return shares
