"""A photo's mean vector in a channel: of unit length, zeros where it has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, Photo
from tests.fakes import DIM, unit


def test_a_photos_mean_is_that_of_its_chunks_and_zeros_without_any(tmp_path: Path) -> None:
    path = tmp_path / "a.gamer"
    one, two, three = (unit(name) for name in (b"one", b"two", b"three"))
    chunks = [np.stack([one, two]), None, three[None]]
    with AlbumWriter.create(path, AlbumMeta("t", "i", DIM, 0.6)) as writer:
        vectors = [{} if part is None else {"text": part} for part in chunks]
        writer.add([Encoded(Photo(str(n)), channels) for n, channels in enumerate(vectors)])
        writer.finish(lambda names: np.zeros((len(names), DIM), np.float32))
    with Album.open(path) as album:
        means, none = album.means("text"), album.means("image")
    both = (one + two) / np.linalg.norm(one + two)
    assert means.dtype == np.float32 and none.shape == (3, 0)
    np.testing.assert_allclose(means, [both, np.zeros(DIM), three], atol=0.01)
