"""The command `gamer bench questions`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .options import Outlet, result_options

if TYPE_CHECKING:
    from ..questions.measure import QuestionReport


@click.command()
@click.option("--families", is_flag=True, help="Also a line for each family of wording.")
@result_options
def questions(families: bool, out: Outlet) -> None:
    """How many of 840 questions, typed by people who did not know the rules, are read as they are meant."""
    with one_line("bench questions", extra="bench"):
        from ..questions import measure

        result = measure.measure("gamer bench questions")
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print(result, families))


def _print(result: QuestionReport, families: bool) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("author", "questions", "read exactly", "structure right"):
        table.add_column(name, justify="left" if name == "author" else "right")
    for row in (*result.authors, *(result.families if families else ()), result.all):
        table.add_row(row.name, str(row.questions), f"{row.exact:.2f}", f"{row.structure:.2f}")
    console = Console()
    console.print(table)
    console.print(", ".join(f"{name} {share:.2f}" for name, share in result.parts.items()))


COMMANDS = (questions,)
