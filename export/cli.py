"""`gamer export` and `gamer verify`: parse, call one function, print. Only this file exits."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import click
from gamer.runtime import manifest as mf
from gamer.runtime.console import one_line
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from .errors import ExportError
from .recipe import QUANTS, RECIPES, TARGETS

ERR = Console(stderr=True)


def bar() -> Progress:
    """The project's progress bar, on stderr."""
    return Progress(
        SpinnerColumn(),
        BarColumn(24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=ERR,
        transient=True,
    )


def table(manifest: mf.Manifest) -> Table:
    """Component × target with sizes and parity, for people."""
    out = Table(title=f"{manifest.recipe}, {manifest.quant}")
    for name, justify in (
        ("component", "left"),
        ("parameters", "right"),
        ("multiply-adds", "right"),
        ("target", "left"),
        ("MB", "right"),
        ("parity with torch (threshold)", "left"),
    ):
        out.add_column(name, justify="right" if justify == "right" else "left")
    for component in manifest.components:
        first = True
        for artifact in (a for a in manifest.artifacts if a.role == component.role):
            left = (
                component.role + ("" if component.trained else " (untrained)"),
                f"{component.parameters:,}",
                f"{component.macs / 1e6:,.1f} M/{component.macs_per.split()[0]}",
            )
            out.add_row(*(left if first else ("", "", "")), artifact.target, f"{artifact.bytes / 1e6:.2f}", parity_text(artifact.parity))
            first = False
    return out


def parity_text(parity: mf.Parity) -> str:
    """One cell: the worst cosine and, for the decoder, the agreement; or that it was not run."""
    if parity.minimum is None:
        return parity.status
    text = f"cosine ≥ {parity.minimum:.5f} ({parity.threshold})"
    return text if parity.top1 is None else f"{text}, top-1 {parity.top1:.1%} ({parity.top1_threshold:.0%})"


@click.command()
@click.argument("recipe")
@click.option("--targets", default=",".join(TARGETS), show_default=True, help="Comma-separated: onnx, executorch, coreml.")
@click.option("--quant", type=click.Choice(QUANTS), default="int8", show_default=True, help="int8: weights and, where the target can, activations.")
@click.option("-o", "--output-dir", type=click.Path(path_type=Path), required=True, help="Directory of the bundle; written aside, then renamed.")
@click.option("--jobs", type=click.IntRange(1, 16), default=min(2, os.cpu_count() or 1), show_default=True, help="Worker processes.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def export(recipe: str, targets: str, quant: str, output_dir: Path, jobs: int, as_json: bool) -> None:
    """Export RECIPE (e.g. pocket) as a bundle: every component, every target, each compared with torch on the same inputs where this
    platform can execute it.

    A comparison below its threshold fails the command with the figure. An interrupted export continues where it stopped; a bundle that is
    up to date is left as it is.
    """
    from . import bundle

    try:
        wanted = bundle.parse_targets(targets)
        if recipe not in RECIPES:
            raise click.BadParameter(f"{recipe!r} is no recipe; choose one of: {', '.join(RECIPES)}", param_hint="RECIPE")
    except ExportError as error:
        raise click.BadParameter(str(error), param_hint="--targets") from None
    kept = "interrupted; finished parts are kept, run the same command to go on"
    with one_line("export", ExportError, extra="export", interrupted=kept), bar() as progress:
        task = progress.add_task("loading weights", total=len(bundle.ORDER) * len(wanted))

        def report(text: str, artifact: mf.Artifact | None) -> None:
            progress.update(task, advance=1 if artifact else 0, description=text)
            if artifact:
                progress.console.print(
                    f"  {text}: {artifact.bytes / 1e6:.1f} MB, {parity_text(artifact.parity)}, {artifact.export_seconds:.0f} s",
                    highlight=False,
                )

        manifest = bundle.export(recipe, wanted, quant, output_dir, jobs, report)
    print_manifest(manifest, output_dir, as_json)


@click.command()
@click.argument("bundle_dir", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option("--hashes-only", is_flag=True, help="Check files only, run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the manifest with the parity measured now.")
def verify(bundle_dir: Path, hashes_only: bool, as_json: bool) -> None:
    """Check every hash and size of BUNDLE, then run every artifact that this platform can execute against
    torch again and hold it to its threshold."""
    with one_line("verify", ExportError, extra="export"):
        manifest = mf.read(bundle_dir)
        mf.check(bundle_dir, manifest)
        if not hashes_only:
            from . import verify as proof

            with bar() as progress:
                task = progress.add_task("loading weights", total=len(manifest.artifacts))
                manifest = proof.verify(bundle_dir, manifest, lambda text: progress.update(task, advance=1, description=text))
    print_manifest(manifest, bundle_dir, as_json)


def print_manifest(manifest: mf.Manifest, folder: Path, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(manifest), ensure_ascii=False))
        return
    Console().print(table(manifest))
    click.echo(
        f"{folder}: {len(manifest.artifacts)} artifacts, {sum(a.bytes for a in manifest.artifacts) / 1e6:.1f} MB, δ {manifest.thresholds.delta}"
    )
