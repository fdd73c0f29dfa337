"""The command `gamer bench withheld`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option

if TYPE_CHECKING:
    from ..retrieval.withheld import Withheld


@click.command()
@click.argument("folders", metavar="DATASET...", type=PATH, nargs=-1, required=True)
@bundle_option
@click.option("--cache", type=PATH, required=True, help="Keep the albums here between runs.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    default=None,
    help="Also withhold the memories of the photos from this day on.",
)
@result_options
@threads_option
def withheld(
    folders: tuple[Path, ...], bundle: Path, cache: Path, since: datetime | None, out: Outlet, threads: int
) -> None:
    """Recall of photos whose memories are withheld, and of photos beside them that keep theirs."""
    from ..retrieval import withheld as measuring

    with one_line("bench withheld"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        cache.mkdir(parents=True, exist_ok=True)
        day = since.date().isoformat() if since else None
        result = measuring.measure(
            bundle, folders, day, threads, cache, lambda text: progress.update(task, description=text)
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_withheld(result))


def print_withheld(result: Withheld) -> None:
    table = Table(
        title="recall@5: a missing memory as nothing, as unknown, with weights of other folds",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("", "withheld", "untold", "photos asked for", "queries", "nothing", "unknown", "held out"):
        table.add_column(name, justify="left" if name in ("", "withheld", "photos asked for") else "right")
    for row in result.rows:
        for kind, recall in row.recall.items():
            figures = (f"{value:.3f}" for value in (recall.nothing, recall.unknown, recall.held_out))
            share = f"{row.untold} of {row.photos}"
            table.add_row(row.dataset, row.withheld, share, kind, str(recall.queries), *figures)
    Console().print(table)


COMMANDS = (withheld,)
