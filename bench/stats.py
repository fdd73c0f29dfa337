"""Figures of quality: cross-entropy, and uncertainty by bootstrap, paired permutations, Holm's correction.

A `Table` holds one array [methods, queries] for each user, so that all methods share every random draw. The
macro mean gives each user the same weight, whatever the number of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Table = Sequence[Floats]
Listed = tuple[NDArray[Any], Floats, float]  # features [C, F], what is meant [C] (sums to 1), its share
DRAWS, PERMUTATIONS = 2000, 10_000
_BLOCK = 250  # draws or permutations computed at once, which keeps memory in the tens of megabytes


def cross_entropy(scores: Floats, next_ids: NDArray[np.int64]) -> Floats:
    """float64 [S]: nats of each true next token, by logits [S, V]."""
    greatest = scores.max(axis=1)
    return np.asarray(
        np.log(np.exp(scores - greatest[:, None]).sum(axis=1))
        + greatest
        - scores[np.arange(len(scores)), next_ids],
        np.float64,
    )


def macro(table: Table) -> Floats:
    """[methods]: the mean over users of each user's mean."""
    return np.asarray(np.mean([values.mean(axis=1) for values in table], axis=0), np.float64)


def bootstrap(table: Table, draws: int = DRAWS, seed: int = 0) -> Floats:
    """[draws, methods]: macro means of resampled data.

    Each draw resamples the users (if there are several), then the queries of each user drawn.
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
    """[methods]: the two-sided p-value of the difference between a method's macro mean and the reference's.

    `reference`: a row, or for each row the row that it is compared with (the same method's values of several
    metrics are rows of one table). The reference itself gets 1.

    Fisher's paired test: the two values of each query are exchanged at random. The users stay the same, so
    the test asks whether other queries of these users would show the difference. Both the count and the
    number of permutations are raised by one, so that no p is 0.
    """
    differences = [values - values[np.asarray(reference)] for values in table]
    observed = np.abs(macro(differences)) - 1e-12  # a tolerance: the order of a sum changes its rounding
    random, reached = np.random.default_rng(seed), np.zeros(len(observed))
    for start in range(0, permutations, _BLOCK):
        count = min(_BLOCK, permutations - start)
        signed = [random.choice((-1.0, 1.0), (count, d.shape[1])) @ d.T / d.shape[1] for d in differences]
        reached += (np.abs(np.mean(signed, axis=0)) >= observed).sum(axis=0)
    return np.asarray((reached + 1) / (permutations + 1), np.float64)


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """p-values corrected for their number (Holm 1979), in the order given.

    The smallest is multiplied by n, the next by n - 1, and so on; then they are made non-decreasing and cut
    at 1.
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, kind="stable")
    scaled = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    out = np.empty_like(values)
    out[order] = np.minimum(scaled, 1.0)
    return tuple(float(value) for value in out)


def listwise(listed: Sequence[Listed], begin: Floats, ridge: Floats, steps: int) -> Floats:
    """[F]: the weights under which what is meant is likeliest by softmax(w · features), from `begin` on.

    `ridge`: [F], the penalty of a weight's square; `steps`: of the optimiser, at most.
    """
    from scipy.optimize import minimize

    def loss(w: Floats) -> tuple[float, Floats]:
        value, slope = float(ridge @ w**2), 2 * ridge * w
        for features, meant, share in listed:
            scores = features @ w
            total = float(np.logaddexp.reduce(scores))
            value += share * (total - float(meant @ scores))
            slope = slope + share * features.T @ (np.exp(scores - total) - meant)
        return value, slope

    optimum: Any = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(optimum.x, np.float64)
