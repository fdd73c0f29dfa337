"""Faces in a photo, found by a made-up detector: windows, boxes, landmarks, upright faces."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from gamer.runtime.backends import Session
from gamer.runtime.errors import BundleError, RuntimeFailure
from gamer.runtime.models import faces, landmarks
from gamer.runtime.models.faces import DetectedFace, FaceReader
from gamer.runtime.models.landmarks import Forest

RED = (250, 10, 10)


class Made(Session):
    """A session whose answer is a function of its input; `shape`: of that input."""

    def __init__(self, answer: Any, shape: tuple[int | str, ...]) -> None:
        tensor = SimpleNamespace(name="pixels", shape=shape)
        self.artifact = cast(Any, SimpleNamespace(inputs=(tensor,), outputs=(SimpleNamespace(name="out"),)))
        self._answer, self.shapes = answer, list[tuple[int, ...]]()

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        self.shapes.append(inputs["pixels"].shape)
        return {"out": self._answer(inputs["pixels"])}


def redness(pixels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores of windows: the share that is red, if the middle is all red and nothing around the window is."""
    red = (pixels[0, :, :, 0] > 200) & (pixels[0, :, :, 1] < 60)
    sums = np.pad(red, 1).astype(np.int64).cumsum(0).cumsum(1)
    y, x = np.ogrid[faces.FIRST : red.shape[0] : faces.STRIDE, faces.FIRST : red.shape[1] : faces.STRIDE]

    def count(half: int) -> NDArray[np.int64]:
        top, bottom = (y - half).clip(0, red.shape[0]), (y + half).clip(0, red.shape[0])
        left, right = (x - half).clip(0, red.shape[1]), (x + half).clip(0, red.shape[1])
        return np.asarray(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])

    face = (count(28) == 56 * 56) & (count(60) == count(48))
    return np.where(face, count(40) / 6400, -1).astype(np.float32)[None]


def still(cascades: int = 1, move: float = 0.0) -> Forest:
    """A forest that leaves the landmarks where they start, or moves all of them."""
    wanted = np.array([[0.8, 0.3], [0.6, 0.3], [0.2, 0.3], [0.4, 0.3], [0.5, 0.65]], np.float32)
    return Forest(
        wanted,
        np.zeros((cascades, 2), np.uint8),
        np.zeros((cascades, 2, 2), np.float32),
        np.zeros((cascades, 1, 1, 2), np.uint16),
        np.ones((cascades, 1, 1), np.float32),
        np.full((cascades, 1, 2, 5, 2), move, np.float32),
    )


def reader(
    shape: tuple[int | str, ...] = (1, "height", "width", 3), batch: int | str = "batch"
) -> FaceReader:
    encoder = Made(lambda pixels: pixels.mean((1, 2))[:, :1].repeat(128, 1), (batch, 150, 150, 3))
    return FaceReader(Made(redness, shape), encoder, still())


