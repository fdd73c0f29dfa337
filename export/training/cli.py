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

from ..errors import ExportError
from ..networks.ranks import WHOLE
from ..progress import bar
from ..settings import Settings, parse_sources
from .options import ALPHA, BETA, FORMS, PRECISIONS, STARTS, Options, Reinforcement

if TYPE_CHECKING:
    from rich.progress import Progress

    from . import align as aligning
    from . import sft, update
    from .loop import Epoch
    from .queries import Epoch as Aligning
    from .refinement import rlhf


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
    default=None,
    help="Directory of the checkpoint; a killed training in it goes on. For --align only with --lora.",
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
    help="Weight of the router's entropy (Eq. 2; printed: 1).",
)
@click.option(
    "--likelihood",
    type=click.FloatRange(0, 100),
    default=Options.likelihood,
    show_default=True,
    help="Weight of the memory's likelihood after soft prompts and query (Eq. 2; printed: 1).",
)
@click.option(
    "--lora",
    type=click.IntRange(0, 1024),
    default=Options.lora,
    show_default=True,
    help="Rank of what is changed in the language model; 0: nothing.",
)
@click.option(
    "--whole",
    is_flag=True,
    help="Instead of --lora: change every number of the language model's linear maps.",
)
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    default=Options.precision,
    show_default=True,
    help="Of the arithmetic.",
)
@click.option(
    "--steps",
    type=click.IntRange(0),
    default=Options.steps,
    show_default=True,
    help="End after so many optimiser steps; 0: after all epochs.",
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
    help="closed: from a regression; layers: with blocks of the text encoder; random: as a new network.",
)
@click.option(
    "--pooled/--patches",
    default=Options.pooled,
    show_default=True,
    help="Whether an expert gets the mean of a photo's patches, which costs a P-th, or all.",
)
@click.option(
    "--update",
    "base",
    type=PATH,
    default=None,
    help="A checkpoint that goes on from what was searched and opened, if it gets no worse.",
)
@click.option(
    "--reinforce",
    "policy",
    type=PATH,
    default=None,
    help="A checkpoint whose refinement of queries goes on by rewards (Eq. 5-6), if it earns no less.",
)
@click.option(
    "--align",
    is_flag=True,
    help="How queries are read, from what was searched and opened; with --lora, also titles of photos.",
)
@click.option(
    "-b",
    "--bundle",
    type=PATH,
    default=None,
    help="For --reinforce and --align: the bundle whose search is asked; for --align the album's by default.",
)
@click.option(
    "--queries",
    type=PATH,
    default=None,
    help='For --likelihood, --reinforce, --align: a JSONL of {"query", "photos"}; else what was opened.',
)
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1),
    default=ALPHA,
    show_default=True,
    help="For --reinforce: share of r1, the fit of text and photo; the rest is recall.",
)
@click.option(
    "--beta",
    type=click.FloatRange(0, 100),
    default=BETA,
    show_default=True,
    help="For --reinforce: weight of the divergence from the checkpoint.",
)
@click.option(
    "--form",
    type=click.Choice(FORMS),
    default=FORMS[0],
    show_default=True,
    help="For --reinforce: relative to a query's other answers (GRPO), or Eq. 6 as printed, with the photo.",
)
@click.option(
    "--reward",
    "judge",
    type=PATH,
    default=None,
    help="For --reinforce: a BLIP-2 directory for r1, instead of the checkpoint's experts.",
)
@click.option(
    "--until",
    type=click.DateTime(("%Y-%m-%d",)),
    default=None,
    help="Withhold the memories of photos taken from this day on.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 63) - 1),
    default=Options.seed,
    show_default=True,
    help="Of the order and the random start.",
)
@json_option
def train(
    recipe: str,
    album: Path,
    out: Path | None,
    weights: tuple[str, ...],
    base: Path | None,
    policy: Path | None,
    align: bool,
    bundle: Path | None,
    queries: Path | None,
    alpha: float,
    beta: float,
    form: str,
    judge: Path | None,
    until: datetime | None,
    whole: bool,
    as_json: bool,
    **chosen: object,
) -> None:
    """Train the experts (DPE) of RECIPE on an album, for `gamer export RECIPE --weights dpe=DIR`.

    Everything stays on this machine: the checkpoint is made of the album's photos and memories.
    """
    last = None if until is None else int(until.replace(tzinfo=UTC).timestamp() * 1000)
    on_interrupt = "interrupted; finished epochs are kept, run the same command to go on"
    with one_line("train", extra="export", interrupted=on_interrupt):
        _refuse_ignored(base, policy, align)
        settings = Settings(recipe, sources=parse_sources(recipe, None, weights))
        if whole:
            chosen["lora"] = WHOLE
        options = Options(until=last, **chosen)  # type: ignore[arg-type]
        with bar() as progress:
            result: sft.Trained | update.Updated | rlhf.Reinforced | aligning.Aligned
            if align:
                result = _align(settings, album, out, queries, bundle, options, progress)
            elif out is None:
                raise ExportError("say where the checkpoint goes: give -o DIR")
            elif policy is not None:
                if bundle is None:
                    raise ExportError("--reinforce searches with a bundle: give -b DIR")
                what = Reinforcement(policy, bundle, queries, alpha, beta, judge, form)
                result = _reinforce(settings, album, out, options, what, progress)
            elif base is not None:
                result = _update(settings, album, base, out, options, progress)
            else:
                result = _train(settings, album, out, options, queries, progress)
        if as_json:
            print(json.dumps(asdict(result), default=str, indent=1))
        else:
            print(result.text(recipe))
        if not getattr(result, "installed", True):
            raise ExportError(
                f"{policy or base or album} stays as it is: what came out finds no more, or forgets: "
                "not written"
            )


