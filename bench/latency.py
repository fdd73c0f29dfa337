"""Latency of every layer of a search, of every step inside it, and of every component of the bundle. Measures; draws nothing.

The layers are the paper's Table 3 (Flickr): cube 0.744 s, K-D tree 0.002 s, reformulation 1.149 s, graph 0.470 s, vectors 0.352 s, 2.717 s in
all, on the authors' server with GTE-large and Qwen2-1.5B; ours are this machine's with the bundle's models. They share names, not hardware.

All rows are measured in rounds, each row once a round (a layer: once a query), so that a disturbance falls on all rows and the interval of a
median knows of it. Layers come from the engine's own trace; steps from searches of their own with a stopwatch inside (steps.py), and searches
without any clock run between them: the difference is what measuring costs.

The JSON of a run is what the demo apps export and `bench device --import` reads: see bench/README.md.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gamer.index import Album
from gamer.runtime.answer import LAYERS
from gamer.runtime.engine import Engine
from gamer.runtime.manifest import MANIFEST_NAME, Manifest
from gamer.runtime.models import Models

from . import cold, machine, state, steps
from .parts import Part, parts
from .samples import Row, row, share_interval

SCHEMA = "gamer-latency/1"
PAPER_MS = {"cube": 744, "kdtree": 2, "refine": 1149, "graph": 470, "vectors": 352, "all": 2717}
PAIRS = 4  # searches of each kind, a query and a round: pairs for the overhead
COLD = 3
SHORT_NS = 100_000_000
Progress = Callable[[str], None]
Plan = tuple[int, int, float]  # warm-up rounds, counted rounds, seconds between them


@dataclass(frozen=True)
class Model:
    """An artifact that ran. `model_size` in bytes, as llama-bench has it."""

    role: str
    quantization: str
    model_sha256: str
    model_size: int
    model_n_params: int
    parity: str


@dataclass(frozen=True)
class Overhead:
    """What measuring adds to a search, as a share of it, with 95 % intervals over `pairs` pairs of searches: the engine's trace, which is always
    on; and the stopwatch of the steps, which is on in its own searches only."""

    pairs: int
    trace: float
    trace_low: float
    trace_high: float
    stopwatch: float
    stopwatch_low: float
    stopwatch_high: float


@dataclass(frozen=True)
class Latency:
    """A whole run. `rows`: layers, steps, then components (layer "component"). `album` "": components alone. `thermal`: see state.py."""

    schema: str
    device: str
    os: str
    backend: str
    bundle: str
    bundle_sha256: str
    recipe: str
    quant: str
    thermal: str | None
    before: state.State
    after: state.State
    machine: machine.Machine
    album: str
    photos: int
    n_threads: int
    refined_by: str
    queries: tuple[str, ...]
    rounds: int
    warmup: int
    cold: cold.Cold | None
    overhead: Overhead | None
    peak_rss_mb: float
    models: tuple[Model, ...]
    rows: tuple[Row, ...]
    when: str


def measure(
    bundle: Path, album: Path | None, queries: Sequence[str], backend: str, threads: int, plan: Plan, refined_by: str, now: datetime | None,
    progress: Progress,
) -> Latency:  # fmt: skip
    """Cold starts in processes of their own, then rounds over searches in `album` (None: no searches) and over the components."""
    before, frozen = state.read(), None
    if album is not None:
        progress("cold start")
        frozen = cold.measure(bundle, album, backend, threads, refined_by, queries[0], now, COLD)
    models = Models.open(bundle, backend, threads, allow_random=album is None)
    searches = None if album is None else _Searches(Engine(models, Album.open(album)), queries, refined_by, now)
    timed = _rounds(searches, list(parts(models)), plan, progress)
    after, manifest = state.read(), models.manifest
    photos = 0
    if searches is not None:
        photos = len(searches.engine.album)
        searches.engine.close()
    here = machine.read()
    rows = (*(searches.rows(plan[0]) if searches else ()), *_rows(timed, models))
    overhead = searches.overhead() if searches else None
    return Latency(
        SCHEMA, here.cpu_info, here.system, backend, bundle.name, bundle_sha256(bundle), manifest.recipe, manifest.quant,
        state.thermal(before, after), before, after, here,
        album.name if album else "", photos, threads, refined_by, tuple(queries), plan[1], plan[0], frozen, overhead,
        machine.peak_rss_mb(), tuple(_models(manifest, models.backend)), rows, datetime.now().astimezone().isoformat(timespec="seconds"),
    )  # fmt: skip


def bundle_sha256(bundle: Path) -> str:
    """The manifest's hash: it holds the hash of every file."""
    return hashlib.sha256((bundle / MANIFEST_NAME).read_bytes()).hexdigest()


