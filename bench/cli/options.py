"""Options and the spinner that several of these commands share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

ERR = Console(stderr=True)
PATH = click.Path(path_type=Path)
bundle_option = click.option("-b", "--bundle", type=PATH, required=True, help="Bundle directory.")
threads_option = click.option(
    "--threads",
    type=click.IntRange(1, 64),
    default=min(2, os.cpu_count() or 1),
    show_default=True,
    help="Threads per model.",
)


@contextmanager
def spinner() -> Iterator[Progress]:
    with Progress(
        SpinnerColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=ERR,
        transient=True,
    ) as progress:
        yield progress
