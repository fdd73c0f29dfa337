"""Albums for tests that need an album and no model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from gamer.index import AlbumMeta, AlbumWriter, Encoded, FloatArray, Photo


def album_of(
    path: Path,
    items: Iterable[Photo | Encoded] = (),
    dim: int = 4,
    names: Callable[[Sequence[str]], FloatArray] | None = None,
    meta: AlbumMeta | None = None,
) -> Path:
    """Writes the items; returns `path`. `names`: vectors of entity names, by default alike for all."""

    def alike(names: Sequence[str]) -> FloatArray:
        return np.full((len(names), dim), 0.5, np.float32)

    with AlbumWriter.create(path, meta or AlbumMeta("none", "none", dim, 0.5)) as writer:
        writer.add([Encoded(item) if isinstance(item, Photo) else item for item in items])
        writer.finish(names or alike)
    return path
