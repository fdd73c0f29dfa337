"""Preprocessing against the plain form: resize the whole picture, then crop its centre."""

from __future__ import annotations

import numpy as np
import pytest
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.image import prepare
from gamer.runtime.manifest import Preprocessing
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

SPEC = Preprocessing(256, 224, "bicubic", 127.0, 128.0)


def plain(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    image = Image.fromarray(pixels)
    scale = SPEC.resize / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BICUBIC)
    x, y = (image.width - SPEC.crop) // 2, (image.height - SPEC.crop) // 2
    return np.asarray(image, np.float32)[y : y + SPEC.crop, x : x + SPEC.crop]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 700), st.integers(1, 700))
def test_every_size_gives_the_crop(width: int, height: int) -> None:
    pixels = np.random.default_rng(width * 1000 + height).integers(0, 256, (height, width, 3), np.uint8)
    out = prepare(pixels, SPEC)
    assert out.shape == (1, 224, 224, 3) and out.dtype == np.float32
    assert out.min() >= 0 and out.max() <= 255


@pytest.mark.parametrize("size", [(300, 400), (512, 512), (640, 427)])
def test_cutting_first_is_resizing_the_whole_and_then_cropping(size: tuple[int, int]) -> None:
    y, x = np.mgrid[0 : size[0], 0 : size[1]]
    pixels = np.stack([128 + 90 * np.sin(x / 31), 128 + 90 * np.cos(y / 23), (x + y) % 256], axis=-1).astype(np.uint8)
    assert np.abs(prepare(pixels, SPEC)[0] - plain(pixels))[8:-8, 8:-8, :2].mean() < 3.0


def test_a_panorama_costs_no_memory() -> None:
    assert prepare(np.zeros((2, 60_000, 3), np.uint8), SPEC).shape == (1, 224, 224, 3)


@pytest.mark.parametrize("shape", [(10, 10), (10, 10, 4), (0, 10, 3)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeFailure, match="RGB"):
        prepare(np.zeros(shape, np.uint8), SPEC)
