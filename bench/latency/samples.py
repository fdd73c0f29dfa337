"""Statistics of nanoseconds: percentiles, and how sure a median is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DRAWS = 2000
Rounds = Sequence[Sequence[int]]  # nanoseconds, round by round


@dataclass(frozen=True)
class Timing:
    """A named measurement. `samples_ns` are the raw ones; percentiles are of them. Names follow llama-bench
    where it has one.
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
    """One line of `bench latency`, and of what the demo apps export: a whole layer (`step` ""), or a step
    inside it.

    `p50_low_ns`, `p50_high_ns`: where the median of another such run is expected, 95 %. `role`: the component
    that ran, "" for none. `launches`: how many of `samples_ns` each process took, in order.
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
    """Statistics of nanosecond samples (at least one)."""
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
    """A row of samples that were taken in rounds, in one process or several (at least one sample in all)."""
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
    """Where the median of another run like this one is expected: a 95 % prediction interval, in the
    logarithm.

    Two estimates of how a median moves, of which the wider counts: between processes (Student's t over their
    medians, from two on), and between rounds within them (a bootstrap). Either run moves, so that their
    difference moves by √2 of one.
    """
    rounds = [part for process in launches for part in process if len(part)]
    middle = float(np.median(np.concatenate([np.asarray(part, np.float64) for part in rounds])))
    low, high = (np.log(max(bound, 1.0) / max(middle, 1.0)) * np.sqrt(2) for bound in median_interval(rounds))
    half = launch_error(launches) * np.sqrt(2)
    return middle * float(np.exp(min(low, -half))), middle * float(np.exp(max(high, half)))


def log_medians(processes: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """The logarithm of each process's median; a process without samples has none."""
    return np.asarray(
        [np.log(max(float(np.median(samples)), 1.0)) for samples in processes if len(samples)], np.float64
    )


def launch_error(launches: Sequence[Rounds]) -> float:
    """Half the 95 % interval of a run's log median, by Student's t over the medians of its processes; 0 for
    one process.
    """
    logs = log_medians([[ns for part in process for ns in part] for process in launches])
    if len(logs) < 2:
        return 0.0
    from scipy.special import stdtrit  # Student's quantiles, without scipy.stats' half second of imports

    return float(stdtrit(len(logs) - 1, 0.975) * np.std(logs, ddof=1) / np.sqrt(len(logs)))


def median_interval(rounds: Rounds, draws: int = DRAWS, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of the median when whole rounds are drawn again.

    What disturbs a machine lasts longer than a sample: samples of one round are alike, and to draw them one
    by one would promise too much. Pairs of neighbouring rounds stay together for the same reason, once there
    are enough of them.
    """
    kept = [np.asarray(part, np.float64) for part in rounds if len(part)]
    blocks = [np.concatenate(kept[at : at + 2]) for at in range(len(kept) - 1)] if len(kept) >= 8 else kept
    take = max(1, len(kept) // 2) if len(kept) >= 8 else len(kept)
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
    """(median, low, high) of changed / plain - 1 over pairs that were taken one after the other: 95 %,
    bootstrapped over pairs.
    """
    ratios = np.asarray(changed, np.float64) / np.maximum(np.asarray(plain, np.float64), 1.0) - 1.0
    random = np.random.default_rng(seed)
    medians = np.median(ratios[random.integers(len(ratios), size=(draws, len(ratios)))], axis=1)
    low, high = np.percentile(medians, (2.5, 97.5))
    return float(np.median(ratios)), float(low), float(high)
