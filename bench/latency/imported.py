"""Reads measurements that the demo apps exported: the rows of `bench latency`, from a phone.

The file is not trusted, so its fields are checked as they are read.

    {"schema": "gamer-latency/1", "device": "Pixel 8", "os": "Android 16", "backend": "onnx",
     "bundle_sha256": "…", "thermal": "nominal",
     "rows": [{"layer": "component", "step": "llm_decode", "n": 20, "avg_ns": 1.9e7, "stddev_ns": 2e5,
               "p50_ns": 1.9e7, "p90_ns": 2e7, "samples_ns": [19000000]}]}

`device` is compared with the profiles' names and codes, as are `model` and `codename` if they are there;
`thermal` may be null; a row's "launches" (how many of its samples each process took, in order) may be
missing; other fields of a row or of the file are ignored. A whole layer has "cube", "kdtree", "refine",
"graph", "vectors", "all" or "search" as "layer" and step ""; a component has layer "component" and its name
as the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from gamer.index import json_checked
from gamer.index.json_checked import Between, Items, JsonError, Text, Via, read_as
from gamer.runtime.errors import RuntimeFailure

from .. import machine

MAX_BYTES, MAX_ROWS, MAX_SAMPLES = 64 << 20, 10_000, 1_000_000
# Thermal states in which a phone keeps its speed, by the names of `bench latency` and of the apps.
COOL = (None, "nominal", "none", "light", "fair", "unknown")
# What runs on the processor's cores, as predictions mean it.
PROCESSOR = ("onnx", "onnx:xnnpack", "executorch", "coreml:cpu_only", "llama-bench: CPU", "AI Hub: CPU")
_Text = Annotated[str, Text(500)]
_Number = Annotated[float, Between(0)]
_Whole = Annotated[int, Between(0)]


@dataclass(frozen=True)
class ImportedRow:
    """`tokens`: how many the row is for, where its source says; `first_ns`: the run that opened it."""

    layer: _Text
    step: _Text
    n: Annotated[int, Via(_Number, int)]
    avg_ns: _Number
    stddev_ns: _Number
    p50_ns: _Number
    p90_ns: _Number
    samples_ns: Annotated[tuple[_Whole, ...], Items(MAX_SAMPLES)]
    launches: tuple[_Whole, ...] = ()
    tokens: _Whole | None = None
    first_ns: _Number | None = None


@dataclass(frozen=True)
class Before:
    """Of the machine or the phone, before or after it was measured; None for what it does not tell.

    `frequencies_mhz`: of each core. `battery`: percent. `saver`: whether the battery is being saved.
    """

    load_1min: _Number | None = None
    thermal: _Text | None = None
    temperature_c: float | None = None
    frequencies_mhz: tuple[_Number, ...] = ()
    battery: _Number | None = None
    saver: bool | None = None


@dataclass(frozen=True)
class Machine:
    cores: Annotated[int, Via(_Number, int)] | None = None


@dataclass(frozen=True)
class Operator:
    """The operators of one kind in a component: how many, and nanoseconds of all of them in one run."""

    step: _Text
    operator: _Text
    times: _Whole
    ns: _Number


@dataclass(frozen=True)
class Imported:
    """`model`, `codename`: a phone's codes (profiles' `codes`). `patch`: Android's security patch level.

    `engine`, `app`: with their versions. `bundle_sha256`: "" in a report of another tool.
    """

    device: _Text
    os: _Text
    backend: _Text
    bundle_sha256: _Text
    rows: Annotated[tuple[ImportedRow, ...], Items(MAX_ROWS)]
    thermal: str | None = None
    before: Before = Before()
    after: Before = Before()
    machine: Machine = Machine()
    model: _Text = ""
    codename: _Text = ""
    soc: _Text = ""
    patch: _Text = ""
    app: _Text = ""
    engine: _Text = ""
    threads: _Whole | None = None
    operators: Annotated[tuple[Operator, ...], Items(MAX_ROWS)] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What the phone calls itself."""
        return self.device, self.model, self.codename

    @property
    def on_processor(self) -> bool:
        return self.backend in PROCESSOR

    def busy(self, what: str) -> str:
        """A line if the machine was busy before it was measured; "" if not, or if the file does not say."""
        return machine.busy(self.before.load_1min, self.machine.cores, what) if self.machine.cores else ""

    def slowed(self) -> str:
        """A line if the phone was slowed down by heat or saved its battery; "" if not."""
        states = (self.thermal, self.before.thermal, self.after.thermal)
        why = [f"thermal state {state}" for state in dict.fromkeys(states) if state not in COOL]
        if self.before.saver or self.after.saver:
            why.append("battery saver on")
        return (
            f"{self.device} was slowed down ({', '.join(why)}): let it cool and measure again" if why else ""
        )


def read(path: Path) -> Imported:
    """Reads an exported file. Raises RuntimeFailure naming the first field that is invalid."""
    try:
        return checked(json_checked.read(path, MAX_BYTES), str(path))
    except JsonError as error:
        raise _refusal(error) from None


def checked(raw: Any, at: str) -> Imported:
    """The parsed JSON of a measurement; `at` names it in errors. Raises RuntimeFailure."""
    if isinstance(raw, dict) and "runs" in raw:
        raise RuntimeFailure(
            f"{at}: holds a run for each of several --threads: measure with one number alone"
        )
    try:
        imported: Imported = read_as(Imported, raw, at, extra=True)
    except JsonError as error:
        raise _refusal(error) from None
    for number, row in enumerate(imported.rows):
        if row.launches and sum(row.launches) != len(row.samples_ns):
            raise RuntimeFailure(
                f"{at}.rows[{number}].launches: must say how many of samples_ns each process took: see the "
                "schema in bench/README.md"
            )
    return imported


def component_row(step: str, samples: Sequence[float], tokens: int | None = None) -> ImportedRow:
    """A component's row from its nanoseconds (at least one)."""
    values = np.asarray(samples, np.float64)
    return ImportedRow(
        layer="component",
        step=step,
        n=len(values),
        avg_ns=float(values.mean()),
        stddev_ns=float(values.std()),
        p50_ns=float(np.percentile(values, 50)),
        p90_ns=float(np.percentile(values, 90)),
        samples_ns=tuple(int(ns) for ns in values),
        tokens=tokens,
    )


def _refusal(error: JsonError) -> RuntimeFailure:
    return RuntimeFailure(f"{error}: export it again from the app, or from `gamer bench latency -o`")
