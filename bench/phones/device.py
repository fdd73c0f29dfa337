"""Predicts latency on phones: this machine's roofline, checked and calibrated here, transferred to profiles.

1. The ceilings of this machine are measured (ceilings.py); its components are predicted from their counts
   (roofline.py) and then timed, so that each has a prediction error. Fastest runs are compared with fastest
   runs, since a ceiling does not include the load of other processes.
2. Three factors (products, other operators, dispatch) are fitted to those times. Each component's remaining
   error is computed with the factors fitted to the other components only.
3. A phone's ceilings are this machine's times the ratio of the data sheets, as if the phone's kernels reached
   the same share of their peak. All figures for phones rest on that assumption; measurements that an app
   exported are shown beside them (imported.py).
4. A prediction's interval is the spread of the calibrated errors on this machine (`ratio_interval`): the 95 %
   prediction interval, by Student's t on logarithms, of the ratio of measured to calibrated time of one more
   component here. What the data sheets or that assumption get wrong about a phone is not in it.
For GPU and NPU there are no kernels here to calibrate with, so only a bound is given: their peak and the
memory's bandwidth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from gamer.export.planning.devices import Profile
from gamer.export.planning.phone_memory import RUNTIME_BYTES, cache_bytes
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.manifest import Manifest
from gamer.runtime.models.models import Models

from .. import machine
from ..cost import ceilings, counting, graph, roofline
from ..cost.ceilings import Ceilings, Rate
from ..cost.component_runs import TASK_ROLES, runs_of
from ..cost.counting import Work
from ..cost.roofline import CACHE, GIGA, Predicted
from ..latency.measure import bundle_sha256

STREAM_SHARE = 0.6  # share of the data sheet's bandwidth that a phone's cores reach: an assumption
PREDICTED = (
    "image_tower",
    "text_tower",
    "dpe_router",
    "dpe_expert_0",
    "llm_encoder",
    "llm_prefill",
    "llm_prefill_after_prefix",
    "llm_decode",
)
DECODED = 12
PULL = 0.03  # weight of the prior that a factor is 1
CLASSES = ((0.1, "A"), (1.0, "B"), (10.0, "C"), (float("inf"), "D"))  # energy classes: below so many joules
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Checked:
    """A component on this machine, predicted and measured (fastest run).

    `predicted_ms`: from the ceilings alone. `calibrated_ms`: with factors fitted to the other components. The
    errors are relative to `measured_ms`. `bound`: see roofline.Predicted.
    """

    bundle: str
    component: str
    on: str
    measured_ms: float
    predicted_ms: float
    error: float
    calibrated_ms: float
    calibrated_error: float
    bound: str


@dataclass(frozen=True)
class Outlook:
    """The prediction for a component on a phone.

    `cpu_ms`: on its processor, `cpu_low_ms` to `cpu_high_ms` its 95 % interval by the errors on this machine
    (None where fewer than two components were measured); `joules` and their class `energy` follow from
    `cpu_ms`. `gpu_ms`, `npu_ms`: lower bounds. `measured_ms`: a median on that phone, if there is one;
    `measured_on`: what ran it, "" for the processor. `refined_ms` and its interval: the prediction times what
    phones of its chip (`refined_by`) took of theirs, None without one.
    """

    device: str
    bundle: str
    component: str
    on: str
    cpu_ms: float
    cpu_low_ms: float | None
    cpu_high_ms: float | None
    joules: float
    energy: str
    gpu_ms: float | None
    npu_ms: float | None
    memory_mb: float
    measured_ms: float | None = None
    measured_on: str = ""
    refined_ms: float | None = None
    refined_low_ms: float | None = None
    refined_high_ms: float | None = None
    refined_by: str = ""

    @property
    def best(self) -> tuple[float, float | None, float | None]:
        """(ms, low, high) on the processor by what is known best: measured, else refined, else predicted."""
        if self.measured_ms is not None and not self.measured_on:
            return self.measured_ms, self.measured_ms, self.measured_ms
        if self.refined_ms is not None:
            return self.refined_ms, self.refined_low_ms, self.refined_high_ms
        return self.cpu_ms, self.cpu_low_ms, self.cpu_high_ms


@dataclass(frozen=True)
class Task:
    """The prediction for a user's action on a phone. `fits`: whether it fits the memory of an app there.

    Its components count by what is known best of them (Outlook.best). `cpu_low_ms`, `cpu_high_ms`: the sums
    of their bounds, as if all erred in the same direction.
    """

    device: str
    bundle: str
    task: str
    cpu_ms: float
    cpu_low_ms: float | None
    cpu_high_ms: float | None
    joules: float
    energy: str
    memory_mb: float
    fits: bool


@dataclass(frozen=True)
class Forecast:
    """All of a run. `ratios`: the interval of measured over calibrated time here, see `ratio_interval`.

    `digests`: the SHA-256 of each bundle's manifest, by which measurements name the bundle that ran.
    """

    machine: machine.Machine
    ceilings: Ceilings
    factors: tuple[float, float, float]
    ratios: tuple[float, float] | None
    bundles: tuple[str, ...]
    digests: tuple[str, ...]
    checked: tuple[Checked, ...]
    outlooks: tuple[Outlook, ...]
    tasks: tuple[Task, ...]
    when: str


@dataclass(frozen=True, eq=False)
class Run:
    """A component of a bundle on one input: its operators' work, a way to run it, and its best time here."""

    bundle: str
    step: str
    on: str
    role: str
    works: tuple[Work, ...]
    part: Callable[[], object]
    best_ms: float = 0.0


