"""Pixels → the tensor that an image tower takes. Knows Pillow and the bundle's preprocessing spec; opens no files (index.load_pixels does)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .errors import RuntimeFailure
from .manifest import Preprocessing

_FILTERS = ("bicubic", "bilinear")


def prepare(pixels: NDArray[np.uint8], spec: Preprocessing) -> NDArray[np.float32]:
    """uint8 RGB [H, W, 3] → float32 [1, crop, crop, 3] in 0..255: shorter side to `resize` (antialiased), centre crop.

    Normalisation stands inside the graph. Raises RuntimeFailure for an array of another shape or an unknown filter.
    """
    from PIL import Image

    if pixels.ndim != 3 or pixels.shape[2] != 3 or min(pixels.shape[:2]) < 1:
        raise RuntimeFailure(f"pixels of shape {pixels.shape}: RGB [H, W, 3] is wanted")
    if spec.interpolation not in _FILTERS:
        raise RuntimeFailure(f"unknown interpolation {spec.interpolation!r}; choose one of: {', '.join(_FILTERS)}")
    image = Image.fromarray(np.ascontiguousarray(pixels))
    width, height = image.size
    scale = spec.resize / min(width, height)
    # Cut a panorama first: only the centre can survive the crop, and resizing the rest would cost memory without bound.
    reach = int(np.ceil(spec.crop / scale)) + 2
    left, top = max(0, (width - reach) // 2), max(0, (height - reach) // 2)
    box = (left, top, width - left, height - top)
    size = (max(spec.crop, round((box[2] - box[0]) * scale)), max(spec.crop, round((box[3] - box[1]) * scale)))
    method = Image.Resampling.BICUBIC if spec.interpolation == "bicubic" else Image.Resampling.BILINEAR
    resized = np.asarray(image.resize(size, method, box=box), dtype=np.float32)
    y, x = (size[1] - spec.crop) // 2, (size[0] - spec.crop) // 2
    return resized[None, y : y + spec.crop, x : x + spec.crop]
