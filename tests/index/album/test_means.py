"""A photo's mean vector in a channel: of unit length, zeros where it has none."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gamer.index import Album, Encoded, Photo
from tests.albums import album_of
from tests.fakes import DIM, unit


def test_a_photos_mean_is_that_of_its_chunks_and_zeros_without_any(tmp_path: Path) -> None:
    one, two, three = (unit(name) for name in (b"one", b"two", b"three"))
    chunks = [np.stack([one, two]), None, three[None]]
    vectors = [{} if part is None else {"text": part} for part in chunks]
    items = [Encoded(Photo(str(n)), channels) for n, channels in enumerate(vectors)]
    with Album.open(album_of(tmp_path / "a.gamer", items, DIM)) as album:
        means, none = album.means("text"), album.means("image")
    both = (one + two) / np.linalg.norm(one + two)
    assert means.dtype == np.float32
    assert none.shape == (3, 0)
    np.testing.assert_allclose(means, [both, np.zeros(DIM), three], atol=0.01)
