"""The commands `gamer bench update` and `gamer bench alpha`, registered in bench/cli/bench.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import click

from gamer.runtime.cli.console import one_line

from ..retrieval import paper_training
from .options import PATH, Outlet, bundle_option, result_options


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """The options of both commands: RECIPE, album, checkpoint, queries, folder, epochs and rate."""
    for option in reversed(
        (
            click.argument("recipe"),
            click.option("-a", "--album", type=PATH, required=True, help="The album that is searched."),
            click.option("--base", type=PATH, required=True, help="A checkpoint of `gamer train`."),
            click.option("--queries", type=PATH, required=True, help="A JSONL of queries and their photos."),
            click.option(
                "--work",
                type=PATH,
                required=True,
                help="Directory of the trainings; killed ones in it go on.",
            ),
            click.option("--epochs", type=click.IntRange(0, 10_000), default=20, show_default=True),
            click.option("--rate", type=click.FloatRange(0, 1), default=2e-5, show_default=True),
        )
    ):
        command = option(command)
    return command


@click.command("update")
@_shared
@result_options
def update(
    recipe: str, album: Path, base: Path, queries: Path, work: Path, epochs: int, rate: float, out: Outlet
) -> None:
    """Continuous learning (Table 11): what --base finds before and after it learned from searches.

    The queries, {"query", "relevant"}, stand for searches, by the time of the first photo that answers; the
    first three quarters are learned from and the last is measured.
    """
    from gamer.export.cli import bar
    from gamer.export.settings import Settings
    from gamer.export.training.cli import talk
    from gamer.export.training.options import Options

    from .. import learning

    with one_line("bench update", extra="export"), bar() as progress:
        options = Options(epochs=epochs, rate=rate)
        result = learning.update(Settings(recipe), album, base, queries, work, options, talk(progress))
        out.save(asdict(result))
    out.show(asdict(result), lambda: click.echo(paper_training.updates([asdict(result)])))


@click.command("alpha")
@_shared
@bundle_option
@click.option("--lora", type=click.IntRange(0, 1024), default=0, show_default=True, help="As in gamer train.")
@click.option("--reward", "judge", type=PATH, default=None, help="As in gamer train.")
@click.option(
    "--alpha", "chosen", type=click.FloatRange(0, 1), multiple=True, help="Repeat for more; 0.3 to 0.7."
)
@result_options
def alpha(
    recipe: str,
    album: Path,
    bundle: Path,
    base: Path,
    queries: Path,
    work: Path,
    epochs: int,
    rate: float,
    lora: int,
    judge: Path | None,
    chosen: tuple[float, ...],
    out: Outlet,
) -> None:
    """Reinforcement with several α (Table 8): what the refinement of --base earns and finds afterwards.

    The queries are {"query", "photos"}; the first three quarters are learned from and the last is measured.
    """
    from gamer.export.cli import bar
    from gamer.export.settings import Settings
    from gamer.export.training.cli import talk
    from gamer.export.training.options import Options, Reinforcement

    from .. import learning

    with one_line("bench alpha", extra="export"), bar() as progress:
        result = learning.alphas(
            Settings(recipe),
            album,
            Reinforcement(base, bundle, queries, judge=judge),
            work,
            chosen or learning.ALPHAS,
            Options(epochs=epochs, rate=rate, lora=lora),
            talk(progress),
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: click.echo(paper_training.alphas(asdict(result))))


COMMANDS = (update, alpha)
