"""A channel of vectors that is replaced as a whole: the titles of photos."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gamer.index import Album, AlbumError, AlbumWriter, Encoded, FloatArray, Memory, Photo
from gamer.index.records import TITLE
from tests.albums import album_of


def photo(name: str, text: str = "a note") -> Encoded:
    told = Photo(name, None, 1_000, "local", None, None, (Memory("note", text),))
    return Encoded(told, {"text": np.eye(4, dtype=np.float32)[:1]})


def vectors(*rows: int) -> FloatArray:
    return np.eye(4, dtype=np.float32)[list(rows)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return album_of(tmp_path / "a.gamer", [photo("one"), photo("two"), photo("three")])


def title_scores(path: Path) -> list[float]:
    with Album.open(path) as album:
        assert album.verify() == []
        if TITLE not in album.channels():
            return []
        return [float(x) for x in album.scores(TITLE, vectors(1)[0], np.arange(len(album)))]


def test_a_channel_is_replaced_and_taken_away(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.set_channel(TITLE, {"one": vectors(0, 1), "three": vectors(2)})
    assert title_scores(path) == pytest.approx([1.0, -np.inf, 0.0], abs=1e-3)
    with AlbumWriter.extend(path) as writer:
        writer.set_channel(TITLE, {"two": vectors(1)})
    assert title_scores(path) == pytest.approx([-np.inf, 1.0, -np.inf], abs=1e-3)
    with AlbumWriter.extend(path) as writer:
        writer.set_channel(TITLE, {})
    assert title_scores(path) == []


def test_titles_go_with_the_memories_that_they_were_made_of(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.set_channel(TITLE, {"one": vectors(1), "two": vectors(1)})
        writer.retell([photo("one", "another note")])
    assert title_scores(path) == pytest.approx([-np.inf, 1.0, -np.inf], abs=1e-3)
    with AlbumWriter.extend(path) as writer:
        writer.remove(["two"])
    assert title_scores(path) in ([], [-np.inf, -np.inf])


def test_nothing_is_written_of_a_channel_that_does_not_fit(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.set_channel(TITLE, {"one": vectors(1)})
        for wrong in ({"gone": vectors(1)}, {"two": np.zeros((1, 3), np.float32), "one": vectors(1)}):
            with pytest.raises(AlbumError):
                writer.set_channel(TITLE, wrong)
    assert title_scores(path) == pytest.approx([1.0, -np.inf, -np.inf], abs=1e-3)
