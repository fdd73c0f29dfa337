"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..backends import CHOICES

PATH = click.Path(path_type=Path)
THREADS = min(2, os.cpu_count() or 1)
BACKEND_HELP = "Engine that runs the bundle. coreml: on a Mac, by all processors or by those named."
backend_option = click.option(
    "--backend", type=click.Choice(CHOICES), default="onnx", show_default=True, help=BACKEND_HELP
)
threads_option = click.option(
    "--threads", type=click.IntRange(1, 64), default=THREADS, show_default=True, help="Threads per model."
)
album_bundle_option = click.option(
    "-b",
    "--bundle",
    type=PATH,
    default=None,
    help="Bundle directory. [default: $GAMER_BUNDLE, else the one that last wrote the album, else out/pocket "
    "beside or above the album]",
)
now_option = click.option(
    "--now",
    type=click.DateTime(),
    default=None,
    help="The day that 'last spring' counts from. [default: now]",
)
decider_option = click.option(
    "--decider",
    type=click.Choice(("rules", "llm")),
    default="rules",
    show_default=True,
    help="What decides what to remember and look up; llm: the bundle's language model, held to your words.",
)
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."
)
random_option = click.option(
    "--allow-random", is_flag=True, help="Use a bundle of random weights, whose answers mean nothing."
)
memory_option = click.option(
    "--max-memory",
    type=click.IntRange(1),
    default=None,
    metavar="MB",
    help="Models held at once. [default: no bound]",
)
context_option = click.option(
    "--context",
    type=click.IntRange(1, 10_000_000),
    default=8_192,
    show_default=True,
    help="Tokens that --model takes at once.",
)


def side_option(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The size of the copies of pictures that are sent to a model which sees (models/vision.py)."""
    return click.option(
        name,
        type=click.IntRange(64, 2_048),
        default=512,
        show_default=True,
        metavar="PX",
        help="Longer side of the copies of pictures that it is sent.",
    )
