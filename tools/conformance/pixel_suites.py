"""Suites `resize` (pixels → the image tower's input) and `routing` (paper Eq. 1).

The pixels are synthetic; no bundle is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.image import prepare
from gamer.runtime.models.router import choose
from tools.conformance.fixture import Case, Suite, base64_of, floats

# Width and height of pictures for Hugging Face's two ways to fit, crop and squash.
_HF = (
    (40, 30),
    (30, 41),
    (64, 17),
    (9, 50),
    (33, 33),
    (3, 2),
    (1, 1),
    (57, 38),
)
# width, height, resize, crop, interpolation
_SHAPES = (
    (40, 30, 20, 16, "bicubic"),
    (30, 40, 20, 16, "bicubic"),
    (33, 33, 20, 16, "bilinear"),
    (64, 17, 20, 16, "bicubic"),
    (9, 70, 20, 16, "bicubic"),
    (150, 5, 12, 12, "bicubic"),
    (3, 3, 20, 16, "bicubic"),
    (1, 1, 20, 16, "bicubic"),
    (2, 31, 20, 16, "bilinear"),
    (20, 20, 20, 16, "bicubic"),
    (21, 20, 20, 17, "bicubic"),
    (20, 27, 20, 20, "bicubic"),
    (71, 47, 24, 21, "bicubic"),
    (36, 53, 24, 21, "bilinear"),
    (63, 42, 24, 21, "bicubic"),
)


def committed(folder: Path) -> list[Suite]:
    del folder
    return [_resize(), _routing()]


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


def _resize() -> Suite:
    cases = []
    for n, (width, height, resize, crop, method) in enumerate(_SHAPES):
        pixels = picture(width, height, n)
        cases.append(_resized(pixels, resize, crop, method, "cut"))
    cases += [
        _resized(picture(w, h, n), 24, 20, "bicubic", fit)
        for n, (w, h) in enumerate(_HF)
        for fit in ("crop", "squash")
    ]
    cases.append(_resized(picture(50, 30, 0), 16, 16, "bilinear", "crop"))
    wrong = {
        "width": 4,
        "height": 4,
        "rgb": base64_of(picture(4, 4, 0)),
        "resize": 8,
        "crop": 8,
        "interpolation": "nearest",
        "fit": "cut",
    }
    return Suite(
        "resize",
        (
            *cases,
            Case(
                "unknown-filter",
                wrong,
                error=_message(lambda: prepare(picture(4, 4, 0), _spec("nearest")), "interpolation"),
            ),
        ),
    )


def _resized(pixels: NDArray[np.uint8], resize: int, crop: int, method: str, fit: str) -> Case:
    height, width, _ = pixels.shape
    given = {
        "width": width,
        "height": height,
        "rgb": base64_of(pixels),
        "resize": resize,
        "crop": crop,
        "interpolation": method,
        "fit": fit,
    }
    out = prepare(pixels, Preprocessing(resize, crop, method, 127.0, 128.0, fit=fit))
    return Case(
        f"{width}x{height}-{method}-{resize}-{crop}-{fit}", given, {"pixels": base64_of(out.astype(np.uint8))}
    )


def _spec(method: str) -> Preprocessing:
    return Preprocessing(8, 8, method, 0.0, 1.0)


def _message(call: Any, part: str) -> str:
    """`part`, after checking that the reference's error message contains it."""
    try:
        call()
    except (RuntimeFailure, ValueError) as error:
        if part in str(error):
            return part
        raise
    raise AssertionError(f"no error where one with {part!r} was expected")


def _routing() -> Suite:
    rng = np.random.default_rng(3)
    given: list[tuple[Sequence[float], float]] = [
        ([0.5, 0.3, 0.2], 0.7),
        ([0.2, 0.3, 0.5], 0.8),
        ([0.7, 0.2, 0.1], 0.7),
        ([0.1, 0.2, 0.7], 0.69),
        ([1 / 3, 1 / 3, 1 / 3], 0.7),
        ([0.25, 0.25, 0.25, 0.25], 0.5),
        ([1.0], 1.0),
        ([0.0, 0.0, 5.0], 1.0),
        ([3.0, 1.0, 2.0], 0.5),
        ([0.4, 0.4, 0.2], 1.0),
    ]
    given += [
        (floats(rng.dirichlet(np.ones(int(rng.integers(2, 9))))), float(rng.choice([0.3, 0.5, 0.7, 0.9])))
        for _ in range(20)
    ]
    cases = []
    for n, (weights, rho) in enumerate(given):
        experts, shares = choose(np.array(weights, np.float32), rho)
        cases.append(
            Case(
                f"{n:02d}",
                {"weights": floats(weights), "rho": rho},
                {"experts": list(experts), "shares": floats(shares)},
            )
        )
    for name, weights, rho in (
        ("nothing", [0.0, 0.0], 0.7),
        ("rho-0", [1.0], 0.0),
        ("rho-over-1", [0.5, 0.5], 1.5),
    ):
        wanted = _message(
            lambda w=weights, r=rho: choose(np.array(w, np.float32), r), "a positive sum are wanted"
        )
        cases.append(Case(name, {"weights": weights, "rho": rho}, error=wanted))
    return Suite("routing", tuple(cases), tolerance=1e-6)
