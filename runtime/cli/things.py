"""`gamer things`: what recurs of an album's owner's things, listed, shown, merged, split and forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import click

from gamer.index import AlbumError
from gamer.index.things import bank
from gamer.index.things.extract import ThingExtractor, extract
from gamer.index.things.records import ATTRIBUTES, UNSPECIFIED, Thing

from .console import say
from .options import album_command, json_option, numbered

if TYPE_CHECKING:
    from ..door.album import Album

T = TypeVar("T")
UNCHANGED = "interrupted; nothing was changed"


class _Listing(click.Group):
    """A group that takes an album in a command's place, and lists it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Listing)
def things() -> None:
    """The things of an album's owner, as its memories tell of them. `gamer things ALBUM` lists them."""


@things.command("list")
@album_command("things", models=False, interrupted=UNCHANGED)
@click.option("-n", "--limit", type=click.IntRange(1), default=None, help="Those that recur most only.")
@click.option("--build", is_flag=True, help="Read all memories anew first; what you changed stays.")
@click.option(
    "--extract",
    "extractor",
    type=click.Choice(("rules", "llm")),
    default="rules",
    show_default=True,
    help="Who finds things with --build. llm: also the bundle's language model, which may only give words of "
    "the memories; its answers are kept in ALBUM.extract.",
)
@json_option
def list_(album: Album, limit: int | None, build: bool, extractor: str, as_json: bool) -> None:
    """List the things of ALBUM, those first that recur over most days or events."""
    if build:
        by = _extractor(album, extractor)
        _changed(album, lambda db, path: bank.grow(db, path, by, again=True))
    listed = _read(album)[:limit]
    heading = f"{'':7} {'photos':>6} {'days':>5} {'events':>6}  thing"
    lines = [heading, *map(_line, listed)] if listed else [f"{album.path}: no things; --build looks for them"]
    say(as_json, {"things": [_figures(thing) for thing in listed]}, lines)


@things.command()
@album_command("things show", models=False, bundle=False, interrupted=UNCHANGED)
@click.argument("thing")
@json_option
def show(album: Album, thing: str, as_json: bool) -> None:
    """Show the attributes of THING (th12), with how many sightings give each value, and its photos."""
    found = _find(album, _row(thing))
    seen = {
        name: [f"{value} ({count})" for of, value, count in found.told if of == name] for name in ATTRIBUTES
    }
    values = [(name, ", ".join(listed) or UNSPECIFIED) for name, listed in seen.items()]
    told = [*values, *(("photo", photo) for photo in found.photos)]
    say(as_json, _figures(found), [_line(found), *(f"{name:12} {value}" for name, value in told)])


@things.command()
@album_command("things merge", models=False, bundle=False, interrupted=UNCHANGED)
@click.argument("kept")
@click.argument("others", nargs=-1, required=True)
@json_option
def merge(album: Album, kept: str, others: tuple[str, ...], as_json: bool) -> None:
    """Merge things: KEPT stays, OTHERS become part of it. `gamer things split` undoes it."""
    root, parts = _row(kept), [_row(other) for other in others]
    _changed(album, lambda db, path: bank.merge(db, path, root, parts))
    found = _find(album, root)
    say(as_json, _figures(found), [_line(found)])


@things.command()
@album_command("things split", models=False, bundle=False, interrupted=UNCHANGED)
@click.argument("thing")
@click.argument("photos", nargs=-1)
@json_option
def split(album: Album, thing: str, photos: tuple[str, ...], as_json: bool) -> None:
    """Undo a merge of THING; with PHOTOS (ids), make what these show of it a thing of its own."""
    row = _row(thing)
    freed = _changed(album, lambda db, path: bank.split(db, path, row, photos))
    found = [one for one in _read(album) if one.id in freed]
    say(as_json, {"things": [_figures(one) for one in found]}, map(_line, found))


@things.command()
@album_command("things forget", models=False, bundle=False, interrupted=UNCHANGED)
@click.argument("ids", nargs=-1, required=True)
@json_option
def forget(album: Album, ids: tuple[str, ...], as_json: bool) -> None:
    """Tell of the things IDS (th12) no more, also when they are seen again. Memories stay what they are."""
    rows = [_row(one) for one in dict.fromkeys(ids)]
    _changed(album, lambda db, path: bank.forget(db, path, rows))
    gone = [f"th{row}" for row in rows]
    say(as_json, {"forgotten": gone}, [f"forgotten: {' '.join(gone)}"])


def _row(text: str) -> int:
    return numbered(text, "th", wanted="an id that `gamer things` lists, such as th12")[1]


def _changed(album: Album, change: Callable[[apsw.Connection, Path], T]) -> T:
    with album.writing() as writer:
        return writer.change_optional(change)


def _extractor(album: Album, name: str) -> ThingExtractor:
    if name == "rules":
        return extract
    from ..indexing.things import LlmThings

    return LlmThings.open(album.bundle.models, album.path.with_name(album.path.name + ".extract"))


def _read(album: Album) -> list[Thing]:
    return album.reader.reading(bank.things)


def _find(album: Album, row: int) -> Thing:
    for thing in _read(album):
        if row in (thing.id, *thing.aliases):
            return thing
    raise AlbumError(f"{album.path}: there is no thing th{row}; `gamer things {album.path}` lists them")


def _line(thing: Thing) -> str:
    owned = " (yours)" if thing.owned else ""
    return f"{f'th{thing.id}':7} {len(thing.photos):6} {thing.days:5} {thing.events:6}  {thing.name}{owned}"


def _figures(thing: Thing) -> dict[str, Any]:
    figures = asdict(thing)
    figures["id"], figures["aliases"] = f"th{thing.id}", [f"th{alias}" for alias in thing.aliases]
    return figures
