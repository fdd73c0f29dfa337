"""The command `gamer bench agent`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamer.runtime.cli.console import one_line
from gamer.runtime.cli.options import context_option
from gamer.runtime.errors import RuntimeFailure

from .agent_tables import sheets
from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option
from .quality import shown_command

DATA = ("album", "album-pixels", "locomo", "lihua", "camroll-qa")  # as measure.DATA, which imports models
MINDS = ("rules", "llm", "openai")

if TYPE_CHECKING:
    from ..agent.measure import Plan
    from ..agent.players import Remote


@click.command()
@bundle_option
@click.option(
    "--data", type=PATH, required=True, help="Folder of the data sets album, locomo, lihua, camroll-qa."
)
@click.option("--cache", type=PATH, required=True, help="Keep the albums here between runs.")
@click.option(
    "--mind",
    "names",
    multiple=True,
    type=click.Choice(MINDS),
    default=("rules",),
    show_default=True,
    help="A mind; repeat for more. openai: the model of --model.",
)
@click.option("--model", default=None, help="A model of an OpenAI-compatible endpoint, for --mind openai.")
@click.option(
    "--endpoint",
    default=None,
    metavar="URL",
    help="Where it answers; its key, if any, is $GAMER_API_KEY. [default: port 11434 of this machine]",
)
@context_option
@click.option(
    "--only", multiple=True, type=click.Choice(DATA), help="A data set; repeat for more. [default: all]"
)
@click.option(
    "--runs",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="Answer the albums' queries so often: the best answer, and the commonest.",
)
@click.option(
    "--queries",
    type=click.IntRange(1),
    default=None,
    help="The most queries of each group of the albums, evenly spread, for a slow model. [default: all]",
)
@click.option("--ablate", is_flag=True, help="Take away tools, events and captions in turn, on the albums.")
@click.option("--record", type=PATH, default=None, help="Write every task's trace to this file.")
@click.option("--replay", type=PATH, default=None, help="Play the traces of this file again, without minds.")
@result_options
@threads_option
def agent(
    bundle: Path,
    data: Path,
    cache: Path,
    names: tuple[str, ...],
    model: str | None,
    endpoint: str | None,
    context: int,
    only: tuple[str, ...],
    runs: int,
    queries: int | None,
    ablate: bool,
    record: Path | None,
    replay: Path | None,
    out: Outlet,
    threads: int,
) -> None:
    """How well agents answer questions that take several steps, beside one search and BM25 with their best
    thresholds, on the same albums; what they use, and what goes wrong.

    A trace holds questions and answers about the albums: keep it where the data sets are.
    """
    from ..agent import measure as measuring

    with one_line("bench agent", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        _check(record, replay, ablate)
        plan = measuring.Plan(
            bundle,
            data,
            cache,
            names,
            only,
            threads,
            _remote(names, model, endpoint, context),
            runs,
            queries or 0,
            ablate,
            record,
            replay,
        )
        plan = replace(plan, command=_shown(plan))
        result = measuring.measure(plan, lambda text: progress.update(task, description=text))
        out.save(asdict(result))
    out.show(asdict(result), lambda: click.echo("\n\n".join(sheet.markdown() for sheet in sheets(result))))


def _check(record: Path | None, replay: Path | None, ablate: bool) -> None:
    if replay is not None and (record is not None or ablate):
        raise RuntimeFailure("--replay plays what was recorded: leave out --record and --ablate")


def _remote(names: tuple[str, ...], model: str | None, endpoint: str | None, context: int) -> Remote | None:
    from ..agent.players import Remote

    if endpoint is not None and model is None:
        raise RuntimeFailure("--endpoint needs the name of a model: give --model")
    if (model is not None) != ("openai" in names):
        raise RuntimeFailure("--mind openai and --model NAME belong together: give both or none")
    return None if model is None else Remote(model, endpoint, context)


def _shown(plan: Plan) -> str:
    """The command, without folders and the endpoint's address."""
    played = ["--replay FILE"] if plan.replay is not None else [f"--mind {name}" for name in plan.names]
    options = (
        *played,
        *([f"--model {plan.remote.model}"] if plan.remote else []),
        *(f"--only {name}" for name in plan.only),
        *([f"--runs {plan.runs}"] if plan.runs > 1 else []),
        *([f"--queries {plan.queries}"] if plan.queries else []),
        *(["--ablate"] if plan.ablate else []),
    )
    return shown_command("agent", plan.bundle, options)


COMMANDS = (agent,)
