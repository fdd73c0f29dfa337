"""Suites `resize` (pixels → the image tower's input) and `routing` (paper Eq. 1)."""

from __future__ import annotations

import base64
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.models.image import prepare
from gamer.runtime.models.router import choose
from tools.conformance.fixture import Answers, Given, base64_of, floats, vector


def resize(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared, folder, stack

    def answer(given: Given) -> Given:
        sizes = given["resize"], given["crop"]
        spec = Preprocessing(*sizes, given["interpolation"], 127.0, 128.0, fit=given["fit"])
        return {"pixels": base64_of(prepare(pixels_of(given), spec).astype(np.uint8))}

    return {"": answer}


def routing(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared, folder, stack

    def answer(given: Given) -> Given:
        experts, shares = choose(vector(given["weights"]), given["rho"])
        return {"experts": list(experts), "shares": floats(shares)}

    return {"": answer}


def pixels_of(given: Given) -> NDArray[np.uint8]:
    """uint8 [H, W, 3]."""
    pixels = np.frombuffer(base64.b64decode(given["rgb"]), np.uint8)
    return pixels.reshape(given["height"], given["width"], 3)


def picture(width: int, height: int, kind: int) -> NDArray[np.uint8]:
    """Noise, ramps, stripes or hard edges: uint8 [H, W, 3]."""
    y, x = np.mgrid[:height, :width]
    rng = np.random.default_rng([width, height, kind])
    match kind % 4:
        case 0:
            return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        case 1:
            return np.stack(
                [x * 255 // max(1, width - 1), y * 255 // max(1, height - 1), (x + y) * 7 % 256], -1
            ).astype(np.uint8)
        case 2:
            return np.repeat(((x + 2 * y) % 3 == 0)[..., None] * 255, 3, axis=2).astype(np.uint8)
    return np.stack([(x > width // 2) * 255, (y > height // 3) * 255, np.full_like(x, 128)], -1).astype(
        np.uint8
    )