def forecast(
    bundles: Sequence[Path],
    profiles: Sequence[Profile],
    threads: int,
    rounds: int,
    progress: Progress,
    refine: Callable[[Sequence[Outlook]], Sequence[Outlook]] = tuple,
) -> Forecast:
    """The predictions for every bundle on every phone. `refine`: sets measurements beside them (measured.py).

    This machine's ceilings and every component are measured in the same rounds.
    """
    parts_of = {bundle: countable(bundle, threads) for bundle in bundles}
    items = {
        f"{b.name}: {run.step}": run.part for b, component_runs in parts_of.items() for run in component_runs
    }
    seconds = ceilings.best_of(ceilings.probes(threads) | items, rounds, progress)
    machine_ceilings = ceilings.ceilings_of(seconds, threads)
    runs = {
        b: [replace(run, best_ms=1e3 * seconds[f"{b.name}: {run.step}"]) for run in component_runs]
        for b, component_runs in parts_of.items()
    }
    factors, checked = calibrate(
        [run for component_runs in runs.values() for run in component_runs], machine_ceilings
    )
    ratios = ratio_interval(checked)
    outlooks = refine(
        [
            o
            for p in profiles
            for b in bundles
            for o in outlook(p, b.name, runs[b], mf.read(b), machine_ceilings, factors, ratios)
        ]
    )
    tasks = [
        t
        for p in profiles
        for b in bundles
        for t in tasks_of(
            p, b.name, mf.read(b), [o for o in outlooks if (o.device, o.bundle) == (p.name, b.name)]
        )
    ]
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    return Forecast(
        machine=machine.read(),
        ceilings=machine_ceilings,
        factors=factors,
        ratios=ratios,
        bundles=tuple(b.name for b in bundles),
        digests=tuple(map(bundle_sha256, bundles)),
        checked=tuple(checked),
        outlooks=tuple(outlooks),
        tasks=tuple(tasks),
        when=when,
    )


def countable(bundle: Path, threads: int) -> list[Run]:
    """The components in PREDICTED that the bundle has, counted on their graphs and ready to run."""
    models = Models.open(bundle, "onnx", threads, allow_random=True)
    out = []
    for part in (p for p in runs_of(models) if p.step in PREDICTED):
        path = mf.check_one(bundle, models.manifest.artifact(part.role, "onnx"))
        works = counting.count(graph.read(path, part.dims(), part.past))
        out.append(Run(bundle.name, part.step, part.on, part.role, works, part.run))
    return out


