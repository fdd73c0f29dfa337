"""How sure a figure is: bootstrap intervals over users and their queries, a paired permutation test,
Holm's correction.

`Table` is the common shape: one array [methods, queries] a user, so that every draw is the same for all
methods. The macro mean gives each user the same weight, whatever the number of queries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Table = Sequence[Floats]
DRAWS, PERMUTATIONS = 2000, 10_000
_BLOCK = 250  # draws or permutations at once: memory stays in the tens of megabytes


def macro(table: Table) -> Floats:
    """[methods]: the mean over users of each user's mean."""
    return np.asarray(np.mean([values.mean(axis=1) for values in table], axis=0), np.float64)


def bootstrap(table: Table, draws: int = DRAWS, seed: int = 0) -> Floats:
    """[draws, methods]: macro means of resampled data: users first (if there are several), then the queries
    of each user drawn.
    """
    random = np.random.default_rng(seed)
    blocks = [_resampled(table, min(_BLOCK, draws - start), random) for start in range(0, draws, _BLOCK)]
    return np.concatenate(blocks)


def _resampled(table: Table, draws: int, random: np.random.Generator) -> Floats:
    users, rows = len(table), table[0].shape[0]
    chosen = random.integers(users, size=draws * users)
    order, counts = np.argsort(chosen, kind="stable"), np.bincount(chosen, minlength=users)
    means, start = np.zeros((draws * users, rows)), 0
    for values, count in zip(table, counts, strict=True):
        n = values.shape[1]
        weights = random.multinomial(n, np.full(n, 1 / n), size=int(count)) / n
        means[order[start : start + count]] = weights @ values.T
        start += count
    return np.asarray(means.reshape(draws, users, rows).mean(axis=1), np.float64)


def intervals(table: Table, draws: int = DRAWS, seed: int = 0) -> Floats:
    """[methods, 2]: the 95 % percentile interval of the macro mean."""
    return np.asarray(np.percentile(bootstrap(table, draws, seed), [2.5, 97.5], axis=0).T, np.float64)


def permutation(
    table: Table, reference: int | Sequence[int], permutations: int = PERMUTATIONS, seed: int = 0
) -> Floats:
    """[methods]: two-sided p that a method's macro mean differs from the reference's by chance; 1 for the
    reference itself.

    `reference`: a row, or for each row the row that it is compared with (the same method's values of several
    metrics are rows of one table).

    Each query's two values change places at random (Fisher's paired test), so what is asked is: on these
    users, would other queries have said the same? One more than was counted over one more than was drawn: no
    p is 0.
    """
    differences = [values - values[np.asarray(reference)] for values in table]
    observed = np.abs(macro(differences)) - 1e-12  # sums of the same numbers in another order are no smaller
    random, reached = np.random.default_rng(seed), np.zeros(len(observed))
    for start in range(0, permutations, _BLOCK):
        count = min(_BLOCK, permutations - start)
        signed = [random.choice((-1.0, 1.0), (count, d.shape[1])) @ d.T / d.shape[1] for d in differences]
        reached += (np.abs(np.mean(signed, axis=0)) >= observed).sum(axis=0)
    return np.asarray((reached + 1) / (permutations + 1), np.float64)


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """p-values corrected for their number (Holm 1979): the smallest times n, the next times n - 1, never
    falling, at most 1.
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    out = np.empty_like(values)
    out[order] = np.minimum(stepped, 1.0)
    return tuple(float(value) for value in out)
