"""What exports cost and weigh, out of bundles' own manifests: parameters, multiply-adds, bytes, seconds, peak
memory, parity. Runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gamer.runtime.bundle import manifest as mf

from . import machine
from .files import write_aside
from .tables import Sheet

COMMAND = "make full-size"


@dataclass(frozen=True)
class Row:
    """One artifact. `peak_bytes`: of the process that made and proved it; 0 where it was not counted.
    `cosine`: worst input, None: not run. `also`: further recipes whose artifact is the same, byte for
    byte."""

    recipe: str
    role: str
    source: str
    parameters: int
    macs: int
    macs_per: str
    target: str
    quant: str
    bytes: int
    share_of_fp32: float
    seconds: float
    peak_bytes: int
    cosine: float | None
    executed_by: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exports:
    """The table of one or several bundles, with the machine that made it."""

    machine: machine.Machine
    command: str
    rows: tuple[Row, ...]


def read(bundles: Sequence[Path], command: str = COMMAND) -> Exports:
    """Rows of all `bundles`, in their manifests' order; an artifact that several have stands with the first.
    Raises BundleError.
    """
    rows, also = dict[tuple[str, ...], Row](), dict[tuple[str, ...], list[str]]()
    for manifest in (mf.read(bundle) for bundle in bundles):
        for artifact in manifest.artifacts:
            same = artifact.role, artifact.target, artifact.sha256
            if same in rows:
                also[same].append(manifest.recipe)
            else:
                rows[same], also[same] = _row(manifest, artifact), []
    return Exports(
        machine.read(), command, tuple(replace(row, also=tuple(also[same])) for same, row in rows.items())
    )


def _row(manifest: mf.Manifest, artifact: mf.Artifact) -> Row:
    part, proof = manifest.component(artifact.role), artifact.parity
    share, run_by = round(artifact.bytes / (4 * part.parameters), 4), proof.executed_by or proof.status
    return Row(
        recipe=manifest.recipe,
        role=part.role,
        source=part.source,
        parameters=part.parameters,
        macs=part.macs,
        macs_per=part.macs_per,
        target=artifact.target,
        quant=artifact.quant,
        bytes=artifact.bytes,
        share_of_fp32=share,
        seconds=artifact.export_seconds,
        peak_bytes=artifact.export_peak_bytes,
        cosine=proof.minimum,
        executed_by=run_by,
    )


def sheet(found: Exports) -> Sheet:
    """The table for people. "(+3)": three further recipes have the same artifact."""
    columns = (
        "recipe",
        "component",
        "parameters",
        "multiply-adds",
        "target",
        "quantization",
        "MB",
        "of fp32",
        "s",
        "peak GB",
        "worst cosine",
        "run by",
    )
    rows = tuple(
        (
            r.recipe + (f" (+{len(r.also)})" if r.also else ""),
            r.role,
            f"{r.parameters:,}",
            (f"{r.macs / 1e6:,.0f} M/{r.macs_per.split()[0]}"),
            r.target,
            r.quant,
            f"{r.bytes / 1e6:,.1f}",
            f"{r.share_of_fp32:.1%}",
            f"{r.seconds:.0f}",
            f"{r.peak_bytes / 1e9:.1f}",
            "" if r.cosine is None else f"{r.cosine:.5f}",
            r.executed_by,
        )
        for r in found.rows
    )
    return Sheet("Exports", columns, rows)


def save(found: Exports, path: Path) -> None:
    write_aside(path, json.dumps(asdict(found), ensure_ascii=False, indent=1))
