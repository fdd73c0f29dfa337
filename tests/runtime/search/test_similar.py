"""Photos similar to a photo: their order, the channel, copies, what must stay, and how photos are named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gamer.index import (
    Album,
    AlbumError,
    AlbumWriter,
    Encoded,
    FloatArray,
    Memory,
    Photo,
    image_id,
)
from gamer.index.album.leaving import open_leaving
from gamer.index.records import COPIES
from gamer.runtime.cli.similar import similar as command
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.similar import row_named, similar
from tests.albums import album_of
from tests.index.retelling import Retelling

DIM, LOOKS = 4, 80
BURST = 40  # photos that follow one another, more than a first look takes in


def at(degrees: float) -> FloatArray:
    """A unit vector, float32 [1, DIM], at this angle from the first axis."""
    angle = np.radians(degrees)
    return np.array([[np.cos(angle), np.sin(angle), 0, 0]], np.float32)


def look(number: int) -> FloatArray:
    return np.eye(LOOKS, dtype=np.float32)[[number]]


def pictured(name: str, degrees: float, number: int, **more: object) -> Encoded:
    photo = Photo(name, f"/photos/{name}", **more)  # type: ignore[arg-type]
    return Encoded(photo, {"image": at(degrees), COPIES: look(number)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Pictures at angles from that of "cat.jpg", of which "sent.jpg" is a copy; two notes; and nothing."""
    note = Memory("note", "said")
    photos = [
        pictured("cat.jpg", 0, 0),
        pictured("far.jpg", 80, 1),
        pictured("trip/near.jpg", 10, 2, memories=(Memory("note", "a cat too"),)),
        pictured("private.jpg", 20, 3, sharing="low", memories=(note,)),
        pictured("home/near.jpg", 30, 4),
        pictured("sent.jpg", 1, 0),
        pictured("again.jpg", 31, 4),
        Encoded(Photo("told", memories=(note,)), {"text": np.concatenate([at(0), at(20)])}),
        Encoded(Photo("retold", memories=(note,)), {"text": np.concatenate([at(10), at(170)])}),
        Encoded(Photo("7")),
    ]
    return album_of(tmp_path / "a.gamer", photos)


@pytest.fixture
def album(path: Path) -> Iterator[Album]:
    with Album.open(path) as opened:
        yield opened


def test_pictures_are_ranked_by_cosine_with_copies_as_one(album: Album) -> None:
    answer = similar(album, album.row_of("cat.jpg"))
    assert (answer.channel, answer.plan) == ("image", "exact")
    assert answer.asked.id == "cat.jpg"
    assert answer.asked.copies == ("sent.jpg",)
    shown = [(photo.id, photo.copies) for photo in answer.photos]
    assert shown == [
        ("trip/near.jpg", ()),
        ("private.jpg", ()),
        ("home/near.jpg", ("again.jpg",)),
        ("far.jpg", ()),
    ]
    cosines = [photo.cosine for photo in answer.photos]
    assert cosines == pytest.approx(np.cos(np.radians([10, 20, 30, 80])), abs=0.005)
    assert answer.photos[0].memory == "a cat too"
    assert answer.photos[0].path == "/photos/trip/near.jpg"
    assert [photo.id for photo in similar(album, 0, 2).photos] == ["trip/near.jpg", "private.jpg"]


def test_a_photo_without_a_picture_is_compared_by_what_is_said(album: Album) -> None:
    """By the mean of its memories: at 10 degrees, where the nearest memory of "retold" is."""
    answer = similar(album, album.row_of("told"))
    assert answer.channel == "text"
    (found,) = answer.photos
    assert found.id == "retold"
    assert found.cosine == pytest.approx(1, abs=0.005)


def test_a_photo_without_vectors_and_numbers_out_of_bounds_are_one_line(album: Album) -> None:
    with pytest.raises(RuntimeFailure, match=r"^7: no vector .*: put its file back or describe it, then run"):
        similar(album, album.row_of("7"))
    for k in (0, 1001):
        with pytest.raises(RuntimeFailure, match="choose 1 to 1000"):
            similar(album, 0, k)
    with pytest.raises(AlbumError, match="no photo in row 99"):
        similar(album, 99)


def test_a_burst_hides_no_other_photo(tmp_path: Path) -> None:
    burst = [pictured(f"burst{n:02}.jpg", n / 100, 0) for n in range(BURST)]
    photos = [*burst, pictured("other.jpg", 50, 1), pictured("last.jpg", 60, 2)]
    with Album.open(album_of(tmp_path / "b.gamer", photos)) as album:
        answer = similar(album, 3, 1)
    assert [photo.id for photo in answer.photos] == ["other.jpg"]
    assert len(answer.asked.copies) == BURST - 1


def test_removed_photos_are_not_found_and_what_must_stay_is_not_told(path: Path, tmp_path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.remove(["trip/near.jpg"], for_good=True)
    with Album.open(path) as album:
        assert [photo.id for photo in similar(album, 0, 1).photos] == ["private.jpg"]
        view = open_leaving(album, Retelling())
        with view:
            assert [photo.id for photo in similar(view, 0).photos] == ["home/near.jpg", "far.jpg"]
            assert "private.jpg" not in view.ids()


def test_a_photo_is_named_by_id_short_id_row_or_file(album: Album) -> None:
    assert row_named(album, "told") == row_named(album, image_id("told")) == row_named(album, "7") - 2
    assert row_named(album, "0") == 0
    assert row_named(album, "/photos/far.jpg") == 1
    assert row_named(album, "home/near.jpg") == 4
    assert row_named(album, "photos/cat.jpg") == 0
    with pytest.raises(
        RuntimeFailure, match=r"2 photos have the file 'near.jpg': name one by its id \(trip/near"
    ):
        row_named(album, "near.jpg")
    for name in ("ear.jpg", "10", "img_0000000000", "%", "", "²"):
        with pytest.raises(RuntimeFailure, match=r"no photo .*: give its id"):
            row_named(album, name)


def test_the_command_prints_a_table_or_json(path: Path) -> None:
    shown = CliRunner().invoke(command, [str(path), "cat.jpg", "-k", "3"])
    assert shown.exit_code == 0, shown.output
    assert "similar to cat.jpg (×2), by what the pictures show" in shown.stdout
    assert "home/near.jpg (×2)" in " ".join(shown.stdout.split())
    assert "cosine" in shown.stdout
    assert "gamer similar: no longer there: /photos/trip/near.jpg and 2 more" in shown.stderr
    printed = CliRunner().invoke(command, [str(path), "told", "--json"])
    answer = json.loads(printed.stdout)
    assert answer["asked"]["id"] == "told"
    assert answer["channel"] == "text"
    assert len(answer["photos"]) == 1
    failed = CliRunner().invoke(command, [str(path), "7"])
    assert failed.exit_code == 1
    assert failed.stderr.startswith("gamer similar: 7: no vector")
