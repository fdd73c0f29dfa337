"""The tables of `gamer bench latency`, and its machine-readable rows.

The rows have llama-bench's field names where it has the field.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..published import LATENCY_NOTE, beside
from ..tables import Record, Sheet
from .measure import Latency
from .samples import Row


def sheets(latency: Latency) -> list[Sheet]:
    how = f"{latency.rounds} rounds in {latency.launches} processes"
    title = (
        f"{latency.photos} photos, {latency.backend}, {latency.quant}, {latency.n_threads} threads, "
        f"{latency.device}, {how}"
    )
    searches = [r for r in latency.rows if r.layer != "component"]
    components = [r for r in latency.rows if r.layer == "component"]
    columns = ("p50 ms", "another run, 95 %", "p90", "p95", "p99", "mean", "stddev")
    out = []
    if searches:
        rows = tuple(
            (_layer(r), *_numbers(r), beside(r.layer, latency.refined_by) if not r.step else None)
            for r in searches
        )
        out.append(Sheet(title, ("layer, step", *columns, "paper ms"), rows))
    parity = {m.role: f"{m.parity}, {m.arithmetic or m.quantization}" for m in latency.models}
    rows = tuple((r.step, r.on, *_numbers(r), _speed(r), parity.get(r.role, "")) for r in components)
    return [
        *out,
        Sheet(
            "Components" if searches else f"Components: {title}",
            ("component", "on", *columns, "GMAC/s", "parity"),
            rows,
        ),
    ]


def by_threads(runs: Sequence[Latency]) -> Sheet:
    """The medians of runs that differ in their number of threads, and the number with the least."""
    columns = [f"{run.n_threads} thread{'s' * (run.n_threads > 1)}, p50 ms" for run in runs]
    rows = []
    for row in runs[0].rows:
        same = [next((r for r in run.rows if (r.name, r.on) == (row.name, row.on)), None) for run in runs]
        medians = [(r.p50_ns, run.n_threads) for r, run in zip(same, runs, strict=True) if r is not None]
        shown = [None if r is None else f"{r.p50_ns / 1e6:.3f}" for r in same]
        rows.append((row.step if row.layer == "component" else row.name, row.on, *shown, min(medians)[1]))
    first = runs[0]
    title = f"{first.bundle}, {first.backend}, {first.device}: by threads per model"
    return Sheet(title, ("what", "on", *columns, "fastest with"), tuple(rows))


def _layer(r: Row) -> str:
    return f"· {r.step}" if r.step else r.layer


def _numbers(r: Row) -> tuple[str, ...]:
    values = (r.p90_ns, r.p95_ns, r.p99_ns, r.avg_ns, r.stddev_ns)
    return (
        f"{r.p50_ns / 1e6:.3f}",
        f"{r.p50_low_ns / 1e6:.3f} … {r.p50_high_ns / 1e6:.3f}",
        *(f"{v / 1e6:.3f}" for v in values),
    )


def _speed(r: Row) -> str:
    return f"{r.macs / r.p50_ns:.1f}" if r.macs else ""


def notes(latency: Latency) -> list[str]:
    out = [f"Peak memory of the largest process {latency.peak_rss_mb} MB."]
    if latency.cold:
        c = latency.cold
        out.append(
            f"Cold start, {c.processes} fresh processes: {c.all_ms} ms to the first answer (interpreter "
            f"{c.start_ms}, imports {c.import_ms}, opening {c.open_ms}, first search {c.first_ms}; the "
            f"second search {c.second_ms}); peak memory {c.peak_rss_mb} MB. The command `gamer search`: "
            f"{c.command_ms} ms."
        )
    if latency.overhead:
        o = latency.overhead
        out.append(
            f"Measuring costs, over {o.pairs} interleaved searches of each kind: the trace {o.trace:+.2%} "
            f"({o.trace_low:+.2%} … {o.trace_high:+.2%}), the stopwatch of the steps {o.stopwatch:+.2%} "
            f"({o.stopwatch_low:+.2%} … {o.stopwatch_high:+.2%})."
        )
    if not latency.album:
        return out
    return [*out, *longer_than_parents(latency.rows), LATENCY_NOTE]


def longer_than_parents(rows: Sequence[Row]) -> list[str]:
    """A line for each step whose median exceeds its layer's, with the reason.

    Both are times of the same searches. Only a step that some searches do not take has a median over other
    searches than its layer's.
    """
    layers = {r.layer: r for r in rows if not r.step}
    return [
        f"{r.name} has a longer median ({r.p50_ns / 1e6:.3f} ms) than {r.layer} as a whole "
        f"({layers[r.layer].p50_ns / 1e6:.3f} ms): {r.n} of {layers[r.layer].n} searches took this step, and "
        "its median is over these alone."
        for r in rows
        if r.step and r.layer in layers and r.p50_ns > layers[r.layer].p50_ns
    ]


def records(latency: Latency) -> list[Record]:
    """One record for each row, with what it ran on and its raw samples."""
    models = {m.role: m for m in latency.models}
    out: list[Record] = []
    for r in latency.rows:
        m = models.get(r.role)
        record: dict[str, object] = {
            "build_commit": latency.machine.build_commit,
            "cpu_info": latency.device,
            "model_type": latency.recipe,
            "backend": latency.backend,
            "n_threads": latency.n_threads,
            "test_time": latency.when,
            "layer": r.layer,
            "step": r.step,
            "on": r.on,
            "n": r.n,
            "avg_ns": r.avg_ns,
            "stddev_ns": r.stddev_ns,
            "p50_ns": r.p50_ns,
            "p50_low_ns": r.p50_low_ns,
            "p50_high_ns": r.p50_high_ns,
            "p90_ns": r.p90_ns,
            "p95_ns": r.p95_ns,
            "p99_ns": r.p99_ns,
            "macs": r.macs,
            "quantization": m.quantization if m else latency.quant,
            "model_sha256": m.model_sha256 if m else None,
            "model_size": m.model_size if m else None,
            "model_n_params": m.model_n_params if m else None,
            "thermal": latency.thermal,
            "frequency_mhz": latency.after.frequency_mhz,
        }
        out.append(record | {"samples_ns": list(r.samples_ns)})
    return out
