"""Converts pixels to the input tensor of an image tower."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import Array, Session
from ..bundle.manifest import Preprocessing
from ..errors import RuntimeFailure

_FILTERS = ("bicubic", "bilinear", "lanczos")
_FITS = ("cut", "crop", "squash", "longest")


def prepare(pixels: NDArray[np.uint8], spec: Preprocessing) -> NDArray[np.float32]:
    """uint8 RGB [H, W, 3] → float32 [1, crop, crop, 3] in 0..255, antialiased; the graph normalises.

    Raises RuntimeFailure for an array of another shape, an unknown filter or fit.
    """
    from PIL import Image

    if pixels.ndim != 3 or pixels.shape[2] != 3 or min(pixels.shape[:2]) < 1:
        raise RuntimeFailure(f"pixels of shape {pixels.shape}: RGB [H, W, 3] is wanted")
    for option, value, choices in (("interpolation", spec.interpolation, _FILTERS), ("fit", spec.fit, _FITS)):
        if value not in choices:
            raise RuntimeFailure(f"unknown {option} {value!r}; choose one of: {', '.join(choices)}")
    image = Image.fromarray(np.ascontiguousarray(pixels))
    method = Image.Resampling[spec.interpolation.upper()]
    if spec.fit == "cut":
        return _cut(image, spec, method)
    if spec.fit == "longest":
        image = image.resize(_longest(*image.size, spec.resize), method)
    box = _centre(*image.size, spec) if spec.fit == "crop" else None
    return np.asarray(image.resize((spec.crop, spec.crop), method, box=box), dtype=np.float32)[None]


def tower_input(session: Session, pixels: NDArray[np.uint8], spec: Preprocessing) -> dict[str, Array]:
    """The input of an image tower for uint8 RGB [H, W, 3]; a tower that takes uint8 resizes in its graph."""
    tensor = session.artifact.inputs[0]
    return {tensor.name: pixels if tensor.dtype == "uint8" else prepare(pixels, spec)}


def _longest(width: int, height: int, longest: int) -> tuple[int, int]:
    """The size of a picture whose longer side becomes `longest`, the other an even number of pixels, as
    transformers rounds it for Idefics3.
    """
    across, shape = width >= height, width / height
    other = int(longest / shape) if across else int(longest * shape)
    other = max(1, other + other % 2)
    return (longest, other) if across else (other, longest)


def _centre(width: int, height: int, spec: Preprocessing) -> tuple[float, float, float, float]:
    """The box of the picture that the centre crop of the resized picture shows, in pixels of the picture.

    Pillow's filters also read the pixels next to a box, so that resizing the box alone is exact.
    """
    short = min(width, height)
    # Sizes and margins are rounded down, as in Hugging Face's processors.
    size = [spec.resize * side // short for side in (width, height)]
    left, top = ((side - spec.crop) // 2 for side in size)
    across, down = width / size[0], height / size[1]
    return (
        left * across,
        top * down,
        min((left + spec.crop) * across, width),
        min((top + spec.crop) * down, height),
    )


def _cut(image: Any, spec: Preprocessing, method: Any) -> NDArray[np.float32]:
    width, height = image.size
    scale = spec.resize / min(width, height)
    # Cut before resizing: only the centre remains after the crop, and resizing the rest of a panorama would
    # take unbounded memory.
    reach = int(np.ceil(spec.crop / scale)) + 2
    left, top = max(0, (width - reach) // 2), max(0, (height - reach) // 2)
    box = (left, top, width - left, height - top)
    size = (
        max(spec.crop, round((box[2] - box[0]) * scale)),
        max(spec.crop, round((box[3] - box[1]) * scale)),
    )
    resized = np.asarray(image.resize(size, method, box=box), dtype=np.float32)
    y, x = (size[1] - spec.crop) // 2, (size[0] - spec.crop) // 2
    return resized[None, y : y + spec.crop, x : x + spec.crop]
