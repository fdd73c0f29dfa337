"""The command `gamer bench llm-tasks`, registered in bench/cli/bench.py."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import click

from gamer.runtime.cli.console import one_line

from .options import PATH, Outlet, result_options, spinner, threads_option


@click.command("llm-tasks")
@click.argument("bundles", nargs=-1, required=True, type=PATH)
@click.option("--data", type=PATH, multiple=True, help="Also refine this data set's queries; repeatable.")
@click.option(
    "--queries", type=click.IntRange(1), default=50, show_default=True, help="Queries a user, evenly spread."
)
@click.option("--cache", type=PATH, default=None, help="Keep albums and the models' answers here.")
@result_options
@threads_option
def llm_tasks(
    bundles: tuple[Path, ...],
    data: tuple[Path, ...],
    queries: int,
    cache: Path | None,
    out: Outlet,
    threads: int,
) -> None:
    """Compare the language models of BUNDLES with each other and with the rules: entities, words of time and
    place, and refinements of queries; quality, milliseconds, megabytes.
    """
    from ..llm_tasks import measure as measuring

    with one_line("bench llm-tasks", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        with tempfile.TemporaryDirectory() as aside:
            home = cache or Path(aside)
            home.mkdir(parents=True, exist_ok=True)
            result = measuring.measure(
                bundles,
                data,
                home,
                queries,
                threads,
                lambda text: progress.update(task, description=text),
                _shown(bundles, data, queries),
            )
        out.save(asdict(result))
    out.show(asdict(result), lambda: click.echo("\n\n".join(s.markdown() for s in measuring.sheets(result))))


def _shown(bundles: tuple[Path, ...], data: tuple[Path, ...], queries: int) -> str:
    """The command as the result file records it: without folders, which would disclose local paths."""
    names = (bundle.name for bundle in bundles)
    sets = (f"--data {folder.name}" for folder in data)
    return " ".join(("gamer bench llm-tasks", *names, *sets, f"--queries {queries}"))


COMMANDS = (llm_tasks,)
