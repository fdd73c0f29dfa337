"""Compares two runs of `bench latency` (or exports of an app) row by row: noise, or change?

A row has changed if two conditions hold: the 95 % interval of the ratio of medians excludes 1 (for a
regression: lies entirely beyond the bound), and a Mann-Whitney test over the samples, corrected for the
number of rows (Holm), finds that the distributions differ. Either condition alone may be noise: a machine
that was busy for a while shifts many samples a little, and a single stall shifts a few by much. The interval
is a bootstrap over blocks of samples; for runs in several processes it is at least as wide as Welch's
interval over the processes' medians.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..stats import holm
from ..tables import Sheet
from .imported import Imported, ImportedRow
from .samples import log_medians

DRAWS, LEVEL = 4000, 0.05
EXPLAINED = (
    "95 %: the interval of the change of the median, by a bootstrap of the samples and, over several "
    "processes, Welch's t. p: how likely samples so different would be if nothing had changed, by a "
    "Mann-Whitney test of all samples, corrected for the number of rows (Holm). A row is slower or faster "
    "only if p is below 0.05 and the interval excludes 0. With only a small p, samples differ no more than "
    "from process to process; with only such an interval, there are too few samples to be sure."
)
FEWEST = 4  # samples that a row needs for a verdict


@dataclass(frozen=True)
class Change:
    """The difference of a row between runs A and B.

    `ratio`: B's median over A's, with its 95 % interval `low` to `high`. `p`: of the Mann-Whitney test,
    corrected. `verdict`: "slower", "faster", "same", or "too few samples". `regression`: slower beyond the
    bound.
    """

    layer: str
    step: str
    a_ms: float
    b_ms: float
    ratio: float
    low: float
    high: float
    p: float
    verdict: str
    regression: bool


@dataclass(frozen=True)
class Comparison:
    """`busy`: a line for each run whose machine was busy before it was measured."""

    a: str
    b: str
    bound: float
    changes: tuple[Change, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    notes: tuple[str, ...]
    busy: tuple[str, ...] = ()

    @property
    def regressions(self) -> tuple[Change, ...]:
        return tuple(c for c in self.changes if c.regression)


def share(text: str) -> float:
    """ "10%" or "0.1" → 0.1. Raises ValueError for other text."""
    match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(%?)\s*", text)
    if not match:
        raise ValueError(f"{text!r}: a share such as 10% is wanted")
    return float(match[1]) / (100 if match[2] else 1)


def compare(a: Imported, b: Imported, bound: float) -> Comparison:
    """Compares the rows that both runs have, in A's order.

    `bound`: the slowdown, as a share, beyond which a row is a regression.
    """
    left, right = ({(r.layer, r.step): r for r in x.rows} for x in (a, b))
    both = [key for key in left if key in right]
    raw = [_test(left[key], right[key]) for key in both]
    changes = tuple(_change(left[key], right[key], p, bound) for key, p in zip(both, holm(raw), strict=True))
    notes = [f"{name} differs: {x} and {y}" for name, x, y in _facts(a, b) if x != y]
    only_a, only_b = (tuple(": ".join(k) for k in x if k not in y) for x, y in ((left, right), (right, left)))
    return Comparison(
        a=a.device,
        b=b.device,
        bound=bound,
        changes=changes,
        only_a=only_a,
        only_b=only_b,
        notes=tuple(notes),
        busy=tuple(
            line for run, name in ((a, "A's machine"), (b, "B's machine")) if (line := run.busy(name))
        ),
    )


def _facts(a: Imported, b: Imported) -> list[tuple[str, str | None, str | None]]:
    return [
        (name, getattr(a, name), getattr(b, name))
        for name in ("device", "os", "backend", "bundle_sha256", "thermal")
    ]


def _test(a: ImportedRow, b: ImportedRow) -> float:
    """The two-sided p of the Mann-Whitney test; 1 where there is too little to test."""
    from scipy.stats import mannwhitneyu

    if min(len(a.samples_ns), len(b.samples_ns)) < FEWEST:
        return 1.0
    p = float(mannwhitneyu(a.samples_ns, b.samples_ns, alternative="two-sided").pvalue)
    return p if np.isfinite(p) else 1.0


def _change(a: ImportedRow, b: ImportedRow, p: float, bound: float) -> Change:
    if min(len(a.samples_ns), len(b.samples_ns)) < FEWEST:
        ratio = b.p50_ns / max(a.p50_ns, 1.0)
        return Change(
            layer=a.layer,
            step=a.step,
            a_ms=a.p50_ns / 1e6,
            b_ms=b.p50_ns / 1e6,
            ratio=ratio,
            low=ratio,
            high=ratio,
            p=1.0,
            verdict="too few samples",
            regression=False,
        )
    first, second = np.asarray(a.samples_ns, np.float64), np.asarray(b.samples_ns, np.float64)
    low, high = _ratio_interval(first, second)
    left, right = _log_medians_by_process(a), _log_medians_by_process(b)
    if min(len(left), len(right)) > 1:
        between = _welch_interval(left, right)
        low, high = min(low, between[0]), max(high, between[1])
    verdict = "slower" if p < LEVEL and low > 1 else "faster" if p < LEVEL and high < 1 else "same"
    ratio = float(np.median(second) / max(np.median(first), 1.0))
    regression = verdict == "slower" and low > 1 + bound
    return Change(
        layer=a.layer,
        step=a.step,
        a_ms=float(np.median(first)) / 1e6,
        b_ms=float(np.median(second)) / 1e6,
        ratio=ratio,
        low=low,
        high=high,
        p=p,
        verdict=verdict,
        regression=regression,
    )


def _ratio_interval(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the ratio of the medians, b over a.

    Samples are in the order they were taken in: blocks of neighbours are drawn, since a disturbance lasts.
    """
    random = np.random.default_rng(0)
    ratios = _medians(b, random) / np.maximum(_medians(a, random), 1.0)
    low, high = np.percentile(ratios, (2.5, 97.5))
    return float(low), float(high)


