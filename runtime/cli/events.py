"""`gamer index events` and `gamer index event rename|merge|split`: parse, call one function, print."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import click

from ..wall_time import day
from .console import say
from .options import album_command, json_option

if TYPE_CHECKING:
    from gamer.index import Event

    from ..door.album import Album
    from ..events.build import Counts


@click.command()
@album_command("index events", interrupted="interrupted; run the same command again")
@click.option("--build", is_flag=True, help="Make the events again; those that a person edited stay.")
@click.option(
    "--decider",
    type=click.Choice(("rules", "llm")),
    default="rules",
    show_default=True,
    help="Who says where an event begins. llm: the bundle's language model, a second or so a photo.",
)
@json_option
def events(album: Album, build: bool, decider: Literal["rules", "llm"], as_json: bool) -> None:
    """List the events of the album file ALBUM, and make them with its bundle if it has none.

    Photos without a date are in no event.
    """
    counts = None
    if build or not [*album.events]:
        counts = album.events.build(decider)
    listed = [*album.events]
    say(as_json, {"events": [_figures(e) for e in listed], "built": _made(counts)}, map(_line, listed))
    if counts and not as_json:
        click.echo(
            f"{album.path}: {counts.events} events of {counts.photos} photos; {counts.kept} edited, "
            f"{counts.unchanged} unchanged; {counts.undated} photos without a date",
            err=True,
        )


@click.group()
def event() -> None:
    """Rename, merge or split events. What is changed here stays when events are made again."""


@event.command()
@album_command("index event rename", models=False)
@click.argument("event_id")
@click.argument("name")
@json_option
def rename(album: Album, event_id: str, name: str, as_json: bool) -> None:
    """Give the event EVENT_ID of ALBUM a NAME."""
    _say(as_json, album.events.rename(event_id, name))


@event.command()
@album_command("index event merge", models=False)
@click.argument("first")
@click.argument("second")
@json_option
def merge(album: Album, first: str, second: str, as_json: bool) -> None:
    """Put the photos of the event SECOND into the event FIRST, whose name stays."""
    _say(as_json, album.events.merge(first, second))


@event.command()
@album_command("index event split", models=False)
@click.argument("event_id")
@click.argument("photo")
@json_option
def split(album: Album, event_id: str, photo: str, as_json: bool) -> None:
    """Make a new event of the photos of EVENT_ID from PHOTO (an id) on."""
    _say(as_json, *album.events.split(event_id, photo))


def _say(as_json: bool, *changed: Event) -> None:
    say(as_json, {"events": [_figures(event) for event in changed]}, map(_line, changed))


def _line(event: Event) -> str:
    mark = " (edited)" if event.edited else ""
    return f"{event.id} {day(event.start, ''):10} {len(event.photos):5}  {event.name}{mark}"


def _figures(event: Event) -> dict[str, Any]:
    return {name: value for name, value in vars(event).items() if name != "vector"}


def _made(counts: Counts | None) -> dict[str, Any] | None:
    return None if counts is None else {**asdict(counts), "path": str(counts.path)}
