"""Arithmetic on vectors that several parts of the runtime share."""

from __future__ import annotations

import numpy as np

from gamer.index.records import FloatArray


def unit(vector: FloatArray) -> FloatArray:
    """`vector` with length 1; zeros stay zeros."""
    scaled: FloatArray = np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)
    return scaled
