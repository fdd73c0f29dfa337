"""Reminisce-like coarse-to-fine embedding (Cai et al. 2024), as adapted to an album.

Reminisce gives a photo a coarse embedding from an early exit of the tower, and at query time refines only the
candidates that the coarse embeddings select. The exported towers have no early exit. Here, the coarse
embedding is the first COARSE principal components of the user's chunk vectors (a twelfth of 384 dimensions).
The best SHARE of the photos, at least LEAST, are ranked again by the full vectors.

What differs: the coarse stage saves bytes and multiply-adds of the search, not of the encoding, and its loss
is that of a projection, not of a shallower network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gamer.index import FloatArray, RowArray

from ..user import NotApplicable, User

COARSE, SHARE, LEAST = 32, 0.05, 20


@dataclass(frozen=True, eq=False)
class Coarse:
    """`basis`: float32 [D, COARSE]. `codes`: float32 [chunks, COARSE]. `owners`: int64 [chunks], photo rows,
    ascending.
    """

    basis: FloatArray
    codes: FloatArray
    owners: RowArray


def coarse(user: User) -> Coarse:
    owners, vectors = user.album.vectors("text")
    if not len(owners):
        raise NotApplicable("no text vectors in these albums")
    _, _, components = np.linalg.svd(vectors, full_matrices=False)
    basis = np.asarray(components[:COARSE].T, np.float32)
    return Coarse(basis, vectors @ basis, owners)


def rank(user: User, query: str) -> list[str]:
    index = user.computed_once(coarse)
    near = np.full(len(user.album), -np.inf, np.float32)
    np.maximum.at(near, index.owners, index.codes @ (index.basis.T @ user.vector(query)))
    candidates = np.argsort(-near, kind="stable")[: max(LEAST, round(SHARE * len(near)))]
    fine = np.full(len(near), -np.inf, np.float32)
    fine[candidates] = user.cosines("text", query)[candidates]
    return user.best(fine)
