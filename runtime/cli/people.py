"""`gamer people`: who is in an album's photos, listed, named, made one, taken apart and forgotten."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RuntimeFailure
from .console import one_line, plain
from .options import PATH, album_bundle_option, json_option
from .search import find_bundle

if TYPE_CHECKING:
    from gamer.index.people.records import Person

    from ..indexing.people import Forgotten, OpenEncoder
    from ..models.models import Models

album_argument = click.argument("album", type=PATH)
person_argument = click.argument("person")


@click.group()
def people() -> None:
    """Who is in an album's photos, found by `gamer index add --people`. A person is called p12, or by name.

    Names are yours: the program guesses none. What is known of faces stays in the album's file, and goes into
    no export and no prompt.
    """


@people.command("list")
@album_argument
@click.option("--all", "everyone", is_flag=True, help="Also those without a name who were seen once.")
@json_option
def list_(album: Path, everyone: bool, as_json: bool) -> None:
    """List the people in ALBUM: those with a name first, then those who were seen most."""
    from ..indexing import people as naming

    with one_line("people list"):
        found = naming.people_of(album).people
    shown = [person for person in found if everyone or person.name or len(person.faces) > 1]
    if as_json:
        click.echo(json.dumps([_figures(person) for person in shown], ensure_ascii=False))
        return
    for person in shown:
        click.echo(plain(_line(person)))
    if hidden := len(found) - len(shown):
        click.echo(f"{hidden} seen once: --all lists them, too", err=True)


@people.command()
@album_argument
@person_argument
@json_option
def show(album: Path, person: str, as_json: bool) -> None:
    """Show the photos of PERSON in ALBUM, with the number of each face and where it is."""
    from ..indexing import people as naming

    with one_line("people show"):
        found = naming.people_of(album).person(person)
    if as_json:
        faces = [{**vars(face), "row": f"f{face.row}", "person": f"p{face.person}"} for face in found.faces]
        click.echo(json.dumps({**_figures(found), "faces": faces}, ensure_ascii=False))
        return
    click.echo(plain(_line(found)))
    for face in found.faces:
        left, top, width, height = (round(100 * side) for side in face.box)
        where = f"{left} % from the left, {top} % from the top, {width} × {height} %"
        click.echo(plain(f"f{face.row:<6} {face.photo}  {where}"))


@people.command()
@album_argument
@person_argument
@click.argument("name")
@album_bundle_option
@json_option
def name(album: Path, person: str, name: str, bundle: Path | None, as_json: bool) -> None:
    """Call PERSON of ALBUM NAME. Their photos are then found by it: "Anna at the lake"."""
    from ..indexing import people as naming

    with one_line("people name"):
        done = naming.name(album, _encoder(album, bundle), person, name)
    _say(as_json, done)


@people.command()
@album_argument
@person_argument
@click.argument("others", nargs=-1, required=True)
@album_bundle_option
@json_option
def merge(album: Path, person: str, others: tuple[str, ...], bundle: Path | None, as_json: bool) -> None:
    """Make PERSON of ALBUM and OTHERS one, who keeps the name of PERSON."""
    from ..indexing import people as naming

    with one_line("people merge"):
        done = naming.merge(album, _encoder(album, bundle), person, others)
    _say(as_json, done)


@people.command()
@album_argument
@person_argument
@click.argument("faces", nargs=-1, required=True)
@album_bundle_option
@json_option
def split(album: Path, person: str, faces: tuple[str, ...], bundle: Path | None, as_json: bool) -> None:
    """Make another person of FACES (f34) of PERSON of ALBUM."""
    from ..indexing import people as naming

    with one_line("people split"):
        rows = [_face(face) for face in faces]
        done = naming.split(album, _encoder(album, bundle), person, rows)
    _say(as_json, done)


@people.command()
@album_argument
@click.argument("persons", nargs=-1)
@click.option("--all", "everyone", is_flag=True, help="All people, and that they were searched for.")
@album_bundle_option
@json_option
def forget(album: Path, persons: tuple[str, ...], everyone: bool, bundle: Path | None, as_json: bool) -> None:
    """Forget PERSONS of ALBUM: their faces, the numbers these are compared by, and their names in memories.

    Their photos are not searched for faces again. What you or others wrote yourselves stays.
    """
    from ..indexing import people as naming

    with one_line("people forget"):
        if everyone == bool(persons):
            raise RuntimeFailure("say whom to forget, or --all")
        opened = _encoder(album, bundle)
        done: Forgotten = (
            naming.forget_all(album, opened) if everyone else naming.forget(album, opened, persons)
        )
    if as_json:
        click.echo(json.dumps(vars(done)))
        return
    click.echo(f"forgotten: {done.people} people, {done.faces} faces")
    if done.left:
        click.echo(plain(f"their bytes may still be in the file: {done.left}"), err=True)


def _encoder(album: Path, bundle: Path | None) -> OpenEncoder:
    from ..indexing import people as naming

    def models() -> Models:
        from ..models.models import Models

        return Models.open(bundle or find_bundle(album))

    opened: Callable[[], Any] = naming.encoder_of(models, album)
    return opened


def _face(text: str) -> int:
    if not (text[:1] == "f" and text[1:].isdecimal() and len(text) < 19):
        raise RuntimeFailure(f"{text[:20]!r}: a face is called f34: `gamer people show` lists them")
    return int(text[1:])


def _say(as_json: bool, person: Person) -> None:
    click.echo(json.dumps(_figures(person), ensure_ascii=False) if as_json else plain(_line(person)))


def _line(person: Person) -> str:
    counts = f"{len(person.faces):5} faces in {len(person.photos):5} photos"
    return f"{person.key:6} {counts}  {person.name or ''}".rstrip()


def _figures(person: Person) -> dict[str, Any]:
    return {
        "id": person.key,
        "name": person.name,
        "faces": len(person.faces),
        "photos": list(person.photos),
    }