def calibrate(runs: Sequence[Run], here: Ceilings) -> tuple[tuple[float, float, float], list[Checked]]:
    """The factors fitted to all runs, and each run beside its prediction."""
    plain = [roofline.predict(r.works, here, CACHE) for r in runs]
    times = [r.best_ms / 1e3 for r in runs]
    out = []
    for at, (run, prediction) in enumerate(zip(runs, plain, strict=True)):
        others = [i for i in range(len(runs)) if i != at]
        fitted = _factors([plain[i] for i in others], [times[i] for i in others])
        calibrated = calibrated_seconds(prediction, fitted)
        errors = prediction.seconds / times[at] - 1, calibrated / times[at] - 1
        out.append(
            Checked(
                bundle=run.bundle,
                component=run.step,
                on=run.on,
                measured_ms=times[at] * 1e3,
                predicted_ms=prediction.seconds * 1e3,
                error=errors[0],
                calibrated_ms=calibrated * 1e3,
                calibrated_error=errors[1],
                bound=prediction.bound,
            )
        )
    return _factors(plain, times), out


def ratio_interval(checked: Sequence[Checked]) -> tuple[float, float] | None:
    """The 95 % prediction interval of measured over calibrated time, for one more component here.

    By Student's t over the logarithms of the components' ratios, each calibrated on the others. None for
    fewer than two components.
    """
    if len(checked) < 2:
        return None
    return next_ratio([c.measured_ms / c.calibrated_ms for c in checked])


def next_ratio(ratios: Sequence[float]) -> tuple[float, float]:
    """The 95 % prediction interval of one more ratio (of at least two), by Student's t on logarithms."""
    from scipy.special import stdtrit

    logs = np.log(ratios)
    half = stdtrit(len(logs) - 1, 0.975) * np.std(logs, ddof=1) * np.sqrt(1 + 1 / len(logs))
    return float(np.exp(logs.mean() - half)), float(np.exp(logs.mean() + half))


def _factors(plain: Sequence[Predicted], times: Sequence[float]) -> tuple[float, float, float]:
    """The factors with the least squares of relative errors, between a third and three.

    With few components a more extreme factor would fit noise.
    """
    if not plain:
        return 1.0, 1.0, 1.0
    from scipy.optimize import lsq_linear

    rows = np.array([[p.products, p.rest, p.dispatch] for p in plain]) / np.asarray(times)[:, None]
    # A weak pull to 1, which decides a factor that the components leave open.
    pull = PULL * np.eye(3)
    factors = lsq_linear(
        np.vstack([rows, pull]), np.concatenate([np.ones(len(times)), np.full(3, PULL)]), bounds=(1 / 3, 3.0)
    ).x
    return float(factors[0]), float(factors[1]), float(factors[2])


def calibrated_seconds(prediction: Predicted, factors: tuple[float, float, float]) -> float:
    return prediction.products * factors[0] + prediction.rest * factors[1] + prediction.dispatch * factors[2]


def transfer_ceilings(here: Ceilings, phone: Profile) -> Ceilings:
    """This machine's ceilings scaled to a phone by the ratios of the data sheets.

    Where this machine's data sheet is unknown, its best rates correspond to half of the phone's peak.
    """
    sheet = here.theoretical_gmacs or {
        "fp32": 2 * here.peak("fp32"),
        "int8": 2 * here.peak("int8"),
        "int4": 2 * here.peak("int8"),
    }
    fp32, int8 = phone.cpu_fp32_gmacs / sheet["fp32"], phone.cpu_int8_gmacs / sheet["int8"]
    ratio = {"fp32": fp32, "int8": int8, "int4": int8}
    rates = tuple(Rate(r.precision, r.rows, r.gmacs * ratio[r.precision]) for r in here.rates)
    stream = phone.bandwidth_gbs * STREAM_SHARE
    return replace(
        here,
        rates=rates,
        depthwise_gmacs=here.depthwise_gmacs * int8,
        stream_gbs=stream,
        cached_gbs=max(stream, here.cached_gbs * fp32),
        arithmetic_gops=here.arithmetic_gops * fp32,
        theoretical_gmacs={},
    )


