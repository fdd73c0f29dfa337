"""Operators of one artifact: time from ONNX Runtime's profiler, multiply-adds from the exported graph, share
of the roofline, slower kernels.

The profiler names the nodes that ran, after fusing; the counter (counting.py) knows the nodes that were
exported. A node that ran takes the work of every exported product whose name it has or continues
("…/MatMul/MatMulScaleFusion/" ran for "…/MatMul"), or whose output it was renamed after; work that no node
took is shown as such, so that the sum is the graph's. Profiling itself costs some microseconds a node: the
last line says how much.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from gamer.runtime.backends import Array, Session
from gamer.runtime.backends.onnx_backend import session_options
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle.manifest import Artifact
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.models import Models
from gamer.runtime.telemetry import load_onnxruntime

from .. import machine
from . import ceilings, counting, fallbacks, graph
from .ceilings import Ceilings
from .component_runs import ComponentRun, parts
from .counting import Work
from .fallbacks import Fallback, Ran
from .nodes import Graph
from .roofline import CACHE, attainable_seconds

UNTAKEN = "(exported, and no node that ran took it)"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Group:
    """Nodes of one kernel, or of one layer.

    `roofline`: attainable over measured time, None without work or time.
    """

    name: str
    times: int
    us: float
    share: float
    macs: int
    bytes: int
    gflops: float
    roofline: float | None


@dataclass(frozen=True)
class Table:
    """One artifact on one input. `profiled_us` is the run with the profiler, `plain_us` without;
    `attainable_us`: what the roofline allows, every exported operator by itself. `bytes`: weights and
    activations, as counting.py defines them."""

    step: str
    on: str
    role: str
    quant: str
    parameters: int
    macs: int
    bytes: int
    attainable_us: float
    runs: int
    profiled_us: float
    plain_us: float
    kernels: tuple[Group, ...]
    layers: tuple[Group, ...]
    nodes: tuple[Ran, ...]
    fallbacks: tuple[Fallback, ...]


@dataclass(frozen=True)
class Ops:
    machine: machine.Machine
    bundle: str
    n_threads: int
    ceilings: Ceilings
    tables: tuple[Table, ...]
    executorch: str
    when: str


class _Profiled:
    """An ONNX Runtime session with its profiler on: what the runtime's own is, for callers that bind memory
    too.
    """

    def __init__(self, path: Path, artifact: Artifact, threads: int, folder: Path) -> None:
        ort, options = load_onnxruntime(), session_options(threads)
        options.enable_profiling, options.profile_file_prefix = True, str(folder / artifact.role)
        path = path / "model.onnx" if path.is_dir() else path
        try:
            self.native: Any = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises many unrelated classes
            raise RuntimeFailure(
                f"{path}: ONNX Runtime refuses it ({str(error).splitlines()[0][:200]}): export again"
            ) from None
        self.artifact = artifact

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        names = [spec.name for spec in self.artifact.outputs]
        return dict(zip(names, self.native.run(names, inputs), strict=True))


class _ProfiledModels(Models):
    """A bundle's models whose sessions are profiled."""

    folder: Path

    def session(self, role: str) -> Session:
        if role not in self._sessions:
            artifact = self.manifest.artifact(role, self.backend)
            self._sessions[role] = _Profiled(
                mf.check_one(self.bundle, artifact), artifact, self.threads, self.folder
            )
        return self._sessions[role]


def measure(bundle: Path, steps: Sequence[str], threads: int, runs: int, progress: Progress) -> Ops:
    """Every part of the bundle with a graph (or those named in `steps`).

    Raises RuntimeFailure for a step that the bundle lacks.
    """
    known = [p.step for p in parts(Models.open(bundle, "onnx", threads, allow_random=True)) if p.role]
    if unknown := set(steps) - set(known):
        raise RuntimeFailure(f"unknown component {min(unknown)!r}; choose from: {', '.join(known)}")
    here = ceilings.measure(threads, min(runs, 4), progress)
    tables = tuple(_table(bundle, step, threads, runs, here, progress) for step in steps or known)
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    return Ops(
        machine=machine.read(),
        bundle=bundle.name,
        n_threads=threads,
        ceilings=here,
        tables=tables,
        executorch=_executorch(bundle),
        when=when,
    )


