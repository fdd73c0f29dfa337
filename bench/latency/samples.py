"""Statistics of samples in nanoseconds: percentiles, and intervals of a median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 2000
Rounds = Sequence[Sequence[int]]  # the nanosecond samples of each round


@dataclass(frozen=True)
class Timing:
    """A named measurement.

    `samples_ns`: the raw samples, from which the percentiles are computed. Fields are named as in llama-bench
    where it has them.
    """

    name: str
    what: str
    samples_ns: tuple[int, ...]
    avg_ns: float
    stddev_ns: float
    p50_ns: float
    p90_ns: float
    p95_ns: float
    p99_ns: float


@dataclass(frozen=True)
class Row:
    """One row of `bench latency` or of a demo app's export: a layer (`step` is "") or a step inside it.

    `p50_low_ns`, `p50_high_ns`: 95 % prediction interval of the median of another such run. `role`: the
    component that ran, "" for none. `launches`: how many of `samples_ns` each process took, in order.
    """

    layer: str
    step: str
    on: str
    n: int
    avg_ns: float
    stddev_ns: float
    p50_ns: float
    p50_low_ns: float
    p50_high_ns: float
    p90_ns: float
    p95_ns: float
    p99_ns: float
    samples_ns: tuple[int, ...]
    macs: int | None = None
    role: str = ""
    launches: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.layer}: {self.step}" if self.step else self.layer


def timing(name: str, what: str, samples: Sequence[int]) -> Timing:
    """The statistics of nanosecond samples (at least one)."""
    values = np.asarray(samples, np.float64)
    return Timing(
        name,
        what,
        tuple(int(s) for s in samples),
        float(values.mean()),
        float(values.std()),
        *_percentiles(values),
    )


def row(
    layer: str, step: str, on: str, launches: Sequence[Rounds], macs: int | None = None, role: str = ""
) -> Row:
    """A row from samples taken in rounds, in one or several processes (at least one sample in all)."""
    counts = tuple(sum(len(part) for part in rounds) for rounds in launches)
    samples = [int(s) for rounds in launches for part in rounds for s in part]
    values = np.asarray(samples, np.float64)
    p50, p90, p95, p99 = _percentiles(values)
    low, high = next_median(launches)
    spread = float(values.std())
    return Row(
        layer=layer,
        step=step,
        on=on,
        n=len(samples),
        avg_ns=float(values.mean()),
        stddev_ns=spread,
        p50_ns=p50,
        p50_low_ns=low,
        p50_high_ns=high,
        p90_ns=p90,
        p95_ns=p95,
        p99_ns=p99,
        samples_ns=tuple(samples),
        macs=macs,
        role=role,
        launches=counts,
    )


def _percentiles(values: NDArray[np.float64]) -> tuple[float, float, float, float]:
    p50, p90, p95, p99 = (float(x) for x in np.percentile(values, (50, 90, 95, 99)))
    return p50, p90, p95, p99


def next_median(launches: Sequence[Rounds]) -> tuple[float, float]:
    """A 95 % prediction interval for the median of another run like this one, computed on logarithms.

    It is the wider of two estimates of how much a median varies: between processes (Student's t over their
    medians, from two processes on), and between rounds within processes (a bootstrap). Both runs vary, so
    that their difference varies √2 times as much as one of them.
    """
    rounds = [part for process in launches for part in process if len(part)]
    p50 = float(np.median(np.concatenate([np.asarray(part, np.float64) for part in rounds])))
    low, high = (np.log(max(bound, 1.0) / max(p50, 1.0)) * np.sqrt(2) for bound in median_interval(rounds))
    half = launch_error(launches) * np.sqrt(2)
    return p50 * float(np.exp(min(low, -half))), p50 * float(np.exp(max(high, half)))


def log_medians(processes: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """float64: the logarithm of each process's median; processes without samples are left out."""
    return np.asarray(
        [np.log(max(float(np.median(samples)), 1.0)) for samples in processes if len(samples)], np.float64
    )


def launch_error(launches: Sequence[Rounds]) -> float:
    """Half the 95 % interval of a run's log median, by Student's t over its processes' medians.

    0 for a single process.
    """
    logs = log_medians([[ns for part in process for ns in part] for process in launches])
    if len(logs) < 2:
        return 0.0
    from scipy.special import stdtrit  # Student's quantiles; importing scipy.stats takes half a second

    return float(stdtrit(len(logs) - 1, 0.975) * np.std(logs, ddof=1) / np.sqrt(len(logs)))


def median_interval(rounds: Rounds, draws: int = DRAWS, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of the median in a bootstrap that resamples whole rounds.

    A disturbance of the machine lasts longer than a sample, so the samples of a round are alike, and
    resampling them one by one would give too narrow an interval. For the same reason pairs of neighbouring
    rounds are drawn together from eight rounds on.
    """
    nonempty = [np.asarray(part, np.float64) for part in rounds if len(part)]
    blocks = (
        [np.concatenate(nonempty[at : at + 2]) for at in range(len(nonempty) - 1)]
        if len(nonempty) >= 8
        else nonempty
    )
    take = max(1, len(nonempty) // 2) if len(nonempty) >= 8 else len(nonempty)
    random = np.random.default_rng(seed)
    medians = [
        np.median(np.concatenate([blocks[i] for i in random.integers(len(blocks), size=take)]))
        for _ in range(draws)
    ]
    low, high = np.percentile(medians, (2.5, 97.5))
    return float(low), float(high)


def share_interval(
    changed: Sequence[int], plain: Sequence[int], draws: int = DRAWS, seed: int = 0
) -> tuple[float, float, float]:
    """(median, low, high) of changed / plain - 1 over pairs of samples taken one after the other.

    The interval is the 95 % bootstrap interval over the pairs.
    """
    ratios = np.asarray(changed, np.float64) / np.maximum(np.asarray(plain, np.float64), 1.0) - 1.0
    random = np.random.default_rng(seed)
    medians = np.median(ratios[random.integers(len(ratios), size=(draws, len(ratios)))], axis=1)
    low, high = np.percentile(medians, (2.5, 97.5))
    return float(np.median(ratios)), float(low), float(high)
