"""`gamer chat`: a conversation in the terminal about what one said and photographed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import click

from gamer.index.errors import AlbumBusy

from ..errors import RuntimeFailure
from .console import fail, json_line, passage
from .console import plain as printable
from .options import album_command, decider_option, json_option, now_option

if TYPE_CHECKING:
    from ..door.album import Album
    from ..memory.chat import Conversation, Exchange

_MAX_LINE = 1 << 20


@click.command()
@album_command("chat")
@click.option(
    "--worded",
    is_flag=True,
    help="Let the bundle's language model word answers; what its evidence does not hold is not said.",
)
@click.option("--plain", is_flag=True, hidden=True, help="What is done without --worded.")
@click.option("--name", default=None, help="Go on with the conversation of this name. [default: a new one]")
@click.option("-v", "--verbose", is_flag=True, help="Show what was retrieved for each answer.")
@click.option(
    "--picture", "shown", multiple=True, help="A photo that the first turn is said of, by id or file."
)
@decider_option
@now_option
@json_option
def chat(
    album: Album,
    worded: bool,
    plain: bool,
    name: str | None,
    verbose: bool,
    shown: tuple[str, ...],
    decider: Literal["rules", "llm"],
    now: datetime | None,
    as_json: bool,
) -> None:
    """Talk with ALBUM: it remembers what you say, and answers from that and from the photos.

    \b
    gamer chat photos.gamer
    echo "Where did I live before?" | gamer chat photos.gamer --json

    What you say stays in the album's file; `gamer memory` shows it, corrects it and forgets it. End with
    Ctrl-D. Without a bundle the answers are found by words alone, and no photos are searched.
    """
    with album.memory.talk(name, worded=worded and not plain, decider=decider) as talk:
        pictures, forgot = _pictures(talk, shown), False
        path = talk.path_of
        try:
            for line in _lines():
                if not line.strip():
                    continue
                tell = None if as_json else _aloud
                said = talk.say(line, now or datetime.now(), tell, pictures=pictures)
                pictures, forgot = (), forgot or said.forgot
                if as_json:
                    click.echo(json_line(reply_json(said, path)))
                else:
                    _print(said, path, verbose)
        finally:
            _finish(talk)
    if forgot and (left := album.memory.forget().left):  # now that the photos are closed
        fail("chat", f"{left}, then run `gamer memory forget ALBUM`")


def _pictures(talk: Conversation, named: tuple[str, ...]) -> tuple[str, ...]:
    if named and talk.photos is None:
        raise RuntimeFailure("--picture needs a bundle that fits the album: name one with -b")
    return tuple(talk.photos.named(one) for one in named) if talk.photos is not None else ()


def _finish(talk: Conversation) -> None:
    """Waits until what was said is stored; Ctrl-C gives it up."""
    while True:
        try:
            return talk.flush()
        except AlbumBusy:
            click.echo("another program writes the album: waiting, to store what was said", err=True)


def _aloud(answer: str) -> None:
    """The whole line at once: what fails after the answer begins a line of its own."""
    click.echo(passage(answer))
    sys.stdout.flush()


def _lines() -> Any:
    """The person's turns: a line each."""
    shown = sys.stdin.isatty()
    while True:
        if shown:
            click.echo("> ", nl=False)
        raw = sys.stdin.buffer.readline(_MAX_LINE + 2)
        if not raw:
            return
        if len(raw) > _MAX_LINE:
            fail("chat", "a turn is longer than a megabyte; say it in parts")
        yield raw.decode("utf-8", "replace").rstrip("\r\n")


def reply_json(said: Exchange, path: Callable[[str], str]) -> dict[str, Any]:
    """An answer as JSON, with what each round retrieved. `path`: a photo's id → how it is printed."""
    from ..memory.as_json import item_json, turn_json

    reply = said.reply
    return {
        "text": said.text,
        "waiting": said.waiting,
        "core": [item_json(item) for item in reply.core],
        "rounds": [
            {
                "thought": one.step.thought,
                "keywords": list(one.step.keywords),
                "procedural": [item_json(item) for item in one.found.procedural],
                "semantic": [item_json(item) for item in one.found.semantic],
                "episodes": [
                    {**item_json(episode.item), "lines": [turn_json(line) for line in episode.lines]}
                    for episode in one.found.episodes
                ],
            }
            for one in reply.rounds
        ],
        "photos": [*map(path, said.photos)],
        "sources": [*map(path, said.sources)],
        "from": [f"m{item.id}" for item in reply.comes_from],
        "drawn": [f"t{turn}" for turn in reply.drawn],
    }


def _print(said: Exchange, path: Callable[[str], str], verbose: bool) -> None:
    write: Callable[[str], None] = lambda line: click.echo(printable(line))  # noqa: E731
    reply = said.reply
    if said.waiting:
        write("  (another program writes the album: this is stored as soon as it is done)")
    if reply.comes_from:
        write(f"  from {' '.join(f'm{item.id}' for item in reply.comes_from)}")
    for photo in said.photos:
        write(f"  photo {path(photo)}")
    for photo in said.sources:
        write(f"  from {path(photo)}")
    if not verbose:
        return
    for step in said.steps:
        write(f"· {step}")
    for one in reply.rounds:
        write(f"· {one.step.thought}")
        for item in (*one.found.procedural, *one.found.semantic):
            write(f"    m{item.id} {item.value.text[:100]}")
        for episode in one.found.episodes:
            write(f"    m{episode.item.id} {episode.item.value.text[:100]}")
            for line in episode.lines:
                write(f"      t{line.id} {line.turn.speaker}: {line.turn.text[:100]}")
