"""Reads measurements that the demo apps exported: the rows of `bench latency`, from a phone.

The file is not trusted, so its fields are checked as they are read.

    {"schema": "gamer-latency/1", "device": "Pixel 8", "os": "Android 16", "backend": "onnx",
     "bundle_sha256": "…", "thermal": "nominal",
     "rows": [{"layer": "component", "step": "llm_decode", "n": 20, "avg_ns": 1.9e7, "stddev_ns": 2e5,
               "p50_ns": 1.9e7, "p90_ns": 2e7, "samples_ns": [19000000]}]}

`device` is compared with the names of the profiles; `thermal` may be null; a row's "launches" (how many of
its samples each process took, in order) may be missing; other fields of a row or of the file are ignored. A
whole layer has "cube", "kdtree", "refine", "graph", "vectors", "all" or "search" as "layer" and step ""; a
component has layer "component" and its name as the step.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from gamer.runtime.errors import RuntimeFailure

MAX_BYTES, MAX_ROWS, MAX_SAMPLES = 64 << 20, 10_000, 1_000_000


@dataclass(frozen=True)
class ImportedRow:
    layer: str
    step: str
    n: int
    avg_ns: float
    stddev_ns: float
    p50_ns: float
    p90_ns: float
    samples_ns: tuple[int, ...]
    launches: tuple[int, ...] = ()


@dataclass(frozen=True)
class Imported:
    device: str
    os: str
    backend: str
    bundle_sha256: str
    thermal: str | None
    rows: tuple[ImportedRow, ...]


def read(path: Path) -> Imported:
    """Reads an exported file. Raises RuntimeFailure naming the first field that is invalid."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RuntimeFailure(
                f"{path}: {path.stat().st_size} bytes are no measurements: at most {MAX_BYTES}"
            )
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeFailure(
            f"{path}: not JSON ({str(error)[:80]}): export it again from the app, or from `gamer bench "
            "latency -o`"
        ) from None
    try:
        return _imported(raw)
    except ValueError as error:
        raise RuntimeFailure(f"{path}: {error}: see the schema in bench/README.md") from None


def _imported(raw: object) -> Imported:
    if not isinstance(raw, dict) or not isinstance(raw.get("rows"), list) or len(raw["rows"]) > MAX_ROWS:
        raise ValueError(f"an object with at most {MAX_ROWS} rows is wanted")
    device, system, backend, sha256 = (
        _text(raw, name) for name in ("device", "os", "backend", "bundle_sha256")
    )
    thermal = raw.get("thermal")
    if thermal is not None and not isinstance(thermal, str):
        raise ValueError("thermal: text or null is wanted")
    return Imported(
        device, system, backend, sha256, thermal, tuple(_row(row, at) for at, row in enumerate(raw["rows"]))
    )


def _text(raw: dict[str, object], name: str) -> str:
    value = raw.get(name)
    if not isinstance(value, str) or len(value) > 500:
        raise ValueError(f"{name}: text is wanted")
    return value


def _row(raw: object, at: int) -> ImportedRow:
    if not isinstance(raw, dict):
        raise ValueError(f"rows[{at}]: an object is wanted")
    n, mean, spread, p50, p90 = (
        _number(raw, name, at) for name in ("n", "avg_ns", "stddev_ns", "p50_ns", "p90_ns")
    )
    samples = raw.get("samples_ns")
    if (
        not isinstance(samples, list)
        or len(samples) > MAX_SAMPLES
        or any(type(s) is not int or s < 0 for s in samples)
    ):
        raise ValueError(f"rows[{at}].samples_ns: whole numbers of nanoseconds are wanted")
    launches = raw.get("launches", [])
    if (
        not isinstance(launches, list)
        or any(type(c) is not int or c < 0 for c in launches)
        or (launches and sum(launches) != len(samples))
    ):
        raise ValueError(f"rows[{at}].launches: how many of samples_ns each process took is wanted")
    return ImportedRow(
        layer=_text(raw, "layer"),
        step=_text(raw, "step"),
        n=int(n),
        avg_ns=mean,
        stddev_ns=spread,
        p50_ns=p50,
        p90_ns=p90,
        samples_ns=tuple(samples),
        launches=tuple(launches),
    )


def _number(raw: dict[str, object], name: str, at: int) -> float:
    value = raw.get(name)
    if (
        not isinstance(value, (int, float))
        or isinstance(value, bool)
        or not math.isfinite(value)
        or value < 0
    ):
        raise ValueError(f"rows[{at}].{name}: a number is wanted")
    return float(value)