def _rounds(searches: _Searches | None, items: Sequence[Part], plan: Plan, progress: Progress) -> list[tuple[Part, list[list[int]]]]:
    """Every row once a round; the nanoseconds of the components' counted rounds."""
    warmup, counted, delay = plan
    out: list[tuple[Part, list[list[int]]]] = [(item, []) for item in items]
    for turn in range(warmup + counted):
        progress(f"round {turn + 1} of {warmup + counted}")
        if searches is not None:
            searches.run()
        for item, samples in out:
            took = _once(item, samples[-1][0] if samples else 0)
            if turn >= warmup:
                samples.append([took])
        if delay:
            time.sleep(delay)
    return out


def _once(item: Part, last: int) -> int:
    """Nanoseconds of a run. A short one has an uncounted run before it: the threads of the component before still spin, and would be counted."""
    if last < SHORT_NS:
        item.run()
    begin = time.perf_counter_ns()
    item.run()
    return time.perf_counter_ns() - begin


class _Searches:
    """Rounds of searches of three kinds: as they are, with the stopwatch, and without any clock; their order turns from query to query."""

    def __init__(self, engine: Engine, queries: Sequence[str], refined_by: str, now: datetime | None) -> None:
        self.engine, self._queries, self._by, self._now = engine, queries, refined_by, now
        setattr(engine, "_refinements", steps.Forgetful())  # noqa: B010 - a kept refinement would be measured as a refinement
        self._watch = steps.Stopwatch(engine)
        self._layers: list[dict[str, list[int]]] = []
        self._steps: list[list[dict[steps.Step, int]]] = []
        self._bare, self._plain, self._stepped = list[int](), list[int](), list[int]()

    def run(self) -> None:
        """One round."""
        self._layers.append({layer: [] for layer in (*LAYERS, "all", "search")})
        self._steps.append([])
        for at, query in enumerate(self._queries):
            for pair in range(1 if self._by == "llm" else PAIRS):
                kinds = (self._search_bare, self._search_plain, self._search_stepped)
                for turn in range(3):
                    kinds[(at + pair + turn) % 3](query, pair == 0)

    def _timed(self, query: str) -> tuple[int, dict[str, float]]:
        begin = time.perf_counter_ns()
        answer = self.engine.search(query, refined_by=self._by, now=self._now)
        return time.perf_counter_ns() - begin, answer.trace.milliseconds

    def _search_bare(self, query: str, first: bool) -> None:
        with steps.no_trace():
            self._bare.append(self._timed(query)[0])

    def _search_plain(self, query: str, first: bool) -> None:
        took, milliseconds = self._timed(query)
        self._plain.append(took)
        if first:
            layers = self._layers[-1]
            for layer, value in milliseconds.items():
                layers[layer].append(int(value * 1e6))
            layers["all"].append(int(sum(milliseconds.values()) * 1e6))
            layers["search"].append(took)

    def _search_stepped(self, query: str, first: bool) -> None:
        with self._watch.running():
            took, _ = self._timed(query)
        self._stepped.append(took)
        spent = self._watch.lap()
        if first:
            self._steps[-1].append(spent)

    def rows(self, warmup: int) -> list[Row]:
        """Each layer, and after it its steps. A step that a query did not take has no sample of it."""
        layers, spent = self._layers[warmup:], self._steps[warmup:]
        taken = steps.names([one for part in spent for one in part])
        out = []
        for layer in (*LAYERS, "answer", "all", "search"):
            if layer != "answer":
                out.append(row(layer, "", "search", [part[layer] for part in layers]))
            for step in (s for s in taken if s[0] == layer):
                out.append(row(*step, "search", [[one[step] for one in part if step in one] for part in spent]))
        return out

    def overhead(self) -> Overhead:
        """Over all rounds: pairs need no warm-up."""
        trace = share_interval(self._plain, self._bare)
        stepped = share_interval(self._stepped, self._bare)
        return Overhead(len(self._bare), *(round(x, 5) for x in (*trace, *stepped)))


def _rows(timed: Sequence[tuple[Part, list[list[int]]]], models: Models) -> list[Row]:
    return [row("component", part.step, part.on, samples, _macs(part, models), part.role) for part, samples in timed]


def _macs(part: Part, models: Models) -> int | None:
    """Multiply-adds of what was run, counted on its ONNX graph; None where there is no graph to count (another backend, no `onnx`)."""
    if not part.role or models.backend != "onnx":
        return None
    try:
        from . import flops
    except ImportError:
        return None
    found = flops.cost(models.bundle, models.manifest, part.role, "", "", part.dims(), part.past)
    return round(found.macs)


def _models(manifest: Manifest, backend: str) -> list[Model]:
    out = []
    for artifact in (a for a in manifest.artifacts if a.target == backend):
        proof = artifact.parity.status if artifact.parity.minimum is None else f"cosine ≥ {artifact.parity.minimum:.4f}"
        parameters = manifest.component(artifact.role).parameters
        out.append(Model(artifact.role, artifact.quant, artifact.sha256, artifact.bytes, parameters, proof))
    return out


def layers(found: Latency) -> dict[str, Row]:
    """The rows of whole layers, by name."""
    return {r.layer: r for r in found.rows if not r.step}
