"""`gamer ask`: a question that takes several steps, answered while its steps are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from gamer.index.text import shown

from ..agent import calls
from ..agent.loop import ENDS, Budget, End, Outcome, Step
from ..agent.results import one_line as shortened
from ..agent.wording import in_words
from ..errors import RuntimeFailure
from ..search.answer import photos
from .console import json_line, plain
from .options import album_command, context_option, json_option, now_option, side_option

if TYPE_CHECKING:
    from ..agent.viewers import Viewer
    from ..door.album import Album

MINDS = ("rules", "llm")


@click.command()
@album_command("ask")
@click.argument("question")
@click.option(
    "--as",
    "end",
    type=click.Choice(ENDS),
    help="set: the photos that are meant. sentence: a short answer with its evidence. [default: what the "
    "question asks for]",
)
@click.option(
    "--mind",
    "mind_name",
    type=click.Choice(MINDS),
    default="rules",
    show_default=True,
    help="Who chooses the steps. llm: the bundle's language model.",
)
@click.option("--model", default=None, help="Ask this model of an OpenAI-compatible endpoint instead.")
@click.option(
    "--endpoint",
    default=None,
    metavar="URL",
    help="Where it answers; the key, if it wants one, is $GAMER_API_KEY. What is marked sharing=low or "
    "sensitivity=high is never told. [default: port 11434 of this machine]",
)
@context_option
@click.option(
    "--vision-model",
    default=None,
    help="Let this model of an OpenAI-compatible endpoint look at pictures, where --model asks for `view`.",
)
@click.option(
    "--vision",
    default=None,
    metavar="URL",
    help="Where it answers; the key, if it wants one, is $GAMER_VISION_API_KEY. What is marked sharing=low "
    "or sensitivity=high is never sent. [default: port 11434 of this machine]",
)
@side_option("--vision-side")
@click.option("--calls", "most_calls", type=click.IntRange(1, 1000), default=25, show_default=True)
@click.option("--views", "most_views", type=click.IntRange(0, 100), default=5, show_default=True)
@click.option("--turns", "most_turns", type=click.IntRange(1, 1000), default=30, show_default=True)
@now_option
@json_option
def ask(
    album: Album,
    question: str,
    end: End | None,
    mind_name: str,
    model: str | None,
    endpoint: str | None,
    context: int,
    vision_model: str | None,
    vision: str | None,
    vision_side: int,
    most_calls: int,
    most_views: int,
    most_turns: int,
    now: datetime | None,
    as_json: bool,
) -> None:
    """Answer a QUESTION about ALBUM that takes several steps, and show the steps.

    \b
    gamer ask out/album.gamer "what else did I photograph on the day of the rocket launch"
    gamer ask out/album.gamer "when did I have breakfast with Anna"
    gamer ask out/album.gamer "the photo after the parade" --model qwen3:4b
    gamer ask out/album.gamer "which of my bikes is red" --model qwen3:4b --vision-model qwen2.5vl:3b

    Ctrl-C ends the task and keeps what was found. With --json each step is one line of JSON, and the outcome
    the last line.
    """
    from ..door.album import Endpoint

    if endpoint is not None and model is None:
        raise RuntimeFailure("--endpoint needs the name of a model: give --model")
    outcome = album.ask(
        question,
        end=end,
        now=now,
        mind=mind_name,
        endpoint=Endpoint(model, endpoint, context) if model else None,
        viewer=_viewer(vision, vision_model, vision_side),
        budget=Budget(most_calls, most_views, most_turns),
        on_step=_print_step_as_json if as_json else _print_step,
    )
    if as_json:
        click.echo(json_line(outcome_json(outcome)))
    else:
        _print_outcome(outcome, outcome.files)
    if outcome.ended not in ("answer", "budget"):
        raise SystemExit(130 if outcome.ended == "interrupted" else 1)


def _viewer(url: str | None, model: str | None, side: int) -> Viewer | None:
    if model is None:
        if url is not None:
            raise RuntimeFailure("--vision needs the name of a model: give --vision-model")
        return None
    from ..agent.viewers import VisionViewer
    from ..models.vision import Vision

    return VisionViewer(Vision.open(url, model, side))


def step_json(step: Step) -> dict[str, Any]:
    """A step as JSON: thought, call, what it found, milliseconds, and what is left of the budget."""
    seen = step.observation
    return {
        "thought": step.thought,
        "tool": None if step.call is None else calls.name_of(step.call),
        "arguments": {} if step.call is None else calls.arguments_of(step.call),
        "error": "" if seen is None else seen.error,
        "result": None if seen is None else seen.result.full(),
        "ms": step.ms,
        "left": None if seen is None else asdict(seen.left),
    }


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON. A photo has its `id` as searches have it; steps name it by `image`, as minds do."""
    named = zip(outcome.photos, outcome.ids, outcome.files, strict=True)
    return {
        "question": shown(outcome.question),
        "end": outcome.end,
        "mind": outcome.mind,
        "sentence": outcome.answer.sentence,
        "found": outcome.answer.found,
        "photos": [asdict(item) | {"id": id_, "image": item.id, "file": file} for item, id_, file in named],
        "ended": outcome.ended,
        "steps": len(outcome.steps),
        "left": asdict(outcome.left),
    }


def _print_step_as_json(step: Step) -> None:
    click.echo(json_line(step_json(step)))


def _print_step(step: Step) -> None:
    click.echo(plain(f"· {step.thought}"))
    if step.call is None or step.observation is None:
        return
    seen = step.observation
    outcome = seen.error or f"{photos(len(seen.result.rows))}"
    line = f"  {shortened(in_words(step.call), 160)}: {outcome}, {step.ms:.0f} ms; {seen.left.line()}"
    click.echo(plain(line))


def _print_outcome(outcome: Outcome, files: Sequence[str]) -> None:
    if outcome.ended == "budget":
        click.echo("gamer ask: the budget is used up; this is what was found", err=True)
    elif outcome.ended != "answer":
        click.echo(plain(f"gamer ask: {outcome.ended}"), err=True)
    click.echo(plain(outcome.answer.sentence))
    for item, file in zip(outcome.shown, files, strict=False):
        click.echo(plain(f"  {item.taken or 'undated':19}  {shortened(item.memory or '', 90)}  {file}"))
