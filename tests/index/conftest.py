"""Fixtures and data of the index tests: small albums with random vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from gamer.index import AlbumMeta, AlbumWriter, Encoded, FloatArray, Memory, Mention, Photo

DIM = 16
META = AlbumMeta("made-up-text", "made-up-image", DIM, 0.6)
BuildAlbum = Callable[..., Path]


def unit(array: FloatArray) -> FloatArray:
    return np.asarray(array / np.linalg.norm(array, axis=-1, keepdims=True), np.float32)


def name_vectors(names: Sequence[str]) -> FloatArray:
    """A random unit vector for each name, always the same for the same name: float32 [names, DIM]."""
    return np.stack(
        [
            unit(np.random.default_rng(list(name.encode())).standard_normal(DIM).astype(np.float32))
            for name in names
        ]
    )


SAMPLE = (
    Encoded(
        Photo(
            "chair.jpg",
            "/p/chair.jpg",
            1_000,
            "offset",
            48.0,
            11.0,
            (Memory("chat", "The chair at IKEA was 119 euros"), Memory("note", "for Anna")),
        ),
        {"text": name_vectors(["chair", "anna"]), "image": name_vectors(["picture of a chair"])},
        (Mention("chair", "thing"), Mention("119 euros", "price", "chair"), Mention("IKEA", "place")),
    ),
    Encoded(
        Photo(
            "beach.jpg",
            None,
            5_000,
            "local",
            None,
            None,
            (Memory("caption", "Waves on the beach with Anna"),),
            "low",
            "high",
        ),
        {"text": name_vectors(["beach"])},
        (Mention("Anna", "person"), Mention("beaches", "thing")),
    ),
    Encoded(
        Photo(
            "dog.jpg", None, None, "local", -33.9, 179.9, (Memory("caption", "A dog running on the beach"),)
        ),
        {"text": name_vectors(["dog"]), "image": name_vectors(["dog"])},
        (Mention("dog", "thing"), Mention("beach", "thing")),
    ),
    Encoded(Photo("blank.jpg", None, None)),
)


@pytest.fixture
def build_album(tmp_path: Path) -> BuildAlbum:
    """A function that writes an album of the given photos and returns its path."""

    def build(
        items: Sequence[Encoded] = SAMPLE,
        name: str = "album.gamer",
        meta: AlbumMeta = META,
        hnsw_from: int = 1_000,
    ) -> Path:
        path = tmp_path / name
        with AlbumWriter.create(path, meta, hnsw_from=hnsw_from) as writer:
            writer.add(items)
            writer.finish(name_vectors)
        return path

    return build


@pytest.fixture
def album_path(build_album: BuildAlbum) -> Path:
    """The path of an album of SAMPLE."""
    return build_album()
