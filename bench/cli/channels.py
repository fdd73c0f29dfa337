"""The command `gamer bench channels`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .options import PATH, Outlet, result_options, spinner

if TYPE_CHECKING:
    from ..channels import ChannelResult, Channels


@click.command()
@click.argument("checkpoints", type=PATH, nargs=-1, required=True)
@click.option("-a", "--album", type=PATH, required=True, help="The album that they were trained on.")
@click.option(
    "--queries", type=PATH, default=None, help='A JSONL of {"query", "relevant": [ids]} to ask as well.'
)
@result_options
def channels(checkpoints: tuple[Path, ...], album: Path, queries: Path | None, out: Outlet) -> None:
    """Recall of photos by their pixels alone: labels, the experts of CHECKPOINTS, and both fused.

    CHECKPOINTS: directories of `gamer train --until DATE`, whose withheld memories are asked.
    """

    from .. import channels as measuring

    with one_line("bench channels", extra="export"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        result = measuring.measure(
            album, checkpoints, queries, lambda text: progress.update(task, description=text)
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_channels(result))


def print_channels(result: Channels) -> None:
    table = Table(
        title=f"{result.photos} photos; {result.withheld} memories from {result.until} on, withheld; "
        f"{result.queries} queries",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("", "withheld @5", "@20", "queries @5", "@20"):
        table.add_column(name, justify="right" if name else "left")
    _add(table, "labels", result.labels)
    if result.names is not None:
        _add(table, "attention over the labels' names", result.names)
    for row in result.rows:
        _add(table, f"{row.checkpoint}: trained", row.trained)
        _add(table, f"{row.checkpoint}: fused", row.fused)
        _add(table, f"{row.checkpoint}: fused, weight {row.weight:g} chosen elsewhere", row.fitted)
    Console().print(table)


def _add(table: Table, name: str, found: ChannelResult) -> None:
    figures = [*found.withheld.values(), *found.queries.values()]
    table.add_row(name, *(f"{figure:.3f}" for figure in figures))


COMMANDS = (channels,)
