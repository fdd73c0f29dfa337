"""Latency of every layer of a search, of every step inside it, and of every component of the bundle.
Measures; draws nothing.

The layers are the paper's Table 3 (Flickr): cube 0.744 s, K-D tree 0.002 s, reformulation 1.149 s, graph
0.470 s, vectors 0.352 s, 2.717 s in all, on the authors' server with GTE-large and Qwen2-1.5B; ours are this
machine's with the bundle's models. They share names, not hardware.

All rows are measured in rounds, each row once a round (a layer: once a query), so that a disturbance falls on
all rows; and in several fresh processes (launch.py), so that the interval of a median says where another
run's would lie. Layers come from the engine's own trace; steps from searches of their own with a stopwatch
inside (steps.py), and searches without any clock run between them: the difference is what measuring costs.

The JSON of a run is what the demo apps export and `bench device --import` reads: see bench/README.md.
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
from .samples import Row, row, share_interval

SCHEMA = "gamer-latency/1"
PAPER_MS = {"cube": 744, "kdtree": 2, "refine": 1149, "graph": 470, "vectors": 352, "all": 2717}
COLD = 3
Progress = Callable[[str], None]


@dataclass(frozen=True)
class LatencyPlan:
    """`rounds`: counted ones in all, shared out among `launches` processes, each with `warmup` rounds of its
    own. `delay`: seconds between rounds.
    """

    rounds: int = 20
    warmup: int = 1
    launches: int = 10
    delay: float = 0.0


@dataclass(frozen=True)
class Model:
    """An artifact that ran.

    `model_size` in bytes, as llama-bench has it. `arithmetic`: in which it computed here; "" where it was not
    opened.
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
    """What measuring adds to a search, as a share of it, with 95 % intervals over `pairs` pairs of searches:
    the engine's trace, which is always on; and the stopwatch of the steps, which is on in its own searches
    only."""

    pairs: int
    trace: float
    trace_low: float
    trace_high: float
    stopwatch: float
    stopwatch_low: float
    stopwatch_high: float


@dataclass(frozen=True)
class Latency:
    """A whole run. `rows`: layers, steps, then components (layer "component").

    `album` "": components alone. `thermal`: see state.py.
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


def measure(
    bundle: Path,
    album: Path | None,
    queries: Sequence[str],
    backend: str,
    threads: int,
    plan: LatencyPlan,
    refined_by: str,
    now: datetime | None,
    progress: Progress,
) -> Latency:
    """Cold starts in processes of their own, then launches: rounds over searches in `album` (None: no
    searches) and over the components.
    """
    before, frozen, manifest = machine_state.read(), None, mf.read(bundle)
    if album is not None:
        progress("cold start")
        frozen = cold.measure(bundle, album, backend, threads, refined_by, queries[0], now, COLD)
    job = launch.Job(
        bundle=str(bundle),
        album=str(album or ""),
        backend=backend,
        threads=threads,
        refined_by=refined_by,
        queries=tuple(queries),
        now=now.isoformat() if now else "",
        warmup=plan.warmup,
        rounds=plan.rounds,
        delay=plan.delay,
    )
    found = launch.measure(job, plan.launches, progress)
    after, here = machine_state.read(), machine.read()
    return Latency(
        schema=SCHEMA,
        device=here.cpu_info,
        os=here.system,
        backend=backend,
        bundle=bundle.name,
        bundle_sha256=bundle_sha256(bundle),
        recipe=manifest.recipe,
        quant=manifest.quant,
        thermal=machine_state.thermal(before, after),
        before=before,
        after=after,
        machine=here,
        album=album.name if album else "",
        photos=found[0].photos,
        n_threads=threads,
        refined_by=refined_by,
        queries=tuple(queries),
        rounds=plan.rounds,
        warmup=plan.warmup,
        launches=len(found),
        cold=frozen,
        overhead=_overhead(found),
        peak_rss_mb=max(one.peak_rss_mb for one in found),
        models=tuple(_models(manifest, backend.partition(":")[0], found[0].arithmetic)),
        rows=_rows(found),
        when=datetime.now().astimezone().isoformat(timespec="seconds"),
    )


def _rows(found: Sequence[launch.Launch]) -> tuple[Row, ...]:
    """Each launch's rows side by side; a step that a launch never took has no rounds of it there."""
    taken = [{(r.layer, r.step): r for r in one.rows} for one in found]
    kinds = {key: r for rows in reversed(taken) for key, r in rows.items()}
    return tuple(
        row(
            r.layer, r.step, r.on, [rows[key].rounds if key in rows else [] for rows in taken], r.macs, r.role
        )
        for key, r in kinds.items()
    )


def _overhead(found: Sequence[launch.Launch]) -> Overhead | None:
    """Over all rounds: pairs need no warm-up."""
    bare, plain, stepped = (
        [ns for one in found for ns in getattr(one, kind)] for kind in ("bare", "plain", "stepped")
    )
    if not bare:
        return None
    return Overhead(
        len(bare), *(round(x, 5) for x in (*share_interval(plain, bare), *share_interval(stepped, bare)))
    )


def bundle_sha256(bundle: Path) -> str:
    """The manifest's hash: it holds the hash of every file."""
    return hashlib.sha256((bundle / MANIFEST_NAME).read_bytes()).hexdigest()


def _models(manifest: Manifest, backend: str, arithmetic: dict[str, str]) -> list[Model]:
    out = []
    for artifact in (a for a in manifest.artifacts if a.target == backend):
        proof = (
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
                parity=proof,
                arithmetic=arithmetic.get(artifact.role, ""),
            )
        )
    return out


def layers(found: Latency) -> dict[str, Row]:
    """The rows of whole layers, by name."""
    return {r.layer: r for r in found.rows if not r.step}
