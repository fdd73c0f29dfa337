"""Reminisce-like coarse-to-fine embedding (Cai et al. 2024), as adapted to an album.

Reminisce leaves a photo with a coarse embedding from an early exit of the tower, and refines at query time
only the candidates that the coarse ones name. The exported towers have no early exit. What stands for the
coarse embedding is the first COARSE principal components of the user's own chunk vectors (a twelfth of 384
dimensions); the best SHARE of the photos, at least LEAST, are ranked anew by the whole vector. What differs:
the coarse stage saves bytes and multiply-adds of the search, not of the encoding, and its loss is that of a
projection, not of a shallower network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gamer.index import FloatArray, RowArray

from ..album_rows import vectors
from ..user import NotApplicable, User

COARSE, SHARE, LEAST = 32, 0.05, 20


@dataclass(frozen=True, eq=False)
class Coarse:
    """`basis`: float32 [D, COARSE]; `codes`: float32 [chunks, COARSE]; `owners`: the photo row of each,
    ascending.
    """

    basis: FloatArray
    codes: FloatArray
    owners: RowArray


def coarse(user: User) -> Coarse:
    found = vectors(user.path, "text")
    if not len(found.owners):
        raise NotApplicable("no text vectors in these albums")
    _, _, components = np.linalg.svd(found.floats, full_matrices=False)
    basis = np.asarray(components[:COARSE].T, np.float32)
    return Coarse(basis, found.floats @ basis, found.owners)


def rank(user: User, query: str) -> list[str]:
    index = user.kept(coarse)
    near = np.full(len(user.album), -np.inf, np.float32)
    np.maximum.at(near, index.owners, index.codes @ (index.basis.T @ user.vector(query)))
    kept = np.argsort(-near, kind="stable")[: max(LEAST, round(SHARE * len(near)))]
    fine = np.full(len(near), -np.inf, np.float32)
    fine[kept] = user.cosines("text", query)[kept]
    return user.best(fine)
