"""`gamer bench` commands about quality: parse, call one function, print. bench/cli.py registers them."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from gamer.runtime.console import one_line
from rich.console import Console
from rich.table import Table

from .datasets import DatasetError
from .files import write_aside
from .options import PATH, bundle_option, spinner, threads_option
from .sample import SampleError


@click.command()
@click.argument("dataset", type=PATH)
@bundle_option
@click.option("--mode", type=click.Choice(("fused", "paper")), default="fused", show_default=True, help="The engine's ranking mode.")
@click.option("--cache", type=PATH, default=None, help="Keep the albums here between runs.")
@click.option("--run", "run_file", type=PATH, default=None, help="Write {query id: [ids]} for an outside scorer.")
@click.option("--output", type=PATH, default=None, help="Write the figures as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON instead of the table.")
@threads_option
def quality(
    dataset: Path, bundle: Path, mode: str, cache: Path | None, run_file: Path | None, output: Path | None, as_json: bool, threads: int
) -> None:
    """Recall and MAP on DATASET: a folder of USER.corpus.jsonl.gz and USER.queries.jsonl.gz files, one album a user."""
    from . import quality as measuring

    with one_line("bench quality", DatasetError, SampleError, extra="bench"):
        with spinner() as progress:
            task = progress.add_task("opening", total=None)
            found, run = measuring.evaluate(bundle, dataset, mode, threads, cache, lambda text: progress.update(task, description=text))
        text = json.dumps(asdict(found), ensure_ascii=False)
        if run_file:
            write_aside(run_file, json.dumps(run))
        if output:
            write_aside(output, text)
    if as_json:
        click.echo(text)
        return
    table = Table(title=f"{found.dataset}, mode {found.mode}")
    for name in ("user", "photos", "queries", "recall@5", "map@5", "map@5_std", "recall@10", "mrr@10", "p50 ms"):
        table.add_column(name, justify="left" if name == "user" else "right")
    for row in found.users:
        table.add_row(row.user, str(row.photos), str(row.queries), *(f"{v:.4f}" for v in asdict(row.scores).values()), f"{row.p50_ms:.1f}")
    table.add_row("macro", "", "", *(f"{v:.4f}" for v in asdict(found.macro).values()), "")
    Console().print(table)


@click.command()
@click.argument("datasets", type=PATH, nargs=-1, required=True)
@bundle_option
@click.option("--cache", type=PATH, required=True, help="Keep the albums here between runs.")
@click.option("--output", type=PATH, default=None, help="Write the figures as JSON.")
@threads_option
def fit(datasets: tuple[Path, ...], bundle: Path, cache: Path, output: Path | None, threads: int) -> None:
    """Fit the ranking's weights to DATASETS, cross-validated by user, with what each summand adds to recall@5."""
    from . import fit as fitting

    with one_line("bench fit", DatasetError, SampleError, extra="bench"), spinner() as progress:
        cache.mkdir(parents=True, exist_ok=True)
        task = progress.add_task("opening", total=None)
        found = fitting.fit(bundle, datasets, threads, cache, lambda text: progress.update(task, description=text))
        if output:
            write_aside(output, json.dumps(asdict(found), ensure_ascii=False))
    table = Table(title="macro recall@5")
    for name in ("", *found.trained):
        table.add_column(name, justify="right" if name else "left")
    table.add_row("fitted", *(f"{v:.4f}" for v in found.trained.values()))
    table.add_row("cross-validated by user", *(f"{found.cross_validated[name]:.4f}" for name in found.trained))
    for step in found.steps:
        table.add_row(f"without {step.without}", *(f"{v:.4f}" for v in step.recall5.values()))
    Console().print(table)
    Console().print({name: value for name, value in asdict(found.ranking).items() if name != "fitted"})
    Console().print("called not in the album:", found.doubted)


COMMANDS = (quality, fit)
