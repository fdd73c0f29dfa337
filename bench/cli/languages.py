"""The command `gamer bench languages`, registered in bench/cli/bench.py."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from ..languages import Languages
from .options import Outlet, bundle_option, result_options, spinner, threads_option
from .quality import shown_command


@click.command()
@bundle_option
@result_options
@threads_option
def languages(bundle: Path, out: Outlet, threads: int) -> None:
    """Ask a small album in six languages: recall of a search beside BM25 alone."""
    from .. import languages as album

    with one_line("bench languages"), spinner() as progress:
        progress.add_task("building the album and asking", total=None)
        with tempfile.TemporaryDirectory() as aside:
            result = album.measure(bundle, Path(aside), threads, shown_command("languages", bundle, ()))
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print(result))


def _print(result: Languages) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("language", "queries", "n", "search @5", "BM25 @5", "search @1", "BM25 @1"):
        table.add_column(name)
    for row in result.rows:
        shares = (row.search, row.bm25, row.search_first, row.bm25_first)
        table.add_row(row.language, row.kind, str(row.queries), *(f"{share:.0%}" for share in shares))
    Console().print(table)


COMMANDS = (languages,)
