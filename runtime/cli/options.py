"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from gamer.index import AlbumError

from ..backends import CHOICES
from ..door.bundle import Running
from .console import one_line

PATH = click.Path(path_type=Path)
BACKEND_HELP = "Engine that runs the bundle. coreml: on a Mac, by all processors or by those named."
backend_option = click.option(
    "--backend", type=click.Choice(CHOICES), default="onnx", show_default=True, help=BACKEND_HELP
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(1, 64),
    help="Threads per model. [default: 2, or 1 while other programs use the cores]",
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


def album_command(
    name: str,
    *,
    models: bool = True,
    bundle: bool = True,
    extra: str = "all",
    interrupted: str = "interrupted",
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the argument ALBUM to a command, which receives it opened, and prints errors as one line.

    `models`: with the options of how models run. `bundle`: with -b. `name`, `extra`, `interrupted`: see
    one_line.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def opening(album: Path, **given: Any) -> None:
            with one_line(name, extra=extra, interrupted=interrupted):
                from ..door.album import Album

                named, running = given.pop("bundle", None), running_of(given)
                with Album(album, named, running) as opened:
                    command(opened, **given)

        parameters = [click.argument("album", type=PATH)] + [album_bundle_option] * bundle
        run: Callable[..., None] = opening
        for parameter in ([running_options] if models else []) + parameters[::-1]:
            run = parameter(run)
        return run

    return decorate


def running_options(command: Callable[..., None]) -> Callable[..., None]:
    """How a bundle's models run; `running_of` reads them."""
    for option in (random_option, memory_option, threads_option, backend_option):
        command = option(command)
    return command


def running_of(given: dict[str, Any]) -> Running:
    """Takes the options of `running_options` out of what click gives."""
    named = {field.name: given.pop(field.name) for field in fields(Running) if field.name in given}
    return Running(**named)


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


def numbered(text: str, *letters: str, wanted: str) -> tuple[str, int]:
    """ "m12" → ("m", 12). Raises AlbumError for what is none behind one of `letters`; `wanted`: in words."""
    letter = next((one for one in letters if text.startswith(one)), "")
    number = text.removeprefix(letter)
    if not letter or not (number.isascii() and number.isdigit()) or len(number) > 15:
        raise AlbumError(f"{text[:40]!r} must be {wanted}")
    return letter, int(number)
