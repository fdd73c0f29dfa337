"""`gamer train`: trains a recipe's projection experts on a person's own album. Parses, calls, prints."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamer.runtime.cli.console import one_line
from gamer.runtime.cli.options import PATH, json_option

from ..cli import bar
from ..errors import ExportError
from ..settings import Settings, parse_sources
from .options import STARTS, Options

if TYPE_CHECKING:
    from . import sft


@click.command()
@click.argument("recipe")
@click.option(
    "-a",
    "--album",
    type=PATH,
    required=True,
    help="The album whose photos and memories are learned from.",
)
@click.option(
    "-o",
    "--output-dir",
    "out",
    type=PATH,
    required=True,
    help="Directory of the checkpoint; a killed training in it goes on.",
)
@click.option(
    "--weights",
    multiple=True,
    metavar="PART=SOURCE",
    help="Weights of a part (image, text, llm), as in `gamer export`; repeat for more.",
)
@click.option(
    "--epochs",
    type=click.IntRange(0, 10_000),
    default=Options.epochs,
    show_default=True,
    help="Passes over the memories.",
)
@click.option(
    "--batch",
    type=click.IntRange(2, 65_536),
    default=Options.batch,
    show_default=True,
    help="Pairs that are contrasted.",
)
@click.option(
    "--accumulate",
    type=click.IntRange(1, 4096),
    default=Options.accumulate,
    show_default=True,
    help="Batches a step.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, 1),
    default=Options.rate,
    show_default=True,
    help="Greatest learning rate.",
)
@click.option(
    "--tau", type=click.FloatRange(0.001, 10), default=Options.tau, show_default=True, help="τ of Eq. 3."
)
@click.option(
    "--entropy",
    type=click.FloatRange(0, 100),
    default=Options.entropy,
    show_default=True,
    help="Weight of the router's entropy (Eq. 2).",
)
@click.option(
    "--leave-out-positive", is_flag=True, help="The denominator of Eq. 3 as printed: negatives only."
)
@click.option(
    "--query",
    type=click.Choice(("text", "llm")),
    default=Options.query,
    show_default=True,
    help="Whose state becomes v_Q: the text tower's vector, or the language model's at [EOS].",
)
@click.option(
    "--start",
    type=click.Choice(STARTS),
    default=Options.start,
    show_default=True,
    help="closed: from a regression; random: as a new network.",
)
@click.option(
    "--until",
    type=click.DateTime(("%Y-%m-%d",)),
    default=None,
    help="Withhold the memories of photos taken from this day on.",
)
@click.option(
    "--seed", type=int, default=Options.seed, show_default=True, help="Of the order and the random start."
)
@json_option
def train(
    recipe: str,
    album: Path,
    out: Path,
    weights: tuple[str, ...],
    until: datetime | None,
    as_json: bool,
    **chosen: object,
) -> None:
    """Train the experts (DPE) of RECIPE on an album, for `gamer export RECIPE --weights dpe=DIR`.

    Everything stays on this machine: the checkpoint is made of the album's photos and memories.
    """
    last = None if until is None else int(until.replace(tzinfo=UTC).timestamp() * 1000)
    on_interrupt = "interrupted; finished epochs are kept, run the same command to go on"
    with one_line("train", ExportError, extra="export", interrupted=on_interrupt):
        from . import sft

        settings = Settings(recipe, sources=parse_sources(recipe, None, weights))
        options = Options(until=last, **chosen)  # type: ignore[arg-type]
        with bar() as progress:
            task = progress.add_task("opening", total=None)

            def stage(what: str, done: int, total: int) -> None:
                progress.update(task, description=what, completed=done, total=total)

            def report(epoch: sft.Epoch) -> None:
                progress.update(task, description="epochs", completed=epoch.epoch, total=epoch.of)
                progress.console.print(epoch_text(epoch), highlight=False, soft_wrap=True)

            trained = sft.train(settings, album, out, options, stage, report)
    if as_json:
        print(json.dumps(asdict(trained), default=str, indent=1))
        return
    print(
        f"{out}: {trained.parameters / 1e6:.2f} M parameters from {trained.memories} memories of "
        f"{trained.photos} photos ({trained.missing} without pixels); next: gamer export {recipe} "
        f"--weights dpe={out}"
    )


def epoch_text(epoch: sft.Epoch) -> str:
    """A line of progress: losses, experts used, time left."""
    return (
        f"epoch {epoch.epoch} of {epoch.of}: loss {epoch.loss:.4f} (Eq. 3-4 {epoch.contrastive:.4f}, entropy "
        f"{epoch.entropy:.3f}), {epoch.experts:.2f} experts used, {epoch.seconds_left:.0f} s left"
    )
