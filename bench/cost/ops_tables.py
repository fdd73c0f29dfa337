"""The tables of `gamer bench ops`."""

from __future__ import annotations

from dataclasses import asdict

from ..tables import Record, Sheet, si
from .ops import Group, Ops, Table

COLUMNS = ("times", "µs", "share of time", "multiply-adds", "bytes", "GFLOP/s", "of the roofline")


def sheets(ops: Ops, top: int) -> list[Sheet]:
    out = []
    for t in ops.tables:
        out.append(
            Sheet(f"{t.step}, {t.on}, {t.quant}: by kernel", ("kernel", *COLUMNS), _rows(t.kernels, top))
        )
        out.append(Sheet(f"{t.step}: by layer of the model", ("layer", *COLUMNS), _rows(t.layers, top)))
        if t.fallbacks:
            rows = tuple((f.kernel, f.times, f"{f.us:.0f}", f.why) for f in t.fallbacks)
            out.append(Sheet(f"{t.step}: slower kernels", ("kernel", "times", "µs", "why"), rows))
    return out


def _rows(groups: tuple[Group, ...], top: int) -> tuple[tuple[str | int | None, ...], ...]:
    return tuple(
        (
            g.name,
            g.times,
            f"{g.us:.0f}",
            f"{g.share:.1%}",
            si(g.macs),
            si(g.bytes, "B"),
            f"{g.gflops:.1f}" if g.macs else None,
            _share(g),
        )
        for g in groups[:top]
    )


def _share(g: Group) -> str | None:
    return None if g.roofline is None else f"{g.roofline:.0%}"


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