def _executorch(bundle: Path) -> str:
    """Why operators of .pte files are not timed, in one line; "" for a bundle without any."""
    if not any(a.target == "executorch" for a in mf.read(bundle).artifacts):
        return ""
    try:
        from gamer.export.executorch import profiling
    except ImportError as error:
        return f"ExecuTorch: {error.name} is not installed, no operator is timed."
    return profiling.etdump_support(bundle)


def _table(bundle: Path, step: str, threads: int, runs: int, here: Ceilings, progress: Progress) -> Table:
    progress(f"{step}: profiling")
    models = Models.open(bundle, "onnx", threads, allow_random=True)
    plain = _median_us(_part(models, step).run, runs)
    artifact = models.manifest.artifact(_part(models, step).role, "onnx")
    with tempfile.TemporaryDirectory(prefix="gamer-ops-") as folder:
        profiled = _ProfiledModels(bundle, models.manifest, "onnx", threads)
        profiled.folder = Path(folder)
        part = _part(profiled, step)
        for _ in range(runs + 2):
            part.run()
        events = json.loads(Path(getattr(profiled.session(part.role), "native").end_profiling()).read_text())  # noqa: B009
    exported = graph.read(mf.check_one(bundle, artifact), part.dims(), part.past)
    whole, ran = read_profile(events, runs)
    works = counting.count(exported)
    nodes, cold = assign(ran, works, exported), sum(w.weight_bytes for w in works) > CACHE
    kernels, layers = (groups(nodes, key, here, cold) for key in (lambda n: n.op, lambda n: n.layer))
    least = sum(attainable_seconds(w.macs, w.bytes, w.precision, here, cold) for w in works) * 1e6
    head = (step, part.on, part.role, artifact.quant, models.manifest.component(part.role).parameters)
    counts = (sum(w.macs for w in works), sum(w.bytes for w in works), least)
    return Table(*head, *counts, runs, whole, plain, kernels, layers, nodes, fallbacks.find(nodes, exported))


def _part(models: Models, step: str) -> ComponentRun:
    return next(p for p in parts(models) if p.step == step)


def _median_us(run: Callable[[], object], runs: int) -> float:
    took = []
    for _ in range(runs + 2):
        begin = time.perf_counter()
        run()
        took.append(time.perf_counter() - begin)
    return float(np.median(took[2:]) * 1e6)


def read_profile(events: Iterable[dict[str, Any]], runs: int) -> tuple[float, list[Ran]]:
    """(microseconds of a run, the nodes that ran with their medians) of the last `runs` runs of a profile."""
    events = list(events)
    whole = [(e["ts"], e["ts"] + e["dur"], e["dur"]) for e in events if e.get("name") == "model_run"][-runs:]
    took: dict[tuple[str, str], list[list[float]]] = defaultdict(lambda: [[] for _ in whole])
    for e in events:
        name = str(e.get("name", ""))
        if e.get("cat") != "Node" or not name.endswith("_kernel_time"):
            continue
        at = next((i for i, (begin, end, _) in enumerate(whole) if begin <= e["ts"] <= end), None)
        if at is not None:
            took[name.removesuffix("_kernel_time"), str(e["args"]["op_name"])][at].append(float(e["dur"]))
    nodes = [
        Ran(
            name=name,
            op=op,
            layer="",
            us=float(np.median([sum(one) for one in per_run])),
            macs=0,
            bytes=0,
            precision="",
        )
        for (name, op), per_run in took.items()
    ]
    return float(np.median([d for _, _, d in whole])) if whole else 0.0, nodes