def photo(width: int, height: int, *squares: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Grey, with red squares (left, top, side)."""
    pixels = np.full((height, width, 3), 90, np.uint8)
    for left, top, side in squares:
        pixels[top : top + side, left : left + side] = RED
    return pixels


def test_a_face_is_found_where_it_is_and_given_in_shares_of_the_photo() -> None:
    (face,) = reader().read(photo(800, 600, (200, 120, 150)))
    left, top, width, height = face.box
    assert (left * 800 + width * 400, top * 600 + height * 300) == pytest.approx((275, 195), abs=12)
    assert width * 800 == pytest.approx(150, rel=0.25)
    assert face.vector.shape == (128,)
    assert face.vector[0] > 150  # the encoder was shown the face, not the wall around it


def test_a_large_photo_is_searched_in_a_bounded_size() -> None:
    detector = Made(redness, (1, "height", "width", 3))
    found = FaceReader(detector, Made(lambda p: p, ("batch",)), still()).detect(
        photo(2400, 1600, (900, 600, 420))
    )
    assert max(max(shape) for shape in detector.shapes) == faces.SEARCHED
    assert found[0].box[2] == pytest.approx(420, rel=0.25)


def test_a_photo_too_small_for_a_face_has_none() -> None:
    assert reader().read(photo(12, 9)) == ()
    assert reader().read(photo(1, 1)) == ()


def test_a_fixed_size_gives_the_same_windows() -> None:
    pixels = photo(640, 480, (200, 120, 150))
    free, fixed = reader().detect(pixels), reader((1, 800, 800, 3)).detect(pixels)
    assert [w.box for w in free] == [w.box for w in fixed]
    with pytest.raises(RuntimeFailure, match="takes 100 × 100 pixels"):
        reader((1, 100, 100, 3)).detect(pixels)


def test_an_encoder_of_one_face_a_call_gives_the_same_vectors() -> None:
    chips = [np.full((150, 150, 3), n, np.uint8) for n in range(20)]
    assert np.array_equal(reader().encode(chips), reader(batch=1).encode(chips))


def test_of_windows_that_overlap_the_best_stays() -> None:
    windows = [
        DetectedFace(3, (0, 0, 10, 10)),
        DetectedFace(2, (1, 1, 10, 10)),
        DetectedFace(1, (9, 9, 10, 10)),
    ]
    assert [w.score for w in faces.suppressed(windows)] == [3, 1]


def test_ten_thousand_faces_are_too_many() -> None:
    everywhere = Made(lambda pixels: np.ones((1, 100, 100), np.float32), (1, "height", "width", 3))
    encoder = Made(lambda pixels: np.zeros((len(pixels), 128), np.float32), ("batch", 150, 150, 3))
    found = FaceReader(everywhere, encoder, still()).read(photo(800, 800))
    assert 0 < len(found) <= faces.MAX_FACES


def test_a_face_is_turned_upright() -> None:
    pixels = photo(400, 400)
    pixels[100:140, 180:220] = RED  # where the point below the nose will be after a quarter turn
    wanted = (faces._UPRIGHT + faces.AROUND) / (2 * faces.AROUND + 1)
    around = wanted - 0.5
    turned = np.column_stack((around[:, 1], -around[:, 0])) * 300 + 200  # a quarter turn to the left
    upright = faces.chip(pixels, turned.astype(np.float32))
    straight = faces.chip(np.rot90(pixels, -1).copy(), ((wanted - 0.5) * 300 + 200).astype(np.float32))
    assert np.abs(upright.astype(int) - straight).mean() < 8


def test_a_face_beyond_the_edge_is_no_error() -> None:
    for points in ([[9e5, 9e5]] * 5, [[-9e5, 0]] * 5, [[0, 0]] * 5):
        assert faces.chip(photo(60, 40), np.array(points, np.float32)).shape == (150, 150, 3)


def test_landmarks_start_at_the_box_and_are_moved_by_the_leaves() -> None:
    grey = np.zeros((100, 100), np.uint8)
    assert still().find(grey, (10, 20, 50, 40))[4] == pytest.approx((35, 46))
    assert still(cascades=2, move=0.1).find(grey, (10, 20, 50, 40))[4] == pytest.approx((45, 54))


def test_the_arrays_of_a_bundle_are_checked(tmp_path: Path) -> None:
    landmarks.save(still(), tmp_path)
    assert landmarks.load(tmp_path).leaves.shape == (1, 1, 2, 5, 2)
    path = tmp_path / landmarks.FILE.format("splits")
    for damaged in (
        np.full((1, 1, 1, 2), 7, np.uint16),
        np.zeros((1, 1, 3), np.uint16),
        np.zeros(2, np.int64),
    ):
        np.save(path, damaged)
        with pytest.raises(BundleError, match="landmarks cannot be used"):
            landmarks.load(tmp_path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(BundleError, match="landmarks cannot be used"):
        landmarks.load(tmp_path)
