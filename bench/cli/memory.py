"""The commands `gamer bench memory` and `gamer bench things`, registered in bench/cli/bench.py."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line
from gamer.runtime.cli.options import decider_option

from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option
from .quality import shown_command

if TYPE_CHECKING:
    from ..memory.measure import MemoryQuality
    from ..memory.things import ThingsQuality


@click.command()
@bundle_option
@click.option("--data", type=PATH, default=None, help="LoCoMo's folder; without it that part is left out.")
@click.option("--fit", is_flag=True, help="Print the weights of recall as fitted to all of --data, and end.")
@click.option("--turns", type=click.IntRange(1), default=100_000, show_default=True, help="Album to grow to.")
@decider_option
@result_options
@threads_option
def memory(
    bundle: Path, data: Path | None, fit: bool, turns: int, decider: str, out: Outlet, threads: int
) -> None:
    """What the memory of the person finds, how it follows changes of mind, and what it costs as it grows."""
    from gamer.runtime.memory.recall import encoder_of
    from gamer.runtime.models.models import Models

    from ..memory import evidence
    from ..memory import measure as measuring

    if fit and data is None:
        raise click.UsageError("--fit needs --data")
    with one_line("bench memory", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)

        def tell(text: str) -> None:
            progress.update(task, description=text)

        if fit and data is not None:
            encoder = encoder_of(Models.open(bundle, "onnx", threads))
            assert encoder is not None
            weights = evidence.measure(data, encoder, tell).weights
            out.save(weights)
        else:
            given = (f" --data {data.name}" if data else "") + (" --decider llm" if decider == "llm" else "")
            shown = shown_command(f"memory{given}", bundle, ())
            result = measuring.measure(bundle, data, turns, threads, tell, shown, decider)
            out.save(asdict(result))
    if fit:
        click.echo(json.dumps(weights))
    else:
        out.show(asdict(result), lambda: _print(result))


def _print(result: MemoryQuality) -> None:
    console = Console()
    if result.evidence is None:
        click.echo("evidence: left out, since no --data was given")
    else:
        kinds = [*result.evidence.questions]
        table = Table(title=f"share of the evidence found, in {result.evidence.items} turns a question")
        table.add_column("")
        for kind in kinds:
            table.add_column(f"{kind} ({result.evidence.questions[kind]})", justify="right")
        for method, found in result.evidence.found.items():
            table.add_row(method, *(f"{found[kind]:.3f}" for kind in kinds))
        table.add_row("held out / best baseline", *(f"{result.evidence.ratios[k]:.2f}" for k in kinds))
        console.print(table)
    updates = result.updates
    click.echo(f"changes of mind: now right {updates.now}, before {updates.before}")
    click.echo(f"made up: {updates.invented} of {updates.never_said}")
    for grown in result.growth:
        click.echo(
            f"{grown.turns} turns: retrieval p95 {grown.retrieval_ms[1]} ms, "
            f"update p95 {grown.update_ms[1]} ms, {grown.mb} MB"
        )


@click.command()
@click.argument("data", type=PATH, nargs=-1, required=True)
@bundle_option
@click.option("--cache", type=PATH, required=True, help="Where the users' albums are kept between runs.")
@result_options
@threads_option
def things(data: tuple[Path, ...], bundle: Path, cache: Path, out: Outlet, threads: int) -> None:
    """Recall@5 with the bank of things, without it, and with another user's bank, over the folders DATA.

    The weight is cross-validated by user; p is of a paired permutation test.
    """
    from ..memory import things as measuring

    with one_line("bench things", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        shown = shown_command("things " + " ".join(folder.name for folder in data), bundle, ())
        cache.mkdir(parents=True, exist_ok=True)
        result = measuring.measure(
            bundle, data, cache, threads, lambda text: progress.update(task, description=text), shown
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: _print_things(result))


def _print_things(result: ThingsQuality) -> None:
    table = Table(title="recall@5, macro over users")
    for name in ("data set", "queries", "number", "without", "own bank", "p", "another's bank", "p", "+/-"):
        table.add_column(name, justify="left" if name in ("data set", "queries") else "right")
    for gain in result.gains:
        without, own, other = gain.recall5.values()
        table.add_row(
            gain.dataset,
            gain.subset,
            str(gain.queries),
            f"{without:.4f}",
            f"{own:.4f}",
            f"{gain.p:.3f}",
            f"{other:.4f}",
            f"{gain.p_other:.3f}",
            f"{gain.better}/{gain.worse}",
        )
    Console().print(table)
    click.echo(f"weights of the folds: {', '.join(map(str, result.weights))}")


COMMANDS = (memory, things)
