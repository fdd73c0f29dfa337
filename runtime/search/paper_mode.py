"""Mode "paper": cube, entity nodes over δ, then cosine alone (paper section 3.2). For comparison."""

from __future__ import annotations

import numpy as np

from gamer.index import Album, FloatArray, RowArray

from .fused import Ranked, Vectors, cosines
from .options import SearchOptions


def rank(
    album: Album, vectors: Vectors, rows: RowArray, linked: FloatArray, options: SearchOptions
) -> Ranked:
    """A photo's score is the greatest of its channels' cosines, and at least 0.

    `rows`: the photos that the graph left; `vectors`: the query's by channel; `linked`: float32
    [photos of the album], the only feature if the layer "vectors" is skipped.
    """
    features = {"entity": linked[rows]} if "vectors" in options.skip else cosines(album, vectors, rows)
    greatest = np.max([np.zeros(len(rows), np.float32), *features.values()], axis=0)
    return Ranked(rows, features, {"cosine": greatest}, f"exact scan of {len(rows)} photos")
