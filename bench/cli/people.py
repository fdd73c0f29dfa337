"""The command `gamer bench people`, registered in bench/cli/bench.py."""

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
    from ..people.measure import PeopleQuality


@click.command()
@click.argument("folder", type=PATH)
@bundle_option
@result_options
@threads_option
def people(folder: Path, bundle: Path, out: Outlet, threads: int) -> None:
    """How well BUNDLE finds and groups the people in FOLDER, which holds a folder of pictures of each.

    B³ at several thresholds, the share of pictures in which a face is found, and the time of a photo.
    """
    from ..people import measure as measuring

    with one_line("bench people", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        result = measuring.measure(
            bundle,
            folder,
            threads,
            lambda text: progress.update(task, description=text),
            shown_command(f"people {folder.name}", bundle, ()),
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print(result))


def _print(result: PeopleQuality) -> None:
    table = Table(title=f"{result.people} people, {result.pictures} pictures")
    for column in ("threshold", "precision", "recall", "F1", "groups"):
        table.add_column(column, justify="right")
    for row in (*result.sweep, result.used):
        scores = (row.scores.precision, row.scores.recall, row.scores.f1)
        mark = " (used)" if row is result.used else ""
        table.add_row(f"{row.threshold}{mark}", *(f"{x:.3f}" for x in scores), str(row.groups))
    Console().print(table)
    click.echo(
        f"a face found in {result.recall:.1%} of pictures; {result.photo_ms[0]:.0f} ms a photo (95 %: "
        f"{result.photo_ms[1]:.0f}; of all threads {result.photo_cpu_ms:.0f}); 10,000 faces grouped in "
        f"{result.grouping_cpu_s} s"
    )


COMMANDS = (people,)
