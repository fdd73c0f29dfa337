"""Dynamic routing of the projection experts (paper Eq. 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def choose(weights: NDArray[np.float32], rho: float) -> tuple[tuple[int, ...], NDArray[np.float32]]:
    """The experts to run, strongest first, and their weights, normalised to a sum of one.

    `weights`: the router's, [E], non-negative. They are normalised and sorted in descending order; the fewest
    experts whose cumulative sum reaches ρ are chosen. Raises ValueError for ρ outside (0, 1] or weights
    without a positive sum.
    """
    total = float(weights.sum())
    if not 0.0 < rho <= 1.0 or not total > 0.0:
        raise ValueError(f"ρ = {rho} and weights summing to {total}: 0 < ρ ≤ 1 and a positive sum are wanted")
    share = weights / total
    order = np.argsort(-share, kind="stable")
    # With the tolerance, a sum of 0.69999999 reaches 0.7: rounding must not add an expert.
    count = int(np.searchsorted(np.cumsum(share[order], dtype=np.float64), rho - 1e-7)) + 1
    chosen = order[: min(count, len(order))]
    return tuple(int(i) for i in chosen), (share[chosen] / share[chosen].sum()).astype(np.float32)