_ALWAYS = {"recipe", "album", "out", "weights", "epochs", "rate", "as_json"}
_OF_REINFORCE = {"bundle", "queries", "alpha", "beta", "judge", "form"}
_OF_ALIGN = {"recipe", "album", "epochs", "rate", "seed", "as_json", "align", "queries", "bundle"}


def _refuse_ignored(base: Path | None, policy: Path | None, align: bool) -> None:
    """Raises ExportError for an option that was given and would change nothing."""
    context = click.get_current_context()
    given = {p.name: p.opts[-1] for p in context.command.params if p.name and _is_given(context, p.name)}
    if align:
        titled = {"out", "lora", "weights"} if context.params["lora"] else set()
        allowed, where = _OF_ALIGN | titled, "with --align"
    elif base is not None:
        allowed, where = _ALWAYS | {"base"}, "with --update, which keeps the checkpoint's settings"
    elif policy is not None:
        allowed, where = _ALWAYS | _OF_REINFORCE | {"policy", "lora", "whole"}, "with --reinforce"
    else:
        asked = {"queries"} if context.params["likelihood"] > 0 else set()
        needed = "" if asked else " or --likelihood" * ("queries" in given)
        allowed, where = given.keys() - (_OF_REINFORCE - asked), f"without --reinforce{needed}"
    ignored = [option for name, option in given.items() if name not in allowed]
    if {"lora", "whole"} <= given.keys():
        ignored.append(given["lora"])
        where = "with --whole"
    if ignored:
        raise ExportError(f"{', '.join(ignored)} changes nothing {where}: leave it out")


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _train(
    settings: Settings, album: Path, out: Path, options: Options, queries: Path | None, progress: Progress
) -> sft.Trained:
    from . import sft

    return sft.train(settings, album, out, options, *talk(progress), queries)


def _align(
    settings: Settings,
    album: Path,
    out: Path | None,
    queries: Path | None,
    bundle: Path | None,
    options: Options,
    progress: Progress,
) -> aligning.Aligned:
    from . import align as aligning
    from .queries import EPOCHS, RATE

    stage, say, _ = talk(progress)
    context = click.get_current_context()
    epochs = options.epochs if _is_given(context, "epochs") else EPOCHS
    rate = options.rate if _is_given(context, "rate") else RATE

    def report(epoch: Aligning) -> None:
        stage("epochs", epoch.epoch, epoch.of)
        say(f"epoch {epoch.epoch} of {epoch.of}: loss {epoch.loss:.4f} (Eq. 3-4, over the whole album)")

    if options.lora and out is None:
        raise ExportError(
            "say where the training of titles is kept, and goes on if it is killed: give -o DIR"
        )
    titling = None if out is None or not options.lora else aligning.Titling(options.lora, out)
    return aligning.align(
        settings, album, queries, bundle, titling, epochs, rate, options.seed, report, stage, say
    )


def _update(
    settings: Settings, album: Path, base: Path, out: Path, options: Options, progress: Progress
) -> update.Updated:
    from . import update

    return update.update(settings, album, base, out, options.epochs, options.rate, *talk(progress))


def _reinforce(
    settings: Settings, album: Path, out: Path, options: Options, what: Reinforcement, progress: Progress
) -> rlhf.Reinforced:
    from .refinement import rlhf

    stage, say, _ = talk(progress)
    return rlhf.reinforce(settings, album, out, options, what, stage, say)


def talk(progress: Progress) -> tuple[sft.Stage, sft.Say, sft.Report]:
    """How a training tells what it does: a stage's progress, a line, an epoch."""
    task = progress.add_task("opening", total=None)

    def stage(what: str, done: int, total: int) -> None:
        progress.update(task, description=what, completed=done, total=total)

    def say(text: str) -> None:
        progress.console.print(text, highlight=False, soft_wrap=True)

    def report(epoch: Epoch) -> None:
        progress.update(task, description="epochs", completed=epoch.epoch, total=epoch.of)
        say(epoch_text(epoch))

    return stage, say, report


def epoch_text(epoch: Epoch) -> str:
    """A line of progress: losses, experts used, time left."""
    told = f", likelihood {epoch.likelihood:.3f}" if epoch.likelihood else ""
    return (
        f"epoch {epoch.epoch} of {epoch.of}: loss {epoch.loss:.4f} (Eq. 3-4 {epoch.contrastive:.4f}, entropy "
        f"{epoch.entropy:.3f}{told}), {epoch.experts:.2f} experts used, {epoch.seconds_left:.0f} s left"
    )
