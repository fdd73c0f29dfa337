"""How often the trained channel finds a photo by a memory that it was not trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from .features import Features
from .projection import Projection

_BATCH = 64


@dataclass(frozen=True)
class Recall:
    """`at_5`: the share of `queries` whose photo is among the first five of `photos`."""

    at_5: float
    queries: int
    photos: int


def recall(
    model: Projection,
    seen: Features,
    states: NDArray[np.float32],
    owners: Sequence[int],
    among: NDArray[np.intp],
) -> Recall:
    """Recall@5 of the photos `owners` [Q] for states float32 [Q, W], among the photos `among` [N] (rows)."""
    where = next(model.parameters()).device
    with torch.no_grad():
        asked = F.normalize(model.query(torch.from_numpy(states).to(where)), dim=-1)
        shown = [
            model(torch.from_numpy(seen.patches[rows].astype(np.float32)).to(where))[0]
            for rows in np.array_split(among, max(1, -(-len(among) // _BATCH)))
        ]
        first = (asked @ F.normalize(torch.cat(shown), dim=-1).T).topk(min(5, len(among)), dim=1).indices
    hits = among[first.cpu().numpy()] == np.asarray(owners)[:, None]
    return Recall(float(hits.any(axis=1).mean()), len(owners), len(among))
