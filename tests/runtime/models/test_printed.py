"""Lines from a map of probabilities, what is cut from a picture, what codes say. No network is run."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from gamer.index.records import FloatArray
from gamer.runtime.errors import BundleError, RuntimeFailure
from gamer.runtime.models import printed
from gamer.runtime.models.printed import (
    Box,
    boxes,
    characters,
    cut,
    decoded,
    in_reading_order,
    rectangle,
    regions,
)


def bar(angle: float, width: int = 120, height: int = 12) -> FloatArray:
    """A map with one line in its middle, turned by `angle` degrees clockwise."""
    image = Image.new("L", (300, 300))
    ImageDraw.Draw(image).rectangle(
        (150 - width // 2, 150 - height // 2, 149 + width // 2, 149 + height // 2), fill=255
    )
    return np.asarray(image.rotate(-angle, Image.Resampling.BICUBIC), np.float32) / np.float32(255)


@pytest.mark.parametrize("angle", [0, 10, 30, -20, 44])
def test_a_line_is_found_at_any_angle_and_grown(angle: float) -> None:
    (box,) = boxes(bar(angle))
    by = printed.GROWTH * 120 * 12 / (2 * 132)
    assert box.width == pytest.approx(120 + 2 * by, abs=4)
    assert box.height == pytest.approx(12 + 2 * by, abs=4)
    assert box.middle == pytest.approx((150, 150), abs=1)
    assert math.degrees(math.atan2(box.along[1], box.along[0])) == pytest.approx(angle, abs=2)


def test_a_line_that_runs_down_is_read_from_its_top() -> None:
    box = printed.scaled(boxes(bar(90))[0], 1.0, 1.0)
    assert box.along[1] > 100 > abs(box.along[0])
    assert box.down[0] < 0


def test_weak_and_tiny_regions_are_no_lines() -> None:
    assert boxes(bar(0) * np.float32(0.5)) == []
    assert boxes(bar(0, 4, 2)) == []
    assert boxes(np.zeros((32, 32), np.float32)) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=9, max_size=9), min_size=1, max_size=12))
def test_regions_are_those_that_filling_one_by_one_finds(rows: list[list[bool]]) -> None:
    mask = np.array(rows, bool)
    got = {frozenset((int(y), x) for y, a, b in region for x in range(a, b)) for region in regions(mask)}
    assert got == flooded(mask)
    sizes = [int((region[:, 2] - region[:, 1]).sum()) for region in regions(mask)]
    assert sizes == sorted(sizes, reverse=True)


def flooded(mask: NDArray[np.bool_]) -> set[frozenset[tuple[int, int]]]:
    left, found = {(int(y), int(x)) for y, x in np.argwhere(mask)}, set()
    while left:
        todo, region = [left.pop()], set()
        while todo:
            y, x = todo.pop()
            region.add((y, x))
            near = {(y + i, x + j) for i in (-1, 0, 1) for j in (-1, 0, 1)} & left
            left -= near
            todo += near
        found.add(frozenset(region))
    return found


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=30))
def test_the_rectangle_holds_every_pixel_and_is_no_larger_than_the_upright_one(
    pixels: set[tuple[int, int]],
) -> None:
    points = np.array(sorted(pixels), np.float64)
    box = rectangle(points)
    along, down = np.array(box.along) / box.width, np.array(box.down) / box.height
    shares = (points + 0.5 - (box.x, box.y)) @ np.stack([along, down], 1)
    assert (shares >= 0.5 - 1e-6).all()
    assert (shares <= np.array([box.width, box.height]) - 0.5 + 1e-6).all()
    assert box.width * box.height <= np.prod(np.ptp(points, axis=0) + 1) + 1e-6
    assert box.along[0] > 0


def test_rows_are_read_from_the_left_and_then_down() -> None:
    placed = {"b": (200, 3), "a": (0, 0), "d": (150, 60), "c": (10, 62)}
    found = [Box(x, y, (100, 0), (0, 20)) for x, y in placed.values()]
    names = dict(zip(found, placed, strict=True))
    assert "".join(names[box] for box in in_reading_order(found)) == "abcd"


def test_what_is_cut_is_what_stands_there_upright_and_scaled() -> None:
    picture = np.zeros((200, 300, 3), np.uint8)
    picture[50:98, 100:196] = np.linspace(0, 255, 96).astype(np.uint8)[None, :, None]
    straight = cut(picture, Box(100, 50, (96, 0), (0, 48)), 96)
    assert np.allclose(straight[24, :, 0], picture[70, 100:196, 0], atol=1)
    turned = cut(np.rot90(picture, -1).copy(), Box(200 - 50, 100, (0, 96), (-48, 0)), 96)
    assert np.allclose(turned, straight, atol=1)


def test_a_box_beyond_the_edges_repeats_them() -> None:
    picture = np.full((20, 20, 3), 77, np.uint8)
    assert np.allclose(cut(picture, Box(-50, -50, (400, 0), (0, 300)), 64), 77)


def test_repeated_codes_count_once_and_zero_is_none() -> None:
    codes, scores = (
        np.array([0, 1, 1, 0, 1, 2, 3], np.float32),
        np.array([1, 0.8, 0.1, 1, 0.6, 0.4, 0.2], np.float32),
    )
    text, confidence = decoded(codes, scores, ("a", "b", " "))
    assert (text, round(confidence, 6)) == ("aab ", 0.5)
    assert decoded(np.zeros(4, np.float32), np.ones(4, np.float32), ("a",)) == ("", 0.0)
    with pytest.raises(RuntimeFailure, match="knows more characters than the bundle lists"):
        decoded(np.array([4], np.float32), np.ones(1, np.float32), ("a", "b", " "))


@pytest.mark.parametrize("text", ["", "a\n\nb\n", "x" * 17])
def test_a_file_that_lists_no_characters_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ocr_characters.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match="must hold a character a line"):
        characters(path)


def test_the_detector_sees_multiples_of_32_between_the_bounds() -> None:
    assert printed.detected_size(4000, 3000) == (1280, 960)
    assert printed.detected_size(300, 200) == (1120, 736)
    assert printed.detected_size(10, 4000) == (32, 1280)
    assert printed.detected_size(1080, 2400, 960) == (448, 960)


def test_a_map_of_noise_has_no_lines_and_takes_no_time() -> None:
    noise = np.random.default_rng(0).random((960, 1280)).astype(np.float32)
    assert regions(noise > 0.5) == []
    assert boxes(noise) == []


class Network:
    """A session that gives what it was told to, whatever it gets."""

    def __init__(self, shape: tuple[int | str, ...], **outputs: list[float]) -> None:
        specs = [SimpleNamespace(name=name) for name in outputs]
        self.artifact = SimpleNamespace(inputs=[SimpleNamespace(name="pixels", shape=shape)], outputs=specs)
        self._outputs = {name: np.array([values], np.float32) for name, values in outputs.items()}

    def run(self, inputs: dict[str, object]) -> dict[str, FloatArray]:
        return self._outputs


ANY, LINE = (1, "height", "width", 3), ("batch", 48, "width", 3)


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        (Network(ANY, likely=[0.0] * 7), "the text detector gave 7 values for 736 × 736 pixels"),
        (Network((1, 960, 640, 3), likely=[]), r"the text detector takes \[640, 960\] pixels"),
        (Network((1, 1010, 1010, 3), likely=[]), r"the text detector takes \[1010\] pixels"),
    ],
)
def test_networks_that_do_not_fit_are_refused_in_one_line(detector: Network, message: str) -> None:
    recogniser = Network(LINE, codes=[1.0], certainty=[0.9])
    with pytest.raises(RuntimeFailure, match=message):
        printed.LineReader(cast(Any, detector), cast(Any, recogniser), ("a",)).read(
            np.zeros((40, 40, 3), np.uint8)
        )


@pytest.mark.parametrize(("codes", "scores"), [([1.0], []), ([math.nan], [1.0]), ([math.inf], [1.0])])
def test_characters_that_are_none_are_refused(codes: list[float], scores: list[float]) -> None:
    with pytest.raises(RuntimeFailure, match="gave no characters"):
        decoded(np.array(codes, np.float32), np.array(scores, np.float32), ("a",))


def test_lines_are_turned_only_until_that_was_in_vain_for_some() -> None:
    likely = np.zeros((736, 736), np.float32)
    for n in range(20):
        likely[20 + 30 * n : 34 + 30 * n, 100:400] = 1
    recogniser = Network(LINE, codes=[1.0], certainty=[0.5])
    runs: list[int] = []
    plain = recogniser.run
    recogniser.run = lambda inputs: runs.append(1) or plain(inputs)  # type: ignore[method-assign, func-returns-value]
    reader = printed.LineReader(
        cast(Any, Network(ANY, likely=likely.ravel().tolist())), cast(Any, recogniser), ("a",)
    )
    assert len(reader.read(np.zeros((736, 736, 3), np.uint8))) == 20
    assert len(runs) == 20 + printed.TURNS
