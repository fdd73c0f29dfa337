"""Palettes: the 2^bits values that represent many numbers best, by k-means in one dimension.

The values are sorted once, so that a round of k-means costs a few binary searches instead of a distance for
every pair. A general k-means takes hours on a language model; this one takes minutes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROUNDS, BINS = 24, 512


def palette(values: NDArray[np.floating], bits: int) -> tuple[NDArray[np.floating], NDArray[np.uint8]]:
    """(centroids [2^bits] ascending, in the dtype of `values`; uint8 [n], the index of each nearest one)."""
    flat = values.reshape(-1)
    ordered = np.sort(flat.astype(np.float64))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    centroids = _start(ordered, 1 << bits)
    for _ in range(ROUNDS):
        # values[cuts[i]:cuts[i + 1]] are nearest to centroid i
        cuts = np.concatenate([[0], np.searchsorted(ordered, _borders(centroids)), [len(ordered)]])
        counts = np.diff(cuts)
        means = np.diff(sums[cuts]) / np.maximum(counts, 1)
        new_centroids = np.where(counts > 0, means, centroids)
        if np.array_equal(new_centroids, centroids):
            break
        centroids = new_centroids
    lut = np.asarray(centroids, values.dtype)
    return lut, np.searchsorted(_borders(lut.astype(np.float64)), flat).astype(np.uint8)


def _borders(centroids: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((centroids[1:] + centroids[:-1]) / 2)


def _start(ordered: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Initial centroids, with a density proportional to the cube root of the values' density.

    This is the optimum for many levels (Panter and Dite 1951), and gives the tails centroids too.
    """
    low, high = float(ordered[0]), float(ordered[-1])
    if low == high:
        return np.full(count, low)
    density = np.cbrt(np.histogram(ordered, BINS, (low, high))[0])
    share = np.concatenate([[0.0], np.cumsum(density)]) / density.sum()
    return np.interp((np.arange(count) + 0.5) / count, share, np.linspace(low, high, BINS + 1))
