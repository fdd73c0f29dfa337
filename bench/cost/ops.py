"""The operators of an artifact: time by ONNX Runtime's profiler, multiply-adds, share of the roofline.

The profiler names the nodes that ran, after fusion; the counter (counting.py) names the nodes that were
exported. A node that ran is assigned the work of every exported product whose name it has or continues
("…/MatMul/MatMulScaleFusion/" ran for "…/MatMul"), or after whose output it was named. Work that was assigned
to no node is listed in a row of its own, so that the sum is the graph's. Kernels that are slower than
necessary are named (fallbacks.py). Profiling itself costs some microseconds a node: a note below the tables
says how much.
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
from .component_runs import ComponentRun, runs_of
from .counting import Work
from .fallbacks import ExecutedNode, Fallback
from .nodes import Graph
from .roofline import CACHE, attainable_seconds

UNTAKEN = "(exported, and no node that ran took it)"
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Group:
    """The nodes of one kernel, or of one layer.

    `us`: microseconds of a run, summed over the nodes. `share`: of the time of all nodes. `roofline`:
    attainable over measured time of the nodes with multiply-adds, None without any.
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
    """The measurements of one artifact on one input.

    `profiled_us`: a run with the profiler; `plain_us`: a run without it. `attainable_us`: the time that the
    roofline allows, with every exported operator computed by itself. `bytes`: weights and activations, as
    counting.py defines them.
    """

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
    nodes: tuple[ExecutedNode, ...]
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
    """An ONNX Runtime session with its profiler on.

    Like the runtime's session it has `native`, for callers that bind memory themselves.
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
    """A bundle's models with profiled sessions. `folder`: where the profiles are written."""

    folder: Path

    def session(self, role: str) -> Session:
        if role not in self._sessions:
            artifact = self.manifest.artifact(role, self.backend)
            self._sessions[role] = _Profiled(
                mf.check_one(self.bundle, artifact), artifact, self.threads, self.folder
            )
        return self._sessions[role]


def measure(bundle: Path, steps: Sequence[str], threads: int, runs: int, progress: Progress) -> Ops:
    """Profiles every part of the bundle that has a graph, or those named in `steps`.

    Raises RuntimeFailure for a step that the bundle lacks.
    """
    known = [p.step for p in runs_of(Models.open(bundle, "onnx", threads, allow_random=True)) if p.role]
    if unknown := set(steps) - set(known):
        raise RuntimeFailure(f"unknown component {min(unknown)!r}; choose from: {', '.join(known)}")
    machine_ceilings = ceilings.measure(threads, min(runs, 4), progress)
    tables = tuple(_table(bundle, step, threads, runs, machine_ceilings, progress) for step in steps or known)
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    return Ops(
        machine=machine.read(),
        bundle=bundle.name,
        n_threads=threads,
        ceilings=machine_ceilings,
        tables=tables,
        executorch=_executorch(bundle),
        when=when,
    )


def _executorch(bundle: Path) -> str:
    """Why operators of .pte files are not timed, in one line; "" for a bundle without .pte files."""
    if not any(a.target == "executorch" for a in mf.read(bundle).artifacts):
        return ""
    try:
        from gamer.export.executorch import profiling
    except ImportError as error:
        return f"ExecuTorch: {error.name} is not installed, no operator is timed."
    return profiling.etdump_support(bundle)


def _table(
    bundle: Path, step: str, threads: int, runs: int, machine_ceilings: Ceilings, progress: Progress
) -> Table:
    progress(f"{step}: profiling")
    models = Models.open(bundle, "onnx", threads, allow_random=True)
    plain_us = _median_us(_part(models, step).run, runs)
    artifact = models.manifest.artifact(_part(models, step).role, "onnx")
    with tempfile.TemporaryDirectory(prefix="gamer-ops-") as folder:
        profiled = _ProfiledModels(bundle, models.manifest, "onnx", threads)
        profiled.folder = Path(folder)
        part = _part(profiled, step)
        for _ in range(runs + 2):
            part.run()
        events = json.loads(Path(getattr(profiled.session(part.role), "native").end_profiling()).read_text())  # noqa: B009
    exported = graph.read(mf.check_one(bundle, artifact), part.dims(), part.past)
    profiled_us, ran = read_profile(events, runs)
    works = counting.count(exported)
    nodes, cold = assign(ran, works, exported), sum(w.weight_bytes for w in works) > CACHE
    kernels, layers = (
        groups(nodes, key, machine_ceilings, cold) for key in (lambda n: n.op, lambda n: n.layer)
    )
    attainable_us = (
        sum(attainable_seconds(w.macs, w.bytes, w.precision, machine_ceilings, cold) for w in works) * 1e6
    )
    head = (step, part.on, part.role, artifact.quant, models.manifest.component(part.role).parameters)
    counts = (sum(w.macs for w in works), sum(w.bytes for w in works), attainable_us)
    return Table(
        *head, *counts, runs, profiled_us, plain_us, kernels, layers, nodes, fallbacks.find(nodes, exported)
    )


def _part(models: Models, step: str) -> ComponentRun:
    return next(p for p in runs_of(models) if p.step == step)


def _median_us(run: Callable[[], object], runs: int) -> float:
    took = []
    for _ in range(runs + 2):
        begin = time.perf_counter()
        run()
        took.append(time.perf_counter() - begin)
    return float(np.median(took[2:]) * 1e6)


