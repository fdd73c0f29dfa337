"""Options, the way a result is written and printed, and progress, which these commands share."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from gamer.runtime.cli.console import fail, json_line, one_line
from gamer.runtime.cli.options import json_option
from gamer.runtime.cli.screen import Screen

from .. import machine
from ..files import write_atomically
from ..tables import FORMATS, Record, Sheet, emit

ERR = Screen(stderr=True)
PATH = click.Path(path_type=Path)
Command = Callable[..., None]
bundle_option = click.option("-b", "--bundle", type=PATH, required=True, help="Bundle directory.")
threads_option = click.option(
    "--threads",
    type=click.IntRange(1, 64),
    default=min(2, os.cpu_count() or 1),
    show_default=True,
    help="Threads per model.",
)


def _counts(_: click.Context, __: click.Parameter, text: str) -> tuple[int, ...]:
    """ "1,2,4" → (1, 2, 4)."""
    words = text.split(",")
    fit = all(re.fullmatch(r"[1-9][0-9]?", word) and int(word) <= 64 for word in words)
    if not fit or len({*words}) < len(words):
        raise click.BadParameter(f"{text[:40]!r}: one number from 1 to 64, or several, as in 1,2,4")
    return tuple(map(int, words))


thread_counts_option = click.option(
    "--threads",
    callback=_counts,
    default=str(min(2, os.cpu_count() or 1)),
    show_default=True,
    metavar="N[,N…]",
    help="Threads per model; of several numbers, each is measured and they are compared.",
)
query_option = click.option(
    "-q", "--query", "queries", multiple=True, help="A query; repeat for more. [default: the sample album's]"
)
cache_option = click.option(
    "--cache",
    type=PATH,
    default=None,
    help="Keep here what is worth keeping between runs: albums, what a language model wrote.",
)
html_option = click.option(
    "--html", type=PATH, default=None, help="Draw one self-contained HTML page, readable on a phone."
)
_output_option = click.option(
    "-o",
    "--output",
    type=PATH,
    default=None,
    help="Also write the JSON, with everything that was measured, to this file.",
)
_format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="md",
    show_default=True,
    help="What is printed: Markdown tables, or the same for machines. --json: the same as --format json.",
)


@dataclass(frozen=True)
class Outlet:
    """Where a command's result goes.

    `file`: gets the JSON, None for none. `form`: what is printed, one of FORMATS. `load`: of the machine
    before the command began, None if it measures no times.
    """

    file: Path | None
    form: str
    load: float | None = None

    def save(self, result: object) -> None:
        """Writes the JSON of `result` to the file, if one was named. Raises AlbumError or OSError."""
        if self.file:
            write_atomically(self.file, json_line(result))

    def show(self, result: object, table: Callable[[], None]) -> None:
        """Prints the JSON of `result` if it was asked for, otherwise calls `table`."""
        if self.form == "json":
            click.echo(json_line(result))
        else:
            table()
        self._warn()

    def emit(
        self, sheets: Sequence[Sheet], notes: Sequence[str], records: Sequence[Record], result: Record
    ) -> None:
        """Prints the result in its form; the arguments are those of tables.emit."""
        emit(self.form, sheets, notes, records, result)
        self._warn()

    def _warn(self) -> None:
        if line := machine.busy(self.load):
            click.echo(line, err=True)


def result_options(command: Command) -> Command:
    """Gives a command `-o FILE` and `--json`; it receives them as `out`, an Outlet."""

    @wraps(command)
    def with_outlet(*args: Any, output: Path | None, as_json: bool, form: str = "md", **options: Any) -> None:
        command(*args, out=Outlet(output, "json" if as_json else form), **options)

    return _output_option(json_option(with_outlet))


def timed(command: Command) -> Command:
    """Of a command that measures times, below its options of the result: what it says of a busy machine."""

    @wraps(command)
    def on_a_quiet_machine(*args: Any, strict: bool, out: Outlet, **options: Any) -> None:
        load = machine.load()
        if strict and (line := machine.busy(load)):
            fail(f"bench {click.get_current_context().info_name}", f"{line}; wait, or leave out --strict")
        command(*args, out=replace(out, load=load), **options)

    return strict_option("Measure nothing where other programs keep this machine busy.")(on_a_quiet_machine)


def strict_option(text: str) -> Callable[[Command], Command]:
    return click.option("--strict", is_flag=True, help=text)


def sheet_options(command: Command) -> Command:
    """As `result_options`, with `--format` too: for a command that prints tables.Sheet."""
    return _format_option(result_options(command))


def bundles_option(what: str, *, required: bool = False) -> Callable[[Command], Command]:
    """`-b`, which may be repeated."""
    return click.option("-b", "--bundle", "bundles", type=PATH, multiple=True, required=required, help=what)


def repetitions_option(
    default: int, what: str, *, most: int = 1000, name: str = "--repetitions"
) -> Callable[[Command], Command]:
    return click.option(
        "-r", name, type=click.IntRange(1, most), default=default, show_default=True, help=what
    )


@contextmanager
def working(command: str, extra: str = "bench") -> Iterator[Callable[[str], None]]:
    """Prints errors as one_line does; gives what shows a line of progress on stderr while it lasts."""
    columns = SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False)
    with one_line(command, extra=extra), Progress(*columns, console=ERR, transient=True) as progress:
        task = progress.add_task("opening", total=None)
        yield lambda text: progress.update(task, description=text[:100])
