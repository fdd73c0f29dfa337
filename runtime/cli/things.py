"""`gamer things`: what recurs of an album's owner's things, listed, shown, merged, split and forgotten."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamer.index import Album, AlbumError, AlbumWriter
from gamer.index.things import bank
from gamer.index.things.extract import ThingExtractor, extract
from gamer.index.things.records import Thing

from ..door.bundle import bundle_of
from .console import one_line, say
from .options import PATH, album_bundle_option, json_option

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


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
@click.argument("album", type=PATH)
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
@album_bundle_option
@json_option
def list_(
    album: Path, limit: int | None, build: bool, extractor: str, bundle: Path | None, as_json: bool
) -> None:
    """List the things of ALBUM, those first that recur over most days or events."""
    with _told("things"):
        if build:
            _grow(album, extractor, bundle)
        listed = _read(album)[:limit]
    heading = f"{'':7} {'photos':>6} {'days':>5} {'events':>6}  thing"
    lines = [heading, *map(_line, listed)] if listed else [f"{album}: no things; --build looks for them"]
    say(as_json, {"things": [_figures(thing) for thing in listed]}, lines)


@things.command()
@click.argument("album", type=PATH)
@click.argument("thing")
@json_option
def show(album: Path, thing: str, as_json: bool) -> None:
    """Show the attributes and the photos of THING (th12)."""
    with _told("things show"):
        found = _find(album, parse_id(thing))
    told = [*vars(found.attributes).items(), *(("photo", photo) for photo in found.photos)]
    say(as_json, _figures(found), [_line(found), *(f"{name:12} {value}" for name, value in told)])


@things.command()
@click.argument("album", type=PATH)
@click.argument("kept")
@click.argument("others", nargs=-1, required=True)
@json_option
def merge(album: Path, kept: str, others: tuple[str, ...], as_json: bool) -> None:
    """Merge things: KEPT stays, OTHERS become part of it. `gamer things split` undoes it."""
    with _told("things merge"):
        root, parts = parse_id(kept), [parse_id(other) for other in others]
        with AlbumWriter.extend(album) as writer:
            writer.change_optional(lambda db, path: bank.merge(db, path, root, parts))
        found = _find(album, root)
    say(as_json, _figures(found), [_line(found)])


@things.command()
@click.argument("album", type=PATH)
@click.argument("thing")
@click.argument("photos", nargs=-1)
@json_option
def split(album: Path, thing: str, photos: tuple[str, ...], as_json: bool) -> None:
    """Undo a merge of THING; with PHOTOS (ids), make what these show of it a thing of its own."""
    with _told("things split"):
        row = parse_id(thing)
        with AlbumWriter.extend(album) as writer:
            freed = writer.change_optional(lambda db, path: bank.split(db, path, row, photos))
        found = [one for one in _read(album) if one.id in freed]
    say(as_json, {"things": [_figures(one) for one in found]}, map(_line, found))


@things.command()
@click.argument("album", type=PATH)
@click.argument("ids", nargs=-1, required=True)
@json_option
def forget(album: Path, ids: tuple[str, ...], as_json: bool) -> None:
    """Tell of the things IDS (th12) no more, also when they are seen again. Memories stay what they are."""
    with _told("things forget"):
        rows = [parse_id(one) for one in dict.fromkeys(ids)]
        with AlbumWriter.extend(album) as writer:
            writer.change_optional(lambda db, path: bank.forget(db, path, rows))
    gone = [f"th{row}" for row in rows]
    say(as_json, {"forgotten": gone}, [f"forgotten: {' '.join(gone)}"])


def parse_id(text: str) -> int:
    """ "th12" → 12. Raises AlbumError for anything else."""
    number = text.removeprefix("th")
    if number == text or not (number.isascii() and number.isdigit()) or len(number) > 15:
        raise AlbumError(f"{text[:40]!r} must be an id that `gamer things` lists, such as th12")
    return int(number)


def _told(command: str) -> AbstractContextManager[None]:
    return one_line(command, interrupted="interrupted; nothing was changed")


def _grow(album: Path, extractor: str, bundle: Path | None) -> None:
    by: ThingExtractor = extract
    if extractor == "llm":
        from ..indexing.things import LlmThings

        models = bundle_of(album, bundle).models
        by = LlmThings.open(models, album.with_name(album.name + ".extract"))
    with AlbumWriter.extend(album) as writer:
        writer.change_optional(lambda db, path: bank.grow(db, path, by, again=True))


def _read(album: Path) -> list[Thing]:
    with Album.open(album) as opened:
        return opened.reading(bank.things)


def _find(album: Path, row: int) -> Thing:
    for thing in _read(album):
        if row in (thing.id, *thing.aliases):
            return thing
    raise AlbumError(f"{album}: there is no thing th{row}; `gamer things {album}` lists them")


def _line(thing: Thing) -> str:
    owned = " (yours)" if thing.owned else ""
    return f"{f'th{thing.id}':7} {len(thing.photos):6} {thing.days:5} {thing.events:6}  {thing.name}{owned}"


def _figures(thing: Thing) -> dict[str, Any]:
    figures = asdict(thing)
    figures["id"], figures["aliases"] = f"th{thing.id}", [f"th{alias}" for alias in thing.aliases]
    return figures
