"""The command `gamer bench indexing`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .options import Outlet, bundle_option, result_options, spinner
from .quality import shown_command

if TYPE_CHECKING:
    from ..indexing import Indexing


@click.command()
@bundle_option
@click.option("--photos", type=click.IntRange(8, 10_000), default=160, show_default=True)
@click.option("--formats", default="jpg,png,webp,heic", show_default=True, help="Separated by commas.")
@result_options
def indexing(bundle: Path, photos: int, formats: str, out: Outlet) -> None:
    """How many photos of twelve megapixels are indexed a second, beside twenty lines of Python."""
    with one_line("bench indexing", extra="bench"), spinner() as progress:
        from .. import indexing as measuring

        names = formats.split(",")
        if unknown := set(names) - measuring.FORMATS.keys():
            raise click.UsageError(f"no format {min(unknown)!r}; choose: {', '.join(measuring.FORMATS)}")
        task = progress.add_task("", total=None)
        command = shown_command("indexing", bundle, ())
        result = measuring.measure(
            bundle, photos, names, command, lambda text: progress.update(task, description=text)
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print(result))


def _print(result: Indexing) -> None:
    width, height = result.size
    table = Table(title=f"{width} × {height} pixels, load {result.load}", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("format", "MB", "photos/s", "twenty lines", "ratio", "cosine with full decoding", "mean"):
        table.add_column(name, justify="left" if name == "format" else "right")
    for row in result.formats:
        cosines = f"≥ {row.worst:.4f}", f"{row.mean:.4f}"
        table.add_row(
            row.name, f"{row.megabytes}", f"{row.indexed}", f"{row.plain}", f"{row.ratio:.2f}", *cosines
        )
    Console().print(table)


COMMANDS = (indexing,)
