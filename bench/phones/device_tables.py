"""The tables of `gamer bench device`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..latency.imported import Operator
from ..tables import Sheet, sheet
from .budget import Choice
from .device import Checked, Forecast, Outlook, Task
from .measured import Measured, within
from .measured import notes as measurements

OPERATORS = 12  # rows of a phone's operators
WITHIN = 0.30  # relative error up to which a prediction counts as right


def sheets(forecast: Forecast, choices: Sequence[Choice], measured: Sequence[Measured] = ()) -> list[Sheet]:
    out = [
        _ceilings(forecast),
        _checked(forecast),
        _tasks(forecast),
        _outlooks(forecast),
        *_operators(measured),
    ]
    return [_choices(choices), *out] if choices else out


def _ceilings(forecast: Forecast) -> Sheet:
    c = forecast.ceilings
    rows = []
    for p in dict.fromkeys(r.precision for r in c.rates):
        rates = [r for r in c.rates if r.precision == p]
        data_sheet = f"{c.theoretical_gmacs[p]:.0f}" if p in c.theoretical_gmacs else "unknown"
        label = f"{p} product of {', '.join(str(r.rows) for r in rates)} rows, GMAC/s"
        rows.append((label, ", ".join(f"{r.gmacs:.0f}" for r in rates), data_sheet))
    rows += [
        ("depthwise convolution, GMAC/s", f"{c.depthwise_gmacs:.1f}", ""),
        ("stream, GB/s", f"{c.stream_gbs:.1f}", ""),
        ("within the caches, GB/s", f"{c.cached_gbs:.1f}", ""),
        ("exponentials, G/s", f"{c.arithmetic_gops:.1f}", ""),
        ("from operator to operator, µs; a call, µs", f"{c.dispatch_us:.1f}; {c.call_us:.0f}", ""),
    ]
    return Sheet(
        f"Ceilings of this machine ({forecast.machine.cpu_info}, {c.threads} threads)",
        ("what", "measured", "data sheet"),
        tuple(rows),
    )


def _checked(forecast: Forecast) -> Sheet:
    columns: dict[str, Callable[[Checked], str]] = {
        "bundle": lambda c: c.bundle,
        "component": lambda c: c.component,
        "on": lambda c: c.on,
        "measured ms (best)": lambda c: f"{c.measured_ms:.2f}",
        "by ceilings": lambda c: f"{c.predicted_ms:.2f}",
        "error": lambda c: f"{c.error:+.0%}",
        "calibrated on the others": lambda c: f"{c.calibrated_ms:.2f}",
        "error ": lambda c: f"{c.calibrated_error:+.0%}",
        "waits for": lambda c: c.bound,
        "why beyond 30 %": lambda c: why(c) if abs(c.error) > WITHIN else "",
    }
    return sheet("This machine, predicted from its own ceilings", forecast.checked, columns)


def why(c: Checked) -> str:
    """The likeliest reason for an error, from what the prediction leaves out."""
    if c.error > 0:
        return "operators that the runtime fuses are counted apart"
    if c.bound == "dispatch":
        return "a run this short is mostly the call"
    return (
        "kernels of small or odd shapes stay below the measured products; on a busy machine also waiting "
        "for the other thread"
    )


def _tasks(forecast: Forecast) -> Sheet:
    columns: dict[str, Callable[[Task], str]] = {
        "device": lambda task: task.device,
        "bundle": lambda task: task.bundle,
        "task": lambda task: task.task,
        "ms": lambda task: f"{task.cpu_ms:.0f}",
        "95 %": lambda task: interval(task.cpu_low_ms, task.cpu_high_ms),
        "energy": lambda task: task.energy,
        "J": lambda task: f"{task.joules:.2f}",
        "memory MB": lambda task: f"{task.memory_mb:.0f}",
        "an app may": lambda task: "yes" if task.fits else "no",
    }
    return sheet("Phones, on their processor", forecast.tasks, columns)


def interval(low: float | None, high: float | None) -> str:
    """Milliseconds as "12 … 34"; "" where there is no interval."""
    if low is None or high is None:
        return ""
    return " … ".join(f"{ms:.0f}" if ms >= 100 else f"{ms:.2g}" for ms in (low, high))


def _outlooks(forecast: Forecast) -> Sheet:
    columns: dict[str, Callable[[Outlook], str | None]] = {
        "device": lambda o: o.device,
        "bundle": lambda o: o.bundle,
        "component": lambda o: o.component,
        "on": lambda o: o.on,
        "CPU ms": lambda o: f"{o.cpu_ms:.2f}",
        "95 %": lambda o: interval(o.cpu_low_ms, o.cpu_high_ms),
    }
    if any(o.measured_ms is not None for o in forecast.outlooks):
        columns |= _beside()
    columns |= {
        "GPU ms, at best": lambda o: _milliseconds(o.gpu_ms),
        "NPU ms, at best": lambda o: _milliseconds(o.npu_ms),
        "energy": lambda o: o.energy,
    }
    return sheet("Phones by component", forecast.outlooks, columns)


def _beside() -> dict[str, Callable[[Outlook], str | None]]:
    """What measurements add."""
    return {
        "measured ms": lambda o: _milliseconds(o.measured_ms),
        "off": lambda o: (
            None if o.measured_ms is None or o.measured_on else f"{o.cpu_ms / o.measured_ms - 1:+.0%}"
        ),
        "in 95 %": lambda o: {True: "yes", False: "no", None: None}[within(o)],
        "refined ms": lambda o: _milliseconds(o.refined_ms),
        "95 % ": lambda o: interval(o.refined_low_ms, o.refined_high_ms),
        "refined by": lambda o: o.refined_by,
    }


def _milliseconds(ms: float | None) -> str | None:
    return None if ms is None else f"{ms:.2f}"


def _choices(choices: Sequence[Choice]) -> Sheet:
    columns: dict[str, Callable[[Choice], str]] = {
        "device": lambda c: c.device,
        "fits": lambda c: "yes" if c.fits else f"no: {c.why}",
        "bundle": lambda c: c.bundle,
        "task": lambda c: c.task,
        "loss": lambda c: f"{c.loss:.4f}",
        "ms": lambda c: f"{c.cpu_ms:.0f}",
        "95 %": lambda c: interval(c.cpu_low_ms, c.cpu_high_ms),
        "memory MB": lambda c: f"{c.memory_mb:.0f}",
    }
    return sheet("Within the budget, smallest loss first", choices, columns)


def _operators(measured: Sequence[Measured]) -> Iterator[Sheet]:
    """The dearest kinds of operators of each measurement that has them."""
    columns: dict[str, Callable[[Operator], str]] = {
        "component": lambda row: row.step,
        "operator": lambda row: row.operator,
        "times": lambda row: f"{row.times}",
        "ms": lambda row: f"{row.ns / 1e6:.3f}",
    }
    for m in measured:
        if dearest := sorted(m.run.operators, key=lambda row: -row.ns)[:OPERATORS]:
            yield sheet(f"Operators on {m.run.device}, the dearest first", dearest, columns)


def notes(forecast: Forecast, measured: Sequence[Measured]) -> list[str]:
    inside = (
        sum(abs(c.error) <= WITHIN for c in forecast.checked),
        sum(abs(c.calibrated_error) <= WITHIN for c in forecast.checked),
    )
    factors = ", ".join(
        f"{name} {value:.2f}"
        for name, value in zip(("products", "other operators", "dispatch"), forecast.factors, strict=True)
    )
    out = [
        f"Of {len(forecast.checked)} components {inside[0]} are within 30 % by ceilings alone, {inside[1]} "
        f"calibrated on the others. Factors: {factors}.",
        "A phone's figure assumes that its kernels reach the same share of the data sheet's peak as this "
        "machine's, draw 60 % of its bandwidth, and that the phone stays cool; energy is time × an assumed "
        "sustained power (A below 0.1 J, B 1 J, C 10 J). GPU and NPU: no faster than this.",
    ]
    if forecast.ratios is not None:
        low, high = forecast.ratios
        out.append(
            f"95 % beside a phone's milliseconds: {low:.2f} to {high:.2f} times the prediction, the interval "
            f"of measured over predicted time of this machine's {len(forecast.checked)} components, each "
            "calibrated on the others (Student's t on logarithms). It holds the errors of the method seen "
            "here; what the data sheets or the assumption above get wrong about a phone comes on top."
        )
    return [*out, *measurements(forecast.outlooks, measured)]