def read_profile(events: Iterable[dict[str, Any]], runs: int) -> tuple[float, list[ExecutedNode]]:
    """(microseconds of a run, the nodes that ran), medians over the last `runs` runs of a profile.

    A node that ran several times in a run counts their sum.
    """
    events = list(events)
    model_runs = [(e["ts"], e["ts"] + e["dur"], e["dur"]) for e in events if e.get("name") == "model_run"][
        -runs:
    ]
    took: dict[tuple[str, str], list[list[float]]] = defaultdict(lambda: [[] for _ in model_runs])
    for e in events:
        name = str(e.get("name", ""))
        if e.get("cat") != "Node" or not name.endswith("_kernel_time"):
            continue
        at = next((i for i, (begin, end, _) in enumerate(model_runs) if begin <= e["ts"] <= end), None)
        if at is not None:
            took[name.removesuffix("_kernel_time"), str(e["args"]["op_name"])][at].append(float(e["dur"]))
    nodes = [
        ExecutedNode(
            name=name,
            op=op,
            layer="",
            us=float(np.median([sum(durations) for durations in per_run])),
            macs=0,
            bytes=0,
            precision="",
        )
        for (name, op), per_run in took.items()
    ]
    return float(np.median([d for _, _, d in model_runs])) if model_runs else 0.0, nodes


def assign(ran: Sequence[ExecutedNode], works: Sequence[Work], exported: Graph) -> tuple[ExecutedNode, ...]:
    """The nodes that ran, with their layers and the work of the exported nodes that they stand for.

    If products were assigned to no node, a last entry named UNTAKEN has their multiply-adds.
    """
    producers = {v.name: n.name for n in exported.nodes for v in n.outputs if v is not None}
    predecessors = {
        n.name: [producers[v.name] for v in n.inputs if v is not None and v.name in producers]
        for n in exported.nodes
    }
    by_name = {w.name: w for w in works}
    owner = {
        w.name: node
        for w in works
        if w.macs and (node := _node_that_ran(w.name, ran, producers, predecessors, by_name))
    }
    owner |= {w.name: w.name for w in works if not w.macs and any(r.name == w.name for r in ran)}
    works_of: dict[str, list[Work]] = defaultdict(list)
    for work, node in owner.items():
        works_of[node].append(by_name[work])
    out, layer = [], ""
    for r in ran:
        node_works = works_of.get(r.name, [])
        layer = layer_of(r.name) or layer  # a fused node without a path gets the layer of the node before it
        precision = next((w.precision for w in node_works if w.macs), "")
        out.append(
            replace(
                r,
                layer=layer,
                macs=sum(w.macs for w in node_works),
                bytes=sum(w.bytes for w in node_works),
                precision=precision,
            )
        )
    unassigned = sum(w.macs for w in works if w.macs and w.name not in owner)
    return (
        (
            *out,
            ExecutedNode(
                name=UNTAKEN, op=UNTAKEN, layer=UNTAKEN, us=0.0, macs=unassigned, bytes=0, precision=""
            ),
        )
        if unassigned
        else tuple(out)
    )


def _node_that_ran(
    work: str,
    ran: Sequence[ExecutedNode],
    producers: dict[str, str],
    predecessors: dict[str, list[str]],
    by_name: dict[str, Work],
) -> str | None:
    """The name of the node that ran for an exported one, None if there is none.

    It has the exported name, or one that continues it, or one made from an output further down its chain.
    """
    names = {r.name for r in ran}
    if work in names:
        return work
    extended = [
        n
        for n in names
        if n.startswith(work) and not n[len(work)].isalnum() and n[len(work) : len(work) + 2] != "_1"
    ]
    if extended and (shortest := min(extended, key=len)):
        return shortest
    # "TENSOR_nchwc" is a convolution with operators fused to its end, named after the last output.
    for name in names:
        node = producers.get(re.sub(r"_(nchwc|token_\d+)$", "", name)) or producers.get(name)
        for _ in range(4):
            if node == work:
                return name
            preceding = [n for n in predecessors.get(node or "", []) if n in by_name]
            node = preceding[0] if preceding else None
    return None


def layer_of(name: str) -> str:
    """ "/layers.3/attention/MatMul" or "/layers.3.qkv/MatMulNBits" → "layers.3".

    The path to the first numbered part, or the first part if none is numbered; "" for a name without a path.
    """
    parts_of = [p for p in name.split("/") if p]
    if name.startswith("/") and parts_of:
        dotted = ".".join(parts_of)
        match = re.match(r"(?:[a-z_]\w*\.)*?[A-Za-z_]\w*\.\d+(?=\.|$)", dotted)
        return match.group(0) if match else parts_of[0]
    return ""


def groups(
    nodes: Sequence[ExecutedNode], key: Callable[[ExecutedNode], str], here: Ceilings, cold: bool
) -> tuple[Group, ...]:
    """The nodes grouped by kernel or by layer (`key`), the slowest group first."""
    total_us = sum(n.us for n in nodes) or 1.0
    by_key: dict[str, list[ExecutedNode]] = defaultdict(list)
    for node in nodes:
        by_key[key(node)].append(node)
    out = []
    for name, members in by_key.items():
        us, macs, size = (
            sum(n.us for n in members),
            sum(n.macs for n in members),
            sum(n.bytes for n in members),
        )
        attainable = sum(
            attainable_seconds(n.macs, n.bytes, n.precision, here, cold) for n in members if n.macs
        )
        product_us = sum(n.us for n in members if n.macs)
        gflops = 2 * macs / us / 1e3 if us else 0.0
        out.append(
            Group(
                name=name,
                times=len(members),
                us=us,
                share=us / total_us,
                macs=macs,
                bytes=size,
                gflops=gflops,
                roofline=attainable * 1e6 / product_us if product_us and macs else None,
            )
        )
    return tuple(sorted(out, key=lambda g: -g.us))
