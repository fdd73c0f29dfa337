"""The command `gamer bench events`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option
from .quality import shown_command

if TYPE_CHECKING:
    from ..events.measure import EventQuality


@click.command()
@bundle_option
@click.option("--data", type=PATH, required=True, help="Data set with events, such as camroll-mpr.")
@click.option("--users", default="", help="Users, with commas between. [default: all]")
@click.option("--cache", type=PATH, default=None, help="Keep the encoded texts here between runs.")
@result_options
@threads_option
def events(
    bundle: Path,
    data: Path,
    users: str,
    cache: Path | None,
    out: Outlet,
    threads: int,
) -> None:
    """How well the rules segment photos into events: F1 of boundaries and pairs, beside the best fixed gap.

    Each user is scored by weights that are fitted to the others; the weights fitted to all are printed too.
    """
    from ..events import measure as measuring

    names = [name.strip() for name in users.split(",") if name.strip()]
    options = ("--users", ",".join(names)) if names else ()
    with one_line("bench events", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        result = measuring.measure(
            bundle,
            data,
            names,
            threads,
            cache,
            lambda text: progress.update(task, description=text),
            shown_command(f"events --data {data.name}", bundle, options),
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print(result))


def _print(result: EventQuality) -> None:
    table = Table(title=f"{result.dataset}: {len(result.photos)} users, {sum(result.photos.values())} photos")
    for column in ("method", "boundary F1", "pairwise F1", "gap"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in result.methods:
        gap = "" if row.gap_s is None else f"{row.gap_s / 3600:.1f} h"
        table.add_row(row.name, f"{row.mean.boundary:.3f}", f"{row.mean.pairwise:.3f}", gap)
    Console().print(table)
    click.echo(
        f"rules over the best gap: boundary {result.ratio.boundary:.3f}, pairwise {result.ratio.pairwise:.3f}"
    )
    click.echo(
        "fitted to all: " + ", ".join(f"{name} {value}" for name, value in asdict(result.weights).items())
    )


COMMANDS = (events,)
