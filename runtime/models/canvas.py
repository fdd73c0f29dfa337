"""A picture on the canvas of a network that takes one size only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import RuntimeFailure


def on_canvas(picture: NDArray[np.float32], shape: tuple[int | str, ...], grey: float) -> NDArray[np.float32]:
    """The picture [h, w, 3]; where `shape` (height, width) is fixed, at the top left of that size, on grey.

    Raises RuntimeFailure for a picture that is larger.
    """
    height, width = shape
    if not isinstance(height, int) or not isinstance(width, int) or picture.shape[:2] == (height, width):
        return picture
    if picture.shape[0] > height or picture.shape[1] > width:
        raise RuntimeFailure(f"the bundle's network takes {width} × {height} pixels: export it again")
    canvas = np.full((height, width, 3), grey, np.float32)
    canvas[: picture.shape[0], : picture.shape[1]] = picture
    return canvas
