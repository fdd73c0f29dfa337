"""Copies and bursts are one hit; what only looks alike, or shows one colour, is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from gamer.index import Album, Encoded, Memory, Photo
from gamer.index.records import COPIES
from gamer.runtime.indexing.likeness import likeness
from gamer.runtime.search.answer import Hit
from gamer.runtime.search.copies import BLOCK, added, groups, inherited, together
from tests.albums import album_of

DAY = 86_400_000
TOLD = Memory("caption", "the harbour")


def _scene(seed: int) -> Image.Image:
    grey = np.random.default_rng(seed).integers(0, 255, (6, 6, 3), np.uint8)
    return Image.fromarray(grey).resize((320, 240), Image.Resampling.BICUBIC)


def _pixels(image: Image.Image) -> NDArray[np.uint8]:
    return np.asarray(image, np.uint8)


@pytest.fixture
def album(tmp_path: Path) -> Album:
    """Photos 0 and 1 are copies of different days, 2 and 3 a burst, 4 is as like 2 as 3 is, a day later, 5
    and 6 show one colour each, 7 has no picture.
    """
    # One camera's view, moved a little between photos.
    still, moved, back = (_scene(2).crop((at, at, at + 300, at + 220)) for at in (8, 12, 4))
    plain = Image.new("RGB", (320, 240), "white")
    pictures = [_scene(1), _scene(1).resize((160, 120)), still, moved, back, plain, plain, None]
    times = [0, 9 * DAY, 5 * DAY, 5 * DAY + 900, 6 * DAY, 7 * DAY, 7 * DAY + 1, 7 * DAY + 2]
    items = [
        Encoded(
            Photo(
                f"p{n}",
                None,
                time,
                lat=None if n else 48.0,
                lon=None if n else 2.0,
                memories=() if n else (TOLD,),
            ),
            {} if picture is None else {COPIES: likeness(_pixels(picture))[None]},
        )
        for n, (picture, time) in enumerate(zip(pictures, times, strict=True))
    ]
    return Album.open(album_of(tmp_path / "a.gamer", items))


def test_a_hit_names_its_copies(album: Album) -> None:
    hits = [Hit(n, f"p{n}", None, None, None, None, 1.0, 0.1, {}, None, ()) for n in (1, 0, 2, 3, 4, 5, 6, 7)]
    shown = {hit.id: hit.copies for hit in together(album, hits)}
    assert shown == {"p0": ("p1",), "p2": ("p3",), "p4": (), "p5": (), "p6": (), "p7": ()}
    assert album.verify() == []


def hit(row: int, probability: float, lat: float | None = None, cue: float = 0.0) -> Hit:
    memory = None if lat is None else "the harbour"
    return Hit(row, f"p{row}", None, 1, lat, lat, probability, probability, {"cue": cue}, memory, ())


def test_the_photo_of_which_most_is_known_stands_for_its_copies_with_the_best_rank(album: Album) -> None:
    (shown,) = together(album, [hit(1, 0.9), hit(0, 0.4, lat=48.0)])
    assert (shown.id, shown.copies, shown.probability, shown.memory) == ("p0", ("p1",), 0.9, "the harbour")


def test_a_copy_that_fits_the_time_asked_for_stands_for_its_group(album: Album) -> None:
    (shown,) = together(album, [hit(1, 0.9, cue=2.0), hit(0, 0.4, lat=48.0, cue=-2.0)])
    assert (shown.id, shown.copies) == ("p1", ("p0",))


def test_what_an_original_knows_its_copies_know_too(album: Album) -> None:
    placed = np.isfinite(album.positions()[:, 0])
    assert np.flatnonzero(placed).tolist() == [0]
    assert np.flatnonzero(inherited(album, placed)).tolist() == [0, 1]
    assert inherited(album, np.zeros(8, np.bool_)).sum() == 0


def test_an_albums_groups_begin_with_the_photo_taken_first(album: Album) -> None:
    assert groups(album) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("ids", "copies"),
    [
        ([], 0),
        (["p1"], 1),
        (["p0"], 1),  # what was there already is a copy of it
        (["p0", "p1"], 1),
        (["p3", "p4", "p5", "p6", "p7"], 1),
        ([f"p{n}" for n in range(8)], 2),
    ],
)
def test_copies_among_photos_that_were_added_are_counted_once(
    album: Album, ids: list[str], copies: int
) -> None:
    assert added(album, ids) == copies


def test_copies_far_apart_in_a_large_album_are_one_group(tmp_path: Path) -> None:
    """More photos than are compared at once; the copies are the first, the last and one without a time."""
    many = BLOCK + 40
    seeds = [7 if n in (0, 50, many - 1) else 100 + n for n in range(many)]
    items = [
        Encoded(
            Photo(f"p{n}", None, None if n == 50 else n * DAY),
            {COPIES: likeness(_pixels(_scene(seed)))[None]},
        )
        for n, seed in enumerate(seeds)
    ]
    with Album.open(album_of(tmp_path / "a.gamer", items)) as album:
        assert groups(album) == [(0, many - 1, 50)]
        assert added(album, [f"p{n}" for n in range(many)]) == 2


def test_of_copies_that_tell_as_much_the_one_stands_for_all_to_whose_name_the_others_add(
    tmp_path: Path,
) -> None:
    ids = ("b/IMG_1-small.jpg", "IMG_1 (1).jpg", "IMG_1.jpg", "sent on.jpg")
    looks = likeness(_pixels(_scene(1)))[None]
    items = [Encoded(Photo(name, None, n * DAY), {COPIES: looks}) for n, name in enumerate(ids)]
    with Album.open(album_of(tmp_path / "a.gamer", items)) as album:
        hits = [Hit(n, name, None, None, None, None, 1.0, 0.1, {}, None, ()) for n, name in enumerate(ids)]
        (shown,) = together(album, hits)
        assert (shown.id, shown.copies) == (ids[2], (ids[0], ids[1], ids[3]))
        (shown,) = together(album, [hits[3], hits[0]])  # no name adds to the other
        assert shown.id == ids[3]