def _medians(x: NDArray[np.float64], random: np.random.Generator) -> NDArray[np.float64]:
    block = max(1, round(len(x) ** (1 / 3)))
    count = -(-len(x) // block)
    starts = random.integers(0, len(x) - block + 1, (DRAWS, count))
    rows = (starts[:, :, None] + np.arange(block)).reshape(DRAWS, -1)[:, : len(x)]
    return np.asarray(np.median(x[rows], axis=1), np.float64)


def _log_medians_by_process(row: ImportedRow) -> NDArray[np.float64]:
    ends = np.cumsum(row.launches, dtype=int)
    return log_medians(
        [row.samples_ns[end - count : end] for end, count in zip(ends, row.launches, strict=True)]
    )


def _welch_interval(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[float, float]:
    """The 95 % interval of exp(mean of b - mean of a), by Welch's t with its degrees of freedom."""
    from scipy.special import stdtrit

    left, right = (float(np.var(x, ddof=1)) / len(x) for x in (a, b))
    middle, spread = float(b.mean() - a.mean()), left + right
    if spread == 0:
        return float(np.exp(middle)), float(np.exp(middle))
    freedom = spread**2 / (left**2 / (len(a) - 1) + right**2 / (len(b) - 1))
    half = float(stdtrit(freedom, 0.975)) * spread**0.5
    return float(np.exp(middle - half)), float(np.exp(middle + half))


def sheet(comparison: Comparison) -> Sheet:
    """The table of `gamer bench compare`."""
    rows = tuple(_row(c) for c in comparison.changes)
    return Sheet(
        f"{comparison.a} → {comparison.b}, bound {comparison.bound:.0%}",
        ("row", "A ms", "B ms", "change", "95 %", "p", "verdict"),
        rows,
    )


def notes(comparison: Comparison) -> list[str]:
    out = [*comparison.notes]
    out += [
        f"Only in {name}: {', '.join(only)}"
        for name, only in (("A", comparison.only_a), ("B", comparison.only_b))
        if only
    ]
    count = len(comparison.regressions)
    out.append(EXPLAINED)
    return [
        *out,
        *comparison.busy,
        f"{count} of {len(comparison.changes)} rows slower by more than {comparison.bound:.0%}."
        if count
        else "No regression beyond the bound.",
    ]


def _row(c: Change) -> tuple[str, ...]:
    verdict = c.verdict + (", beyond the bound" if c.regression else "")
    changed = f"{c.ratio - 1:+.1%}", f"{c.low - 1:+.1%} … {c.high - 1:+.1%}", f"{c.p:.3f}"
    return f"{c.layer}: {c.step}" if c.step else c.layer, f"{c.a_ms:.3f}", f"{c.b_ms:.3f}", *changed, verdict
