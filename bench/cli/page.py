"""The command `gamer bench page`, registered in bench/cli/bench.py."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .options import PATH, Outlet, bundle_option, result_options, spinner
from .quality import shown_command

if TYPE_CHECKING:
    from ..page import PageReport


@click.command()
@bundle_option
@click.option("--photos", type=click.IntRange(100, 200_000), default=20_000, show_default=True)
@click.option("--keep", type=PATH, default=None, help="Make the album in this folder, and keep it.")
@click.option(
    "-r",
    "--repetitions",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="How often the page is opened.",
)
@result_options
def page(bundle: Path, photos: int, keep: Path | None, repetitions: int, out: Outlet) -> None:
    """How soon the page of a large made album opens in Chromium, and how evenly it scrolls.

    Needs Chromium, and the `serve` and `dev` extras.
    """
    with one_line("bench page", extra="dev"), spinner() as progress:
        from .. import page as measuring

        progress.add_task("making the album, opening and scrolling", total=None)
        with tempfile.TemporaryDirectory() as aside:
            command = shown_command("page", bundle, ())
            folder = keep or Path(aside)
            folder.mkdir(parents=True, exist_ok=True)
            result = measuring.measure(bundle, folder, photos, repetitions, command)
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print(result))


def _print(result: PageReport) -> None:
    console = Console()
    for opening in result.openings:
        cache = "no thumbnail made yet" if opening.first else "again"
        console.print(
            f"opened, {cache}: photos after {opening.photos:.0f} ms, pictures after {opening.pictures:.0f} ms"
        )
    table = Table(
        title=f"{result.photos} photos, {result.browser}, load {result.load}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in ("pixels/s", "frame p50 ms", "p95 ms", "late", "page busy ms/frame", "photos in the page"):
        table.add_column(name, justify="right")
    for row in result.scrolling:
        table.add_row(
            str(row.speed),
            f"{row.p50_ms:.1f}",
            f"{row.p95_ms:.1f}",
            f"{row.late:.1%}",
            f"{row.busy_ms:.1f}",
            str(row.cells),
        )
    console.print(table)


COMMANDS = (page,)
