"""Preprocessing compared with the plain form: resize the whole picture, then crop its centre."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.image import prepare

SPEC = Preprocessing(256, 224, "bicubic", 127.0, 128.0)


def plain(
    pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    image = Image.fromarray(pixels)
    scale = SPEC.resize / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
    x, y = (image.width - SPEC.crop) // 2, (image.height - SPEC.crop) // 2
    return np.asarray(image, np.float32)[y : y + SPEC.crop, x : x + SPEC.crop]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 700), st.integers(1, 700))
def test_a_picture_of_any_size_gives_a_crop_of_the_right_shape_and_range(width: int, height: int) -> None:
    pixels = np.random.default_rng(width * 1000 + height).integers(0, 256, (height, width, 3), np.uint8)
    out = prepare(pixels, SPEC)
    assert out.shape == (1, 224, 224, 3)
    assert out.dtype == np.float32
    assert out.min() >= 0
    assert out.max() <= 255


@pytest.mark.parametrize("size", [(300, 400), (512, 512), (640, 427)])
def test_cutting_first_gives_what_resizing_the_whole_picture_first_gives(size: tuple[int, int]) -> None:
    y, x = np.mgrid[0 : size[0], 0 : size[1]]
    pixels = np.stack([128 + 90 * np.sin(x / 31), 128 + 90 * np.cos(y / 23), (x + y) % 256], axis=-1).astype(
        np.uint8
    )
    assert np.abs(prepare(pixels, SPEC)[0] - plain(pixels))[8:-8, 8:-8, :2].mean() < 3.0


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 400),
    st.integers(1, 400),
    st.sampled_from([(64, 64), (80, 64)]),
    st.sampled_from(["bicubic", "bilinear"]),
)
def test_crop_gives_the_centre_of_the_resized_picture(
    width: int, height: int, sizes: tuple[int, int], method: str
) -> None:
    resize, crop = sizes
    # No value so near to black or white that bicubic overshoots: which pass clips first depends on the
    # requested size.
    pixels = np.random.default_rng(width * 1000 + height).integers(64, 192, (height, width, 3), np.uint8)
    filters = {"bicubic": Image.Resampling.BICUBIC, "bilinear": Image.Resampling.BILINEAR}
    size = [int(resize * side / min(width, height)) for side in (width, height)]
    resized = np.asarray(Image.fromarray(pixels).resize((size[0], size[1]), filters[method]), np.float32)
    x, y = (size[0] - crop) // 2, (size[1] - crop) // 2
    got = prepare(pixels, Preprocessing(resize, crop, method, 0.0, 1.0, fit="crop"))[0]
    # Rounded to whole levels after each of two passes, whose order depends on the sizes. Off by a tenth of a
    # pixel, noise differs by 3 on average.
    off = np.abs(got - resized[y : y + crop, x : x + crop])
    assert off.max() <= 3
    assert off.mean() < 0.5


@pytest.mark.parametrize("factor", [2, 4])
def test_crop_shows_the_same_part_of_a_picture_that_was_reduced(factor: int) -> None:
    coarse = np.random.default_rng(0).integers(64, 192, (45, 60, 3), np.uint8)
    large = Image.fromarray(coarse).resize((2400, 1800), Image.Resampling.BICUBIC)
    spec = Preprocessing(256, 224, "bicubic", 127.0, 128.0, fit="crop")
    full, reduced = (prepare(np.asarray(image), spec) for image in (large, large.reduce(factor)))
    assert np.abs(full - reduced).mean() < 0.5  # "cut", which cuts at whole pixels: 5


def test_squash_resizes_the_whole_picture() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (90, 50, 3), np.uint8)
    want = np.asarray(Image.fromarray(pixels).resize((32, 32), Image.Resampling.BILINEAR), np.float32)
    assert (prepare(pixels, Preprocessing(32, 32, "bilinear", 0.0, 1.0, fit="squash"))[0] == want).all()


@pytest.mark.parametrize("fit", ["cut", "crop"])
def test_an_extreme_panorama_gives_pixels_of_the_right_shape(fit: str) -> None:
    spec = Preprocessing(256, 224, "bicubic", 127.0, 128.0, fit=fit)
    assert prepare(np.zeros((2, 60_000, 3), np.uint8), spec).shape == (1, 224, 224, 3)
    assert prepare(np.zeros((60_000, 1, 3), np.uint8), spec).shape == (1, 224, 224, 3)


def test_an_unknown_fit_is_refused() -> None:
    with pytest.raises(RuntimeFailure, match="unknown fit 'pad'"):
        prepare(np.zeros((4, 4, 3), np.uint8), Preprocessing(8, 8, "bicubic", 0.0, 1.0, fit="pad"))


@pytest.mark.parametrize("shape", [(10, 10), (10, 10, 4), (0, 10, 3)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeFailure, match="RGB"):
        prepare(np.zeros(shape, np.uint8), SPEC)
