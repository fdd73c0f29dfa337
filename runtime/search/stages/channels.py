"""The cosines of a query with photos, channel by channel: text, image, and those of trained experts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gamer.index import Album, FloatArray, RowArray

# Channel → the vector of a query in it, float32 [dim].
Vectors = Mapping[str, FloatArray]


def searched(album: Album, vectors: Vectors) -> list[str]:
    """The channels that both the album and the query have, in the query's order."""
    have = album.channels()
    return [name for name in vectors if name in have]


def scores(album: Album, vectors: Vectors, rows: RowArray) -> dict[str, FloatArray]:
    """Feature → float32 [rows]: the cosine of a channel's query with each row's best vector in it.

    A feature is called as its channel, up to the first ":". -inf where a row has no vector.
    """
    return {
        name.partition(":")[0]: album.scores(name, vectors[name], rows) for name in searched(album, vectors)
    }


def finite(values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """`values` with 0 in place of -inf."""
    return {
        name: np.where(np.isfinite(column), column, np.float32(0.0)).astype(np.float32)
        for name, column in values.items()
    }
