"""`gamer people`: who is in an album's photos, listed, named, made one, taken apart and forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import RuntimeFailure
from .console import plain, say
from .options import album_command, json_option, numbered

if TYPE_CHECKING:
    from gamer.index.people.records import Person, StoredFace

    from ..door.album import Album

FACE = "the number of a face such as f34: `gamer people show` lists them"
person_argument = click.argument("person")


@click.group()
def people() -> None:
    """Who is in an album's photos, found by `gamer index add --people`. A person is called p12, or by name.

    Names are yours: the program guesses none. What is known of faces stays in the album's file, and goes into
    no export and no prompt.
    """


@people.command("list")
@album_command("people list", models=False, bundle=False)
@click.option("--all", "everyone", is_flag=True, help="Also those without a name who were seen once.")
@json_option
def list_(album: Album, everyone: bool, as_json: bool) -> None:
    """List the people in ALBUM: those with a name first, then those who were seen most."""
    found = [*album.people]
    shown = [person for person in found if everyone or person.name or len(person.faces) > 1]
    say(as_json, [_figures(person) for person in shown], map(_line, shown))
    if not as_json and (hidden := len(found) - len(shown)):
        click.echo(f"{hidden} seen once: --all lists them, too", err=True)


@people.command()
@album_command("people show", models=False, bundle=False)
@person_argument
@json_option
def show(album: Album, person: str, as_json: bool) -> None:
    """Show the photos of PERSON in ALBUM, with the number of each face and where it is."""
    found = album.people[person]
    faces = [{**vars(face), "row": f"f{face.row}", "person": f"p{face.person}"} for face in found.faces]
    lines = [f"f{face.row:<6} {face.photo}  {_where(face)}" for face in found.faces]
    say(as_json, {**_figures(found), "faces": faces}, [_line(found), *lines])


def _where(face: StoredFace) -> str:
    left, top, width, height = (round(100 * side) for side in face.box)
    return f"{left} % from the left, {top} % from the top, {width} × {height} %"


@people.command()
@album_command("people name", models=False)
@person_argument
@click.argument("name")
@json_option
def name(album: Album, person: str, name: str, as_json: bool) -> None:
    """Call PERSON of ALBUM NAME. Their photos are then found by it: "Anna at the lake"."""
    _say(as_json, album.people.name(person, name))


@people.command()
@album_command("people merge", models=False)
@person_argument
@click.argument("others", nargs=-1, required=True)
@json_option
def merge(album: Album, person: str, others: tuple[str, ...], as_json: bool) -> None:
    """Make PERSON of ALBUM and OTHERS one, who keeps the name of PERSON."""
    _say(as_json, album.people.merge(person, *others))


@people.command()
@album_command("people split", models=False)
@person_argument
@click.argument("faces", nargs=-1, required=True)
@json_option
def split(album: Album, person: str, faces: tuple[str, ...], as_json: bool) -> None:
    """Make another person of FACES (f34) of PERSON of ALBUM."""
    _say(as_json, album.people.split(person, [numbered(face, "f", wanted=FACE)[1] for face in faces]))


@people.command()
@album_command("people forget", models=False)
@click.argument("persons", nargs=-1)
@click.option("--all", "everyone", is_flag=True, help="All people, and that they were searched for.")
@json_option
def forget(album: Album, persons: tuple[str, ...], everyone: bool, as_json: bool) -> None:
    """Forget PERSONS of ALBUM: their faces, the numbers these are compared by, and their names in memories.

    Their photos are not searched for faces again. What you or others wrote yourselves stays. Without PERSONS,
    what an interrupted `forget` left is erased.
    """
    if everyone and persons:
        raise RuntimeFailure("say whom to forget, or --all")
    done = album.people.forget_all() if everyone else album.people.forget(*persons)
    say(as_json, vars(done), [f"forgotten: {done.people} people, {done.faces} faces"])
    if done.left and not as_json:
        click.echo(plain(f"their bytes may still be in the file: {done.left}"), err=True)


def _say(as_json: bool, person: Person) -> None:
    say(as_json, _figures(person), [_line(person)])


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
