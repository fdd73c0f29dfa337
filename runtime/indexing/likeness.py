"""A perceptual hash: what a picture looks like from afar, the same for its copies at any size and quality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gamer.index import FloatArray

SIDE = 12  # of the thumbnail, in pixels


def likeness(pixels: NDArray[np.uint8]) -> FloatArray:
    """The unit vector float32 [SIDE²] of a grey thumbnail's differences from its mean.

    `pixels`: uint8 [height, width, 3]. Zeros for a picture of one colour, which is like no other.
    """
    grey = Image.fromarray(pixels).convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    values = np.asarray(grey, np.float32).ravel()
    values = values - values.mean()
    length = float(np.linalg.norm(values))
    return np.asarray(values / length if length > SIDE else np.zeros_like(values), np.float32)
