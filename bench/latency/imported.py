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

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gamer.index import json_checked
from gamer.index.json_checked import Between, Items, JsonError, Text, Via, read_as
from gamer.runtime.errors import RuntimeFailure

from .. import machine

MAX_BYTES, MAX_ROWS, MAX_SAMPLES = 64 << 20, 10_000, 1_000_000
_Text = Annotated[str, Text(500)]
_Number = Annotated[float, Between(0)]
_Whole = Annotated[int, Between(0)]


@dataclass(frozen=True)
class ImportedRow:
    layer: _Text
    step: _Text
    n: Annotated[int, Via(_Number, int)]
    avg_ns: _Number
    stddev_ns: _Number
    p50_ns: _Number
    p90_ns: _Number
    samples_ns: Annotated[tuple[_Whole, ...], Items(MAX_SAMPLES)]
    launches: tuple[_Whole, ...] = ()


@dataclass(frozen=True)
class Before:
    """Of the machine, before it was measured."""

    load_1min: _Number | None = None


@dataclass(frozen=True)
class Machine:
    cores: Annotated[int, Via(_Number, int)] | None = None


@dataclass(frozen=True)
class Imported:
    device: _Text
    os: _Text
    backend: _Text
    bundle_sha256: _Text
    rows: Annotated[tuple[ImportedRow, ...], Items(MAX_ROWS)]
    thermal: str | None = None
    before: Before = Before()
    machine: Machine = Machine()

    def busy(self, what: str) -> str:
        """A line if the machine was busy before it was measured; "" if not, or if the file does not say."""
        return machine.busy(self.before.load_1min, self.machine.cores, what) if self.machine.cores else ""


def read(path: Path) -> Imported:
    """Reads an exported file. Raises RuntimeFailure naming the first field that is invalid."""
    try:
        imported: Imported = read_as(Imported, json_checked.read(path, MAX_BYTES), str(path), extra=True)
    except JsonError as error:
        raise RuntimeFailure(
            f"{error}: export it again from the app, or from `gamer bench latency -o`"
        ) from None
    for at, row in enumerate(imported.rows):
        if row.launches and sum(row.launches) != len(row.samples_ns):
            raise RuntimeFailure(
                f"{path}.rows[{at}].launches: must say how many of samples_ns each process took: see the "
                "schema in bench/README.md"
            )
    return imported
