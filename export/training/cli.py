"""`gamer train`: trains a recipe's projection experts on a person's own album. Parses, calls, prints."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.console import Console

from gamer.index import AlbumError

from ..errors import ExportError
from ..settings import Settings, parse_sources
from . import sft


@click.command()
@click.argument("recipe")
@click.option(
    "-a",
    "--album",
    type=click.Path(path_type=Path),
    required=True,
    help="The album whose photos and memories are learned from.",
)
@click.option(
    "-o",
    "--output-dir",
    "out",
    type=click.Path(path_type=Path),
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
    default=20,
    show_default=True,
    help="Passes over the memories.",
)
@click.option(
    "--batch",
    type=click.IntRange(2, 65_536),
    default=128,
    show_default=True,
    help="Pairs that are contrasted.",
)
@click.option(
    "--accumulate", type=click.IntRange(1, 4096), default=1, show_default=True, help="Batches a step."
)
@click.option(
    "--rate", type=click.FloatRange(0, 1), default=2e-5, show_default=True, help="Greatest learning rate."
)
@click.option("--tau", type=click.FloatRange(0.001, 10), default=0.07, show_default=True, help="τ of Eq. 3.")
@click.option(
    "--entropy",
    type=click.FloatRange(0, 100),
    default=0.01,
    show_default=True,
    help="Weight of the router's entropy (Eq. 2).",
)
@click.option(
    "--leave-out-positive", is_flag=True, help="The denominator of Eq. 3 as printed: negatives only."
)
@click.option(
    "--query",
    type=click.Choice(("text", "llm")),
    default="text",
    show_default=True,
    help="Whose state becomes v_Q: the text tower's vector, or the language model's at [EOS].",
)
@click.option(
    "--start",
    type=click.Choice(sft.STARTS),
    default="closed",
    show_default=True,
    help="closed: from a regression; random: as a new network.",
)
@click.option(
    "--until",
    type=click.DateTime(("%Y-%m-%d",)),
    default=None,
    help="Withhold the memories of photos taken from this day on.",
)
@click.option("--seed", type=int, default=20, show_default=True, help="Of the order and the random start.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
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
    console = Console(stderr=True)
    last = None if until is None else int(until.replace(tzinfo=UTC).timestamp() * 1000)
    try:
        settings = Settings(recipe, sources=parse_sources(recipe, None, weights))
        options = sft.Options(until=last, **chosen)  # type: ignore[arg-type]
        with console.status("photos") as status:

            def stage(what: str, done: int, total: int) -> None:
                status.update(f"{what} {done} of {total}")

            def report(epoch: sft.Epoch) -> None:
                console.print(epoch_text(epoch), highlight=False, soft_wrap=True)

            trained = sft.train(settings, album, out, options, stage, report)
    except (ExportError, AlbumError) as error:
        console.print(f"gamer train: {error}", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)
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
