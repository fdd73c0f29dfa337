"""What exports cost, read from bundle manifests: parameters, multiply-adds, bytes, seconds, memory, parity.

Nothing is run here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gamer.runtime.bundle import manifest as mf

from . import machine
from .tables import Sheet

COMMAND = "make full-size"


@dataclass(frozen=True)
class Row:
    """One artifact of a bundle.

    `share_of_fp32`: its bytes over 4 bytes a parameter. `seconds`, `peak_bytes`: of the process that exported
    it and measured its parity; 0 bytes where memory was not measured. `cosine`: parity of the worst input,
    None if the artifact was not run. `executed_by`: what ran it, else the parity status. `also`: other
    recipes with a byte-identical artifact.
    """

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
    """The artifacts of one or several bundles, and the machine that the table was made on."""

    machine: machine.Machine
    command: str
    rows: tuple[Row, ...]


def read(bundles: Sequence[Path], command: str = COMMAND) -> Exports:
    """The rows of all `bundles`, in their manifests' order. Raises BundleError.

    An artifact that several bundles share is listed once, with the first of them.
    """
    rows, also = dict[tuple[str, ...], Row](), dict[tuple[str, ...], list[str]]()
    for manifest in (mf.read(bundle) for bundle in bundles):
        for artifact in manifest.artifacts:
            key = artifact.role, artifact.target, artifact.sha256
            if key in rows:
                also[key].append(manifest.recipe)
            else:
                rows[key], also[key] = _row(manifest, artifact), []
    return Exports(
        machine.read(), command, tuple(replace(row, also=tuple(also[key])) for key, row in rows.items())
    )


def _row(manifest: mf.Manifest, artifact: mf.Artifact) -> Row:
    component, parity = manifest.component(artifact.role), artifact.parity
    share, run_by = round(artifact.bytes / (4 * component.parameters), 4), parity.executed_by or parity.status
    return Row(
        recipe=manifest.recipe,
        role=component.role,
        source=component.source,
        parameters=component.parameters,
        macs=component.macs,
        macs_per=component.macs_per,
        target=artifact.target,
        quant=artifact.quant,
        bytes=artifact.bytes,
        share_of_fp32=share,
        seconds=artifact.export_seconds,
        peak_bytes=artifact.export_peak_bytes,
        cosine=parity.minimum,
        executed_by=run_by,
    )


def sheet(exports: Exports) -> Sheet:
    """The table for printing. "(+3)" after a recipe: three more recipes have the same artifact."""
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
        for r in exports.rows
    )
    return Sheet("Exports", columns, rows)
