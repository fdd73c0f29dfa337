"""The command `gamer bench newcomer`, registered in bench/cli/bench.py."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from ..newcomer import Newcomer
from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option
from .quality import shown_command


@click.command()
@bundle_option
@click.option("--keep", type=PATH, default=None, help="Lay the files and the album out here, and keep them.")
@result_options
@threads_option
def newcomer(bundle: Path, keep: Path | None, out: Outlet, threads: int) -> None:
    """Ask the 25 queries of a newcomer's small album (Takeout, a chat, screenshots): which come right.

    Texts in pictures are read, so the `ocr` extra is needed.
    """
    from .. import newcomer as album

    with one_line("bench newcomer", extra="ocr"), spinner() as progress:
        progress.add_task("building the album and asking", total=None)
        with tempfile.TemporaryDirectory() as aside:
            command = shown_command("newcomer", bundle, ())
            result = album.measure(bundle, keep or Path(aside), threads, command)
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print(result))


def _print(result: Newcomer) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("", "asks", "query", "first photo", "likely", "here"):
        table.add_column(name)
    for verdict in result.verdicts:
        name, probability = verdict.shown[0] if verdict.shown else ("none", 0.0)
        told = f"{name}: {verdict.objection}" if verdict.objection else name
        table.add_row(
            "wrong" if verdict.objection else "right",
            verdict.asks,
            verdict.query,
            told,
            f"{probability:.0%}",
            f"{verdict.presence:.0%}",
        )
    console = Console()
    console.print(table)
    console.print(
        f"{result.right} of {len(result.verdicts)} right; {result.misled} wrong first photos called likelier "
        "than 50 %"
    )


COMMANDS = (newcomer,)
