"""The README's tables, from result files: components by cost, time and roofline.

Counts and ceilings come from `bench ops`; milliseconds from `bench
latency` of the same bundle if its result is given (medians over rounds), otherwise from the unprofiled runs
of `bench ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gamer.runtime.errors import RuntimeFailure

from ..tables import Sheet, sheet, si
from .result_plots import Document


@dataclass(frozen=True)
class Line:
    """A component's row. `roofline`: attainable over measured time."""

    bundle: str
    component: str
    on: str
    quantization: str
    parameters: int
    macs: int
    bytes: int
    ms: float
    gflops: float
    roofline: float


@dataclass(frozen=True)
class Tables:
    machine: str
    rows: tuple[Line, ...]


def make(documents: Sequence[Document]) -> Tables:
    """Raises RuntimeFailure if there is no result of `bench ops`, or if a file lacks what its kind has."""
    ops = [d for d in documents if "executorch" in d]
    timed = [d for d in documents if "rows" in d and "schema" in d]
    if not ops:
        raise RuntimeFailure(
            "no result of `gamer bench ops` among the files: it holds the counts and the ceilings"
        )
    try:
        lines = tuple(
            _line(d["bundle"], t, _milliseconds(timed, d["bundle"]))
            for d in ops
            for t in d["tables"]
            if t["macs"]
        )
        return Tables(str(ops[0].get("machine", {}).get("cpu_info", "")), lines)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RuntimeFailure(
            f"a result file lacks what its kind has ({type(error).__name__}: {str(error)[:60]}): measure it "
            "again"
        ) from None


def _milliseconds(timed: Sequence[Document], bundle: str) -> dict[tuple[str, str], float]:
    """(component, on) → median of the bundle's latency runs with ONNX Runtime, in milliseconds."""
    runs = [d for d in timed if d["bundle"] == bundle and d["backend"] == "onnx"]
    return {
        (r["step"], r["on"]): float(r["p50_ns"]) / 1e6
        for d in runs
        for r in d["rows"]
        if r["layer"] == "component"
    }


def _line(bundle: str, t: Document, timed: dict[tuple[str, str], float]) -> Line:
    ms = timed.get((t["step"], t["on"]), float(t["plain_us"]) / 1e3)
    return Line(
        bundle=bundle,
        component=t["step"],
        on=t["on"],
        quantization=t["quant"],
        parameters=t["parameters"],
        macs=t["macs"],
        bytes=t["bytes"],
        ms=ms,
        gflops=2 * t["macs"] / ms / 1e6,
        roofline=t["attainable_us"] / 1e3 / ms,
    )


def sheets(tables: Tables) -> list[Sheet]:
    columns: dict[str, Callable[[Line], str]] = {
        "component": lambda line: f"{line.component}, {line.on}",
        "quant": lambda line: line.quantization,
        "parameters": lambda line: f"{line.parameters:,}",
        "multiply-adds": lambda line: si(line.macs),
        "bytes": lambda line: si(line.bytes, "B"),
        "ms": lambda line: f"{line.ms:.2f}",
        "GFLOP/s": lambda line: f"{line.gflops:.1f}",
        "of the roofline": lambda line: f"{line.roofline:.0%}",
    }
    where = f", {tables.machine}" if tables.machine else ""
    return [
        sheet(f"{bundle}{where}", [line for line in tables.rows if line.bundle == bundle], columns)
        for bundle in dict.fromkeys(line.bundle for line in tables.rows)
    ]


NOTE = (
    "Bytes: weights as stored and activations in and out of every exported operator. The roofline: "
    "this machine's own measured ceilings."
)
