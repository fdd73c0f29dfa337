"""Measures the latency of every layer of a search, of every step inside it, and of every component.

The layers are those of the paper's Table 3, whose figures are in published.json. Ours are measured on this
machine with the bundle's models. The paper names no hardware.

All rows are measured in rounds, each row once a round (a layer: once a query), so that a disturbance falls on
all rows; and in several fresh processes (launch.py), so that the interval of a median shows where another
run's median would lie. Layers (the engine's own trace) and steps come from the same searches, which have a
stopwatch inside (steps.py). Searches without it, and without any clock, run between them: the differences
are the cost of measuring.

The JSON of a run has the format that the demo apps export and `bench device --import` reads: see
bench/README.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.manifest import MANIFEST_NAME, Manifest

from .. import machine
from . import cold, launch, machine_state
from .cold import Job
from .samples import Row, row, share_interval

SCHEMA = "gamer-latency/1"
COLD = 3
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Model:
    """An artifact that ran.

    `model_size`: bytes, as in llama-bench. `arithmetic`: what it computed in on this machine, "" if it was
    not opened.
    """

    role: str
    quantization: str
    model_sha256: str
    model_size: int
    model_n_params: int
    parity: str
    arithmetic: str = ""


@dataclass(frozen=True)
class Overhead:
    """What measuring adds to a search, as a share of it, with 95 % intervals over `pairs` pairs of searches.

    `trace`: the engine's trace, which is always on. `stopwatch`: the stopwatch of the steps, which is on only
    in searches of its own.
    """

    pairs: int
    trace: float
    trace_low: float
    trace_high: float
    stopwatch: float
    stopwatch_low: float
    stopwatch_high: float


@dataclass(frozen=True)
class Latency:
    """A complete run. `rows`: layers, steps, then components (layer "component").

    `album` "": components only. `thermal`: see machine_state.py.
    """

    schema: str
    device: str
    os: str
    backend: str
    bundle: str
    bundle_sha256: str
    recipe: str
    quant: str
    thermal: str | None
    before: machine_state.State
    after: machine_state.State
    machine: machine.Machine
    album: str
    photos: int
    n_threads: int
    refined_by: str
    queries: tuple[str, ...]
    rounds: int
    warmup: int
    launches: int
    cold: cold.Cold | None
    overhead: Overhead | None
    peak_rss_mb: float
    models: tuple[Model, ...]
    rows: tuple[Row, ...]
    when: str


def measure(job: Job, launches: int, progress: Progress) -> Latency:
    """Measures cold starts, then searches and components, in `launches` processes that share the rounds."""
    before, cold_start, bundle = machine_state.read(), None, Path(job.bundle)
    manifest = mf.read(bundle)
    if job.album:
        progress("cold start")
        cold_start = cold.measure(job, COLD)
    results = launch.measure(job, launches, progress)
    after, this_machine = machine_state.read(), machine.read()
    return Latency(
        schema=SCHEMA,
        device=this_machine.cpu_info,
        os=this_machine.system,
        backend=job.backend,
        bundle=bundle.name,
        bundle_sha256=bundle_sha256(bundle),
        recipe=manifest.recipe,
        quant=manifest.quant,
        thermal=machine_state.thermal(before, after),
        before=before,
        after=after,
        machine=this_machine,
        album=Path(job.album).name,
        photos=results[0].photos,
        n_threads=job.threads,
        refined_by=job.refined_by,
        queries=job.queries,
        rounds=job.rounds,
        warmup=job.warmup,
        launches=len(results),
        cold=cold_start,
        overhead=_overhead(results),
        peak_rss_mb=max(result.peak_rss_mb for result in results),
        models=tuple(_models(manifest, job.backend.partition(":")[0], results[0].arithmetic)),
        rows=_rows(results),
        when=datetime.now().astimezone().isoformat(timespec="seconds"),
    )


def _rows(launches: Sequence[launch.Launch]) -> tuple[Row, ...]:
    """Joins the rows of the launches; a launch that never took a step has no rounds of it."""
    rows_by_launch = [{(r.layer, r.step): r for r in result.rows} for result in launches]
    first_rows = {key: r for rows in reversed(rows_by_launch) for key, r in rows.items()}
    return tuple(
        row(
            r.layer,
            r.step,
            r.on,
            [rows[key].rounds if key in rows else () for rows in rows_by_launch],
            r.macs,
            r.role,
        )
        for key, r in first_rows.items()
    )


def _overhead(launches: Sequence[launch.Launch]) -> Overhead | None:
    """The overhead over all rounds, including warm-up, which pairs do not need."""
    bare, plain, stepped = (
        [ns for result in launches for ns in getattr(result, kind)] for kind in ("bare", "plain", "stepped")
    )
    if not bare:
        return None
    return Overhead(
        len(bare), *(round(x, 5) for x in (*share_interval(plain, bare), *share_interval(stepped, bare)))
    )


def bundle_sha256(bundle: Path) -> str:
    """The SHA-256 of the manifest, which contains the hash of every file."""
    return hashlib.sha256((bundle / MANIFEST_NAME).read_bytes()).hexdigest()


def _models(manifest: Manifest, backend: str, arithmetic: dict[str, str]) -> list[Model]:
    out = []
    for artifact in (a for a in manifest.artifacts if a.target == backend):
        parity = (
            artifact.parity.status
            if artifact.parity.minimum is None
            else f"cosine ≥ {artifact.parity.minimum:.4f}"
        )
        parameters = manifest.component(artifact.role).parameters
        out.append(
            Model(
                role=artifact.role,
                quantization=artifact.quant,
                model_sha256=artifact.sha256,
                model_size=artifact.bytes,
                model_n_params=parameters,
                parity=parity,
                arithmetic=arithmetic.get(artifact.role, ""),
            )
        )
    return out
