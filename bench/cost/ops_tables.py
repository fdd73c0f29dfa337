"""The tables of `gamer bench ops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from ..tables import Record, Sheet, sheet, si
from .fallbacks import Fallback
from .ops import Group, Ops, Table

FALLBACKS: dict[str, Callable[[Fallback], str | int]] = {
    "kernel": lambda one: one.kernel,
    "times": lambda one: one.times,
    "µs": lambda one: f"{one.us:.0f}",
    "why": lambda one: one.why,
}


def sheets(ops: Ops, top: int) -> list[Sheet]:
    out = []
    for t in ops.tables:
        out.append(_groups(f"{t.step}, {t.on}, {t.quant}: by kernel", "kernel", t.kernels[:top]))
        out.append(_groups(f"{t.step}: by layer of the model", "layer", t.layers[:top]))
        if t.fallbacks:
            out.append(sheet(f"{t.step}: slower kernels", t.fallbacks, FALLBACKS))
    return out


def _groups(title: str, what: str, groups: Sequence[Group]) -> Sheet:
    columns: dict[str, Callable[[Group], str | int | None]] = {
        what: lambda group: group.name,
        "times": lambda group: group.times,
        "µs": lambda group: f"{group.us:.0f}",
        "share of time": lambda group: f"{group.share:.1%}",
        "multiply-adds": lambda group: si(group.macs),
        "bytes": lambda group: si(group.bytes, "B"),
        "GFLOP/s": lambda group: f"{group.gflops:.1f}" if group.macs else None,
        "of the roofline": lambda group: None if group.roofline is None else f"{group.roofline:.0%}",
    }
    return sheet(title, groups, columns)


def notes(ops: Ops) -> list[str]:
    slower = ", ".join(f"{t.step} {_slower(t):+.0%}" for t in ops.tables)
    out = [f"What the profiler itself costs (a profiled run beside a plain one, medians): {slower}."]
    out.append(
        "The roofline is that of this machine's own ceilings: the best product of each precision, and "
        "bytes from the caches, or for weights that do not fit them from memory."
    )
    return [*out, *([ops.executorch] if ops.executorch else [])]


def _slower(t: Table) -> float:
    return t.profiled_us / t.plain_us - 1 if t.plain_us else 0.0


def records(ops: Ops) -> list[Record]:
    """One machine-readable row for each kernel of each artifact."""
    common = {
        "build_commit": ops.machine.build_commit,
        "cpu_info": ops.machine.cpu_info,
        "bundle": ops.bundle,
        "n_threads": ops.n_threads,
    }
    return [
        common | {"component": t.step, "on": t.on, "quantization": t.quant} | asdict(g)
        for t in ops.tables
        for g in t.kernels
    ]
