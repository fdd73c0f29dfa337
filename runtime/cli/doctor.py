"""`gamer doctor`: examines the machine and a bundle, and prints the report."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..bundle.placement import Placement
from ..doctor import Report, backends_here, examine
from ..models.printed import DETECTOR
from .console import json_line, one_line
from .options import PATH, backend_option, json_option, threads_option

if TYPE_CHECKING:
    from rich.table import Table


@click.command()
@click.argument("bundle", required=False, type=PATH)
@backend_option
@threads_option
@json_option
def doctor(bundle: Path | None, backend: str, threads: int | None, as_json: bool) -> None:
    """Show what this machine is, and how each component of BUNDLE does on it: kernels, fixtures against the
    manifest, what was chosen and why.

    Exit code 1 where a component cannot be used here, or SQLite lacks what an album needs.
    """
    with one_line("doctor"):
        report = examine(bundle, backend, threads)
    if as_json:
        click.echo(json_line(asdict(report)))
    else:
        _print(report)
    sys.exit(0 if report.healthy else 1)


def _print(report: Report) -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    from .screen import Screen

    console = Screen(highlight=False)
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="bold", no_wrap=True)
    facts.add_column(overflow="fold")
    p = report.processor
    saturates = "; byte products saturate: precise kernels are asked for" if p.saturates else ""
    have = ", ".join(name for name, present in report.extras.items() if present) or "none"
    lacking = ", ".join(name for name, present in report.extras.items() if not present)
    quiet = all(report.telemetry.values())
    rows = {
        "processor": f"{p.model}, {report.cores} cores; {p.described}{saturates}",
        "system": f"{report.system}, Python {report.python}",
        "engines": ", ".join(f"{name} {release}" for name, release in report.versions.items()),
        "backends": ", ".join(backends_here()) or "none",
        "extras": have + (f" (not installed: {lacking})" if lacking else ""),
        "SQLite": f"{report.sqlite} (apsw), "
        f"{_fts5(report.sqlite_fts5)}; Python's own {report.system_sqlite}, "
        f"{_fts5(report.system_sqlite_fts5)}",
        "telemetry": ("off: " if quiet else "NOT off: ")
        + ", ".join(f"{name}={value or '?'}" for name, value in report.telemetry.items()),
        "memory": _memory(report),
    }
    if report.bundle:
        rows["pictures"] = _pictures(report)
        rows["text in pictures"] = _texts(report)
    for name, text in rows.items():
        facts.add_row(name, text)
    console.print(facts)
    if not report.bundle:
        console.print("\nA bundle's components are checked with: gamer doctor BUNDLE")
        return
    table = Table(
        title=f"{report.bundle} on {report.backend}",
        box=SIMPLE,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
    )
    for name in ("component", "manifest", "here", "needs", "runs as", "why"):
        table.add_column(
            name, justify="right" if name in ("manifest", "here", "needs") else "left", no_wrap=name != "why"
        )
    for c in report.components:
        figures = ("–" if x is None else f"{x:.4f}" for x in (c.proven, c.here, c.threshold))
        table.add_row(c.role, *figures, c.chosen, c.problem or c.why, style="red" if c.problem else "")
    console.print(table)
    kernels = sorted({c.proven_on for c in report.components if c.proven_on})
    console.print(
        "Worst cosine with torch. The manifest's was measured on "
        + ("; ".join(kernels) or "kernels that it does not name")
        + "."
    )
    if placed := [(c.role, c.placement) for c in report.components if c.placement is not None]:
        console.print(_placements(placed))
        for line in _splits([p for _, p in placed]):
            console.print(line)


def _placements(placed: Sequence[tuple[str, Placement]]) -> Table:
    """Where the operations of each component ran, and how many other engines are predicted to take."""
    from rich.box import SIMPLE
    from rich.table import Table

    engines = list(dict.fromkeys(p.engine for _, placement in placed for p in placement.predictions))
    title = f"Operations as {placed[0][1].by} assigned them at the export" + (
        "; predicted, not run: " + ", ".join(engines) if engines else ""
    )
    table = Table(title=title, box=SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), title_justify="left")
    for name in ("component", "ran on", *engines):
        table.add_column(name, overflow="fold", no_wrap=name == "component")
    for role, placement in placed:
        cells = {p.engine: p.summary() for p in placement.predictions}
        pieces = f" ({placement.delegates} delegates)" if placement.delegates else ""
        table.add_row(role, placement.summary() + pieces, *(cells.get(name, "") for name in engines))
    return table


def _splits(placements: Sequence[Placement]) -> Iterator[str]:
    """What the predictions are from, what splits the graphs most, and what to change."""
    predictions = [p for placement in placements for p in placement.predictions]
    if not predictions:
        return
    fixed = ", ".join(dict.fromkeys(name for p in predictions for name in p.fixed))
    star = f" * once {fixed} have fixed sizes: as the graphs are, the engine takes nothing." if fixed else ""
    yield f"Predicted: operations of those in the file, in so many pieces.{star}"
    for engine in dict.fromkeys(p.engine for p in predictions):
        own = [p for p in predictions if p.engine == engine]
        counts, change = Counter[str](), dict[str, str]()
        for left in (left for p in own for left in p.left):
            counts[left.operator] += left.count
            change[left.operator] = left.change
        left_text = ", ".join(f"{n} {operator}" for operator, n in counts.most_common(4)) or "nothing"
        ways = dict.fromkeys(change[o] for o, _ in counts.most_common(4) if change[o])
        yield (
            f"{engine} leaves {left_text}"
            + (f" ({'; '.join(ways)})" if ways else "")
            + f". By {own[0].source}."
        )


def _pictures(report: Report) -> str:
    if not report.classes:
        return "searched for any word"
    return (
        f"searched for {report.classes:,} kinds of things; any word with a downloaded MobileCLIP or SigLIP: "
        "gamer export -m ./CHECKPOINT -o out/open, then gamer index update ALBUM -b out/open"
    )


def _texts(report: Report) -> str:
    if any(component.role == DETECTOR for component in report.components):
        return "read"
    return f"not read; gamer export RECIPE --parts ocr -o {report.bundle} adds what reads it (31 MB a target)"


def _fts5(present: bool) -> str:
    return "with FTS5" if present else "without FTS5"


def _memory(report: Report) -> str:
    free = "unknown" if report.free_mb is None else f"{report.free_mb:,} MB free"
    if report.needs_mb is None:
        return free
    tight = report.free_mb is not None and report.free_mb < report.needs_mb
    return f"{free}, about {report.needs_mb:,} MB for all of the bundle" + (
        ": give --max-memory" if tight else ""
    )