def assign(ran: Sequence[Ran], works: Sequence[Work], exported: Graph) -> tuple[Ran, ...]:
    """The nodes with their layers and the work of the exported nodes that they stand for; what no node took
    comes last, by kind of operator.
    """
    made = {v.name: n.name for n in exported.nodes for v in n.outputs if v is not None}
    fed = {
        n.name: [made[v.name] for v in n.inputs if v is not None and v.name in made] for n in exported.nodes
    }
    by_name = {w.name: w for w in works}
    owner = {w.name: node for w in works if w.macs and (node := _who(w.name, ran, made, fed, by_name))}
    owner |= {w.name: w.name for w in works if not w.macs and any(r.name == w.name for r in ran)}
    taken: dict[str, list[Work]] = defaultdict(list)
    for work, node in owner.items():
        taken[node].append(by_name[work])
    out, last = [], ""
    for r in ran:
        own = taken.get(r.name, [])
        last = (
            layer_of(r.name) or last
        )  # a fused node without a path stands in the layer of the one before it
        precision = next((w.precision for w in own if w.macs), "")
        out.append(
            replace(
                r,
                layer=last,
                macs=sum(w.macs for w in own),
                bytes=sum(w.bytes for w in own),
                precision=precision,
            )
        )
    left = sum(w.macs for w in works if w.macs and w.name not in owner)
    return (
        (*out, Ran(name=UNTAKEN, op=UNTAKEN, layer=UNTAKEN, us=0.0, macs=left, bytes=0, precision=""))
        if left
        else tuple(out)
    )


def _who(
    work: str, ran: Sequence[Ran], made: dict[str, str], fed: dict[str, list[str]], by_name: dict[str, Work]
) -> str | None:
    """The node that ran for an exported one: of its name, of a name that continues it, or renamed after an
    output further down its chain.
    """
    names = {r.name for r in ran}
    if work in names:
        return work
    longer = [
        n
        for n in names
        if n.startswith(work) and not n[len(work)].isalnum() and n[len(work) : len(work) + 2] != "_1"
    ]
    if longer and (exact := min(longer, key=len)):
        return exact
    for (
        name
    ) in names:  # "TENSOR_nchwc": a convolution and what was fused to its end, called after the last output
        node = made.get(re.sub(r"_(nchwc|token_\d+)$", "", name)) or made.get(name)
        for _ in range(4):
            if node == work:
                return name
            before = [n for n in fed.get(node or "", []) if n in by_name]
            node = before[0] if before else None
    return None


def layer_of(name: str) -> str:
    """ "/layers.3/attention/MatMul" or "layers.3.qkv" → "layers.3": the path to the first numbered part, else
    the first part; "" of no path.
    """
    parts_of = [p for p in name.split("/") if p]
    if name.startswith("/") and parts_of:
        dotted = ".".join(parts_of)
        found = re.match(r"(?:[a-z_]\w*\.)*?[A-Za-z_]\w*\.\d+(?=\.|$)", dotted)
        return found.group(0) if found else parts_of[0]
    return ""


def groups(nodes: Sequence[Ran], key: Callable[[Ran], str], here: Ceilings, cold: bool) -> tuple[Group, ...]:
    """Nodes by kernel or layer, the dearest first."""
    whole = sum(n.us for n in nodes) or 1.0
    found: dict[str, list[Ran]] = defaultdict(list)
    for node in nodes:
        found[key(node)].append(node)
    out = []
    for name, members in found.items():
        us, macs, size = (
            sum(n.us for n in members),
            sum(n.macs for n in members),
            sum(n.bytes for n in members),
        )
        least = sum(attainable_seconds(n.macs, n.bytes, n.precision, here, cold) for n in members if n.macs)
        busy = sum(n.us for n in members if n.macs)
        gflops = 2 * macs / us / 1e3 if us else 0.0
        out.append(
            Group(
                name=name,
                times=len(members),
                us=us,
                share=us / whole,
                macs=macs,
                bytes=size,
                gflops=gflops,
                roofline=least * 1e6 / busy if busy and macs else None,
            )
        )
    return tuple(sorted(out, key=lambda g: -g.us))
