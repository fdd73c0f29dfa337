"""Albums for tests: written as they are, or made by the made-up models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, FloatArray, Photo
from gamer.runtime.indexing.build import build
from gamer.runtime.search.engine import Engine
from tests.fakes import fake_models


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


def built(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """The album of lines of JSON, by made-up models."""
    lines = folder / "photos.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return build(lines, fake_models(), folder / "a.gamer").path


def engine_of(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Engine:
    """An engine over `built`."""
    return Engine(fake_models(), Album.open(built(folder, rows)))


def note(text: str) -> list[dict[str, str]]:
    """The memories of a line."""
    return [{"source": "note", "text": text}]
