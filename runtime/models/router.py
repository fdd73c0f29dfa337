"""Dynamic routing of the projection experts (paper Eq. 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def choose(weights: NDArray[np.float32], rho: float) -> tuple[tuple[int, ...], NDArray[np.float32]]:
    """Router weights [E] (non-negative) → the experts to run, strongest first, and their weights normalised
    over themselves.

    Weights are normalised and sorted descending; the smallest t whose cumulative sum reaches ρ is kept.
    Raises ValueError for ρ outside (0, 1] or weights that sum to nothing.
    """
    total = float(weights.sum())
    if not 0.0 < rho <= 1.0 or not total > 0.0:
        raise ValueError(f"ρ = {rho} and weights summing to {total}: 0 < ρ ≤ 1 and a positive sum are wanted")
    share = weights / total
    order = np.argsort(-share, kind="stable")
    # A sum of 0.69999999 is 0.7: rounding must not wake another expert.
    count = int(np.searchsorted(np.cumsum(share[order], dtype=np.float64), rho - 1e-7)) + 1
    kept = order[: min(count, len(order))]
    return tuple(int(i) for i in kept), (share[kept] / share[kept].sum()).astype(np.float32)
