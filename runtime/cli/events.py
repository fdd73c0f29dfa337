"""`gamer index events` and `gamer index event rename|merge|split`: parse, call one function, print."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamer.index import Album, Event
from gamer.index.console import plain

from ..errors import RuntimeFailure
from .console import one_line
from .options import PATH, album_bundle_option, backend_option, json_option, random_option, threads_option
from .search import find_bundle

if TYPE_CHECKING:
    from ..events.build import Counts
    from ..models.models import Models


@click.command()
@click.argument("album", type=PATH)
@click.option("-b", "--bundle", type=PATH, default=None, help="Bundle of the album, to make events with.")
@click.option("--build", is_flag=True, help="Make the events again; those that a person edited stay.")
@click.option(
    "--decider",
    type=click.Choice(("rules", "llm")),
    default="rules",
    show_default=True,
    help="Who says where an event begins. llm: the bundle's language model, a second or so a photo.",
)
@backend_option
@threads_option
@random_option
@json_option
def events(
    album: Path,
    bundle: Path | None,
    build: bool,
    decider: str,
    backend: str,
    threads: int,
    allow_random: bool,
    as_json: bool,
) -> None:
    """List the events of the album file ALBUM, and make them if it has none, which needs --bundle.

    Photos without a date are in no event.
    """
    counts = None
    with one_line("index events", interrupted="interrupted; run the same command again"):
        with Album.open(album) as opened:
            listed = opened.events()
        if build or not listed:
            if bundle is None:
                raise RuntimeFailure(f"{album}: events are made with a bundle: give --bundle")
            counts = _build(album, _open(bundle, backend, threads, allow_random), decider)
            with Album.open(album) as opened:
                listed = opened.events()
    if as_json:
        click.echo(json.dumps({"events": [_figures(e) for e in listed], "built": _made(counts)}))
        return
    for event in listed:
        click.echo(_line(event))
    if counts:
        click.echo(
            f"{album}: {counts.events} events of {counts.photos} photos; {counts.kept} edited, "
            f"{counts.unchanged} unchanged; {counts.undated} photos without a date",
            err=True,
        )


@click.group()
def event() -> None:
    """Rename, merge or split events. What is changed here stays when events are made again."""


@event.command()
@click.argument("album", type=PATH)
@click.argument("event_id")
@click.argument("name")
@album_bundle_option
@json_option
def rename(album: Path, event_id: str, name: str, bundle: Path | None, as_json: bool) -> None:
    """Give the event EVENT_ID of ALBUM a NAME."""
    with one_line("index event rename"):
        from ..events import build as building

        done = building.rename(album, _open(bundle or find_bundle(album)), event_id, name)
    _say(as_json, done)


@event.command()
@click.argument("album", type=PATH)
@click.argument("first")
@click.argument("second")
@album_bundle_option
@json_option
def merge(album: Path, first: str, second: str, bundle: Path | None, as_json: bool) -> None:
    """Put the photos of the event SECOND into the event FIRST, whose name stays."""
    with one_line("index event merge"):
        from ..events import build as building

        done = building.merge(album, _open(bundle or find_bundle(album)), first, second)
    _say(as_json, done)


@event.command()
@click.argument("album", type=PATH)
@click.argument("event_id")
@click.argument("photo")
@album_bundle_option
@json_option
def split(album: Path, event_id: str, photo: str, bundle: Path | None, as_json: bool) -> None:
    """Make a new event of the photos of EVENT_ID from PHOTO (an id) on."""
    with one_line("index event split"):
        from ..events import build as building

        done = building.split(album, _open(bundle or find_bundle(album)), event_id, photo)
    _say(as_json, *done)


def _open(bundle: Path, backend: str = "onnx", threads: int = 2, allow_random: bool = False) -> Models:
    from ..models.models import Models

    return Models.open(bundle, backend, threads, allow_random=allow_random)


def _build(album: Path, models: Models, decider: str) -> Counts:
    from ..events.build import segment_album

    if decider == "rules":
        return segment_album(album, models)
    from ..events.llm import LlmDecider

    return segment_album(album, models, LlmDecider.open(models))


def _say(as_json: bool, *changed: Event) -> None:
    if as_json:
        click.echo(json.dumps({"events": [_figures(event) for event in changed]}))
        return
    for event in changed:
        click.echo(_line(event))


def _line(event: Event) -> str:
    mark = " (edited)" if event.edited else ""
    return plain(f"{event.id} {_day(event.start):10} {len(event.photos):5}  {event.name}{mark}")


def _figures(event: Event) -> dict[str, Any]:
    return {name: value for name, value in vars(event).items() if name != "vector"}


def _made(counts: Counts | None) -> dict[str, Any] | None:
    return None if counts is None else {**asdict(counts), "path": str(counts.path)}


def _day(wall: int | None) -> str:
    try:
        return "" if wall is None else f"{datetime.fromtimestamp(wall / 1000, UTC):%Y-%m-%d}"
    except (OverflowError, OSError, ValueError):
        return ""