def outlook(
    phone: Profile,
    bundle: str,
    runs: Sequence[Run],
    manifest: Manifest,
    here: Ceilings,
    factors: tuple[float, float, float],
    ratios: tuple[float, float] | None,
) -> list[Outlook]:
    """The predictions for each component on a phone."""
    low, high = ratios or (None, None)
    phone_ceilings = transfer_ceilings(here, phone)
    out = []
    for run in runs:
        seconds = calibrated_seconds(
            roofline.predict(run.works, phone_ceilings, phone.cache_mb * 1e6), factors
        )
        joules = seconds * phone.cpu_watts
        macs, moved = sum(w.macs for w in run.works), sum(w.weight_bytes for w in run.works)
        bounds = [
            None if peak is None else 1e3 * max(macs / GIGA / peak, moved / GIGA / phone.bandwidth_gbs)
            for peak in (phone.gpu_fp16_gmacs, phone.npu_int8_gmacs)
        ]
        memory = memory_mb(manifest, (run.role,))
        out.append(
            Outlook(
                device=phone.name,
                bundle=bundle,
                component=run.step,
                on=run.on,
                cpu_ms=seconds * 1e3,
                cpu_low_ms=None if low is None else seconds * 1e3 * low,
                cpu_high_ms=None if high is None else seconds * 1e3 * high,
                joules=joules,
                energy=energy(joules),
                gpu_ms=bounds[0],
                npu_ms=bounds[1],
                memory_mb=memory,
            )
        )
    return out


def energy(joules: float) -> str:
    """The class of an energy, A (below 0.1 J) to D (10 J or more); a phone's battery holds about 50,000 J."""
    return next(letter for limit, letter in CLASSES if joules < limit)


def memory_mb(manifest: Manifest, roles: Sequence[str]) -> float:
    """MB of memory: the artifacts at their size on disk, the decoder's cache in float32, and the runtime."""
    size = sum(a.bytes for a in manifest.artifacts if a.target == "onnx" and a.role in roles)
    if "llm_decoder" in roles and manifest.language is not None:
        size += cache_bytes(manifest.language)
    return (size + RUNTIME_BYTES) / 1e6


TASKS = {
    "query, refined by rules": (("text_tower", 2.0),),
    "query, refined by the language model": (
        ("text_tower", 2.0),
        ("llm_prefill_after_prefix", 1.0),
        ("llm_decode", float(DECODED)),
    ),
    "photo indexed": (("image_tower", 1.0), ("text_tower", 1.0)),
}


def tasks_of(phone: Profile, bundle: str, manifest: Manifest, outlooks: Sequence[Outlook]) -> list[Task]:
    """The tasks whose components the bundle has.

    Without a stored prefix, the whole prompt is computed.
    """
    by_step = {o.component: o for o in outlooks}
    out = []
    for task, needs in TASKS.items():
        substitutes = {"llm_prefill_after_prefix": ("llm_prefill", "llm_encoder")}
        chosen = [
            (
                next((by_step[s] for s in (step, *substitutes.get(step, ())) if s in by_step), None),
                n,
            )
            for step, n in needs
        ]
        if any(o is None for o, _ in chosen):
            continue
        ms = sum(o.best[0] * n for o, n in chosen if o is not None)
        joules, memory = ms / 1e3 * phone.cpu_watts, memory_mb(manifest, TASK_ROLES[task])
        out.append(
            Task(
                device=phone.name,
                bundle=bundle,
                task=task,
                cpu_ms=ms,
                cpu_low_ms=_sum((o.best[1], n) for o, n in chosen if o is not None),
                cpu_high_ms=_sum((o.best[2], n) for o, n in chosen if o is not None),
                joules=joules,
                energy=energy(joules),
                memory_mb=memory,
                fits=memory <= phone.app_memory_gb * 1e3,
            )
        )
    return out


def _sum(parts: Iterable[tuple[float | None, float]]) -> float | None:
    """The sum of values times counts; None if a value is."""
    total = 0.0
    for value, count in parts:
        if value is None:
            return None
        total += value * count
    return total
