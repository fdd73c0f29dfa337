"""The tables of `gamer bench device`."""

from __future__ import annotations

from collections.abc import Sequence

from ..latency.imported import Imported
from ..tables import Sheet
from .budget import Choice
from .device import Checked, Forecast, Outlook

WITHIN = 0.30  # relative error up to which a prediction counts as right


def sheets(forecast: Forecast, choices: Sequence[Choice]) -> list[Sheet]:
    out = [_ceilings(forecast), _checked(forecast), _tasks(forecast), _outlooks(forecast)]
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
    columns = (
        "bundle",
        "component",
        "on",
        "measured ms (best)",
        "by ceilings",
        "error",
        "calibrated on the others",
        "error ",
        "waits for",
        "why beyond 30 %",
    )
    return Sheet(
        "This machine, predicted from its own ceilings", columns, tuple(_check(c) for c in forecast.checked)
    )


def _check(c: Checked) -> tuple[str, ...]:
    times = (
        f"{c.measured_ms:.2f}",
        f"{c.predicted_ms:.2f}",
        f"{c.error:+.0%}",
        f"{c.calibrated_ms:.2f}",
        f"{c.calibrated_error:+.0%}",
    )
    return c.bundle, c.component, c.on, *times, c.bound, why(c) if abs(c.error) > WITHIN else ""


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
    rows = tuple(
        (
            t.device,
            t.bundle,
            t.task,
            f"{t.cpu_ms:.0f}",
            interval(t.cpu_low_ms, t.cpu_high_ms),
            t.energy,
            f"{t.joules:.2f}",
            f"{t.memory_mb:.0f}",
            "yes" if t.fits else "no",
        )
        for t in forecast.tasks
    )
    return Sheet(
        "Phones, on their processor",
        ("device", "bundle", "task", "ms", "95 %", "energy", "J", "memory MB", "an app may"),
        rows,
    )


def interval(low: float | None, high: float | None) -> str:
    """Milliseconds as "12 … 34"; "" where there is no interval."""
    if low is None or high is None:
        return ""
    return " … ".join(f"{ms:.0f}" if ms >= 100 else f"{ms:.2g}" for ms in (low, high))


def _outlooks(forecast: Forecast) -> Sheet:
    columns = (
        "device",
        "bundle",
        "component",
        "on",
        "CPU ms",
        "95 %",
        "measured ms",
        "off",
        "GPU ms, at best",
        "NPU ms, at best",
        "energy",
    )
    return Sheet("Phones by component", columns, tuple(_outlook(o) for o in forecast.outlooks))


def _outlook(o: Outlook) -> tuple[str | None, ...]:
    measured = (
        (None, None)
        if o.measured_ms is None
        else (f"{o.measured_ms:.2f}", f"{o.cpu_ms / o.measured_ms - 1:+.0%}")
    )
    return (
        o.device,
        o.bundle,
        o.component,
        o.on,
        f"{o.cpu_ms:.2f}",
        interval(o.cpu_low_ms, o.cpu_high_ms),
        *measured,
        *(None if x is None else f"{x:.2f}" for x in (o.gpu_ms, o.npu_ms)),
        o.energy,
    )


def _choices(choices: Sequence[Choice]) -> Sheet:
    rows = tuple(
        (
            c.device,
            "yes" if c.fits else f"no: {c.why}",
            c.bundle,
            c.task,
            f"{c.loss:.4f}",
            f"{c.cpu_ms:.0f}",
            interval(c.cpu_low_ms, c.cpu_high_ms),
            f"{c.memory_mb:.0f}",
        )
        for c in choices
    )
    return Sheet(
        "Within the budget, smallest loss first",
        ("device", "fits", "bundle", "task", "loss", "ms", "95 %", "memory MB"),
        rows,
    )


def notes(forecast: Forecast, measured: Sequence[Imported]) -> list[str]:
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
    unknown = [
        m.device for m in measured if m.device.lower() not in {o.device.lower() for o in forecast.outlooks}
    ]
    return [
        *out,
        *([f"Imported from devices without a profile here: {', '.join(unknown)}."] if unknown else []),
    ]
