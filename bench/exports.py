"""What exports cost, read from bundle manifests: parameters, multiply-adds, bytes, seconds, memory, parity.

Nothing is run here, but for a peer: then both export the same checkpoints (peers/optimum.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from gamer.runtime.bundle import manifest as mf

from .peers.row import PeerRow
from .study.declaration import About, Run, Work
from .study.settings import SettingError
from .tables import Sheet, sheet

PEERS = ("none", "optimum")


@dataclass(frozen=True)
class Settings:
    peer: Annotated[
        str, About("whose exporter to run beside this one (make optimum-peer)", choices=PEERS)
    ] = "none"
    models: Annotated[
        tuple[str, ...],
        About(
            "checkpoints that both export",
            choices=("minilm-l6", "smollm2-135m", "clip-vit-b32"),
            quick=("minilm-l6",),
        ),
    ] = ("minilm-l6", "smollm2-135m", "clip-vit-b32")


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
    """The artifacts of one or several bundles; `peers`: checkpoints by two exporters."""

    rows: tuple[Row, ...]
    peers: tuple[PeerRow, ...] = ()


def read(bundles: Sequence[Path]) -> Exports:
    """The rows of all `bundles`. Raises BundleError."""
    return listed(map(mf.read, bundles))


def listed(manifests: Iterable[mf.Manifest]) -> Exports:
    """The rows of bundles, in their manifests' order.

    An artifact that several bundles share is listed once, with the first of them.
    """
    rows, also = dict[tuple[str, ...], Row](), dict[tuple[str, ...], list[str]]()
    for manifest in manifests:
        for artifact in manifest.artifacts:
            key = artifact.role, artifact.target, artifact.sha256
            if key in rows:
                also[key].append(manifest.recipe)
            else:
                rows[key], also[key] = _row(manifest, artifact), []
    return Exports(tuple(replace(row, also=tuple(also[key])) for key, row in rows.items()))


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


def tables(exports: Exports) -> list[Sheet | str]:
    """The table for printing. "(+3)" after a recipe: three more recipes have the same artifact."""
    columns: dict[str, Callable[[Row], str]] = {
        "recipe": lambda row: row.recipe + (f" (+{len(row.also)})" if row.also else ""),
        "component": lambda row: row.role,
        "parameters": lambda row: f"{row.parameters:,}",
        "multiply-adds": lambda row: f"{row.macs / 1e6:,.0f} M/{row.macs_per.split()[0]}",
        "target": lambda row: row.target,
        "quantization": lambda row: row.quant,
        "MB": lambda row: f"{row.bytes / 1e6:,.1f}",
        "of fp32": lambda row: f"{row.share_of_fp32:.1%}",
        "s": lambda row: f"{row.seconds:.0f}",
        "peak GB": lambda row: f"{row.peak_bytes / 1e9:.1f}",
        "worst cosine": lambda row: "" if row.cosine is None else f"{row.cosine:.5f}",
        "run by": lambda row: row.executed_by,
    }
    beside: dict[str, Callable[[PeerRow], str]] = {
        "checkpoint": lambda row: row.model,
        "exporter": lambda row: row.exporter,
        "s": lambda row: f"{row.seconds:.0f}",
        "s for the graphs": lambda row: f"{row.graphs_seconds:.0f}",
        "MB": lambda row: f"{row.bytes / 1e6:,.1f}",
        "worst cosine with torch": lambda row: f"{row.cosine:.6f}",
    }
    shown = [sheet("Exports", exports.rows, columns)] if exports.rows or not exports.peers else []
    return [
        *shown,
        *([sheet("Beside optimum, fp32 for ONNX", exports.peers, beside)] if exports.peers else []),
    ]


def _study(run: Run[Settings]) -> Exports:
    if run.settings.peer == "none":
        if not run.bundles:
            raise SettingError("exports: give -b BUNDLE, or more, or --set peer=optimum")
        return read(run.bundles)
    from .peers import optimum

    return Exports(read(run.bundles).rows, optimum.compare(run.settings.models, run.tell))


WORK = Work(Settings, _study, tables)
