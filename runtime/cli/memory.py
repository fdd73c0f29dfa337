"""`gamer memory`: what the album knows about its owner, listed, added to, corrected and forgotten."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from gamer.index import AlbumError

from ..memory.as_json import item_json, turn_json
from ..texts import one_line
from .console import fail, json_line, plain, say
from .options import PATH, album_command, decider_option, json_option, numbered

if TYPE_CHECKING:
    from gamer.index.memory.records import Kind

    from ..door.album import Album

KINDS = ("core", "semantic", "episodic", "procedural")


@click.group()
def memory() -> None:
    """What an album knows about its owner. It stays in the album's file; `forget` also erases the bytes."""


@memory.command("list")
@album_command("memory list", models=False, bundle=False)
@click.option(
    "--kind", type=click.Choice((*KINDS, "turns")), default=None, help="One kind. [default: all four]"
)
@click.option("--past", is_flag=True, help="Also values that later ones replaced.")
@json_option
def list_(album: Album, kind: str | None, past: bool, as_json: bool) -> None:
    """List the memories in ALBUM, by time; with --kind turns, what was said."""
    with album.memory.store(write=False) as store:
        if kind == "turns":
            rows = [turn_json(stored) for stored in store.all_turns()]
        else:
            rows = [item_json(item) for item in store.items(kind, past)]  # type: ignore[arg-type]
    say(as_json, rows, map(_line, rows) if rows else [f"{album.path}: no memories"])


@memory.command()
@album_command("memory show", models=False, bundle=False)
@click.argument("memory_id", metavar="ID")
@json_option
def show(album: Album, memory_id: str, as_json: bool) -> None:
    """Show one memory (m12) with the turns it was drawn from and its earlier values, or one turn (t34)."""
    letter, number = _numbered(memory_id)
    if letter == "m":
        known = album.memory.show(number)
        figures = item_json(known.item)
        figures["said"] = [turn_json(stored) for stored in known.said]
        figures["other_values"] = [item_json(other) for other in known.others]
    else:
        with album.memory.store(write=False) as store:
            turns = store.turns([number])
        if not turns:
            raise AlbumError(f"{album.path}: no {memory_id}; `gamer memory list` shows what there is")
        figures = turn_json(turns[0])
    lines = (
        f"{name:13} {one_line(one['text'], 120, '…') if isinstance(one, dict) else one}"
        for name, value in figures.items()
        for one in (value if name in ("said", "other_values") else [value])
    )
    say(as_json, figures, lines)


@memory.command()
@album_command("memory add", models=False, bundle=False)
@click.argument("text")
@click.option("--kind", type=click.Choice(KINDS), default="semantic", show_default=True)
@click.option("--key", default="", help="What it is about, such as home: a later value takes its place.")
@click.option("--share", is_flag=True, help="May be exported; without it the memory stays on the device.")
@json_option
def add(album: Album, text: str, kind: Kind, key: str, share: bool, as_json: bool) -> None:
    """Add a memory in your own words."""
    row = album.memory.add(text, kind=kind, key=key, share=share)
    say(as_json, {"id": f"m{row}"}, [f"m{row}"])


@memory.command()
@album_command("memory edit", models=False, bundle=False)
@click.argument("memory_id", metavar="ID")
@click.argument("text")
@json_option
def edit(album: Album, memory_id: str, text: str, as_json: bool) -> None:
    """Correct a memory; its earlier value is kept as past. To lose that too, forget it and add a new one."""
    letter, number = _numbered(memory_id)
    if letter != "m":
        raise AlbumError(
            f"{album.path}: there is no memory {memory_id}; `gamer memory list` shows what there is"
        )
    row = album.memory.correct(number, text)
    say(as_json, {"id": f"m{row}"}, [f"m{row}"])


@memory.command()
@album_command("memory forget", models=False, bundle=False)
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Everything that was said, and all memories.")
@click.option("--personality", "who", is_flag=True, help="Only the personality, and stop learning it.")
@json_option
def forget(album: Album, ids: tuple[str, ...], everything: bool, who: bool, as_json: bool) -> None:
    """Forget memories (m12) and turns (t34): also what they were drawn from, what was drawn from them, and
    the bytes in the file. A search with the same words is deleted from ALBUM.opened, with --all every search.

    Without ids, only the bytes of what was forgotten before are looked after.
    """
    if (bool(ids) + everything + who) > 1:
        raise click.UsageError("give ids, or --all, or --personality")
    if who:
        album.memory.learn_personality(False)
    if everything:
        gone = album.memory.forget_all()
    else:
        parsed = [_numbered(one) for one in dict.fromkeys(ids)]
        items = [number for letter, number in parsed if letter == "m"]
        gone = album.memory.forget(*items, turns=[number for letter, number in parsed if letter == "t"])
    turns_gone, items_gone = [f"t{row}" for row in gone.turns], [f"m{row}" for row in gone.items]
    figures = {"turns": turns_gone, "memories": items_gone, "erased": gone.erased}
    say(as_json, figures, [f"forgotten: {' '.join([*items_gone, *turns_gone]) or 'nothing'}"])
    if gone.left:
        fail("memory forget", f"{gone.left}, then run `gamer memory forget ALBUM`")


@memory.command()
@album_command("memory export", models=False, bundle=False)
@click.argument("output", type=PATH)
@click.option("--all", "everything", is_flag=True, help="Also what must stay on the device: a private copy.")
def export(album: Album, output: Path, everything: bool) -> None:
    """Write the memories that may be shared to OUTPUT, as JSON lines; none may unless you say so.

    Only you can read the file.
    """
    from gamer.index.album.schema import check_output

    with album.memory.store(write=False) as store:
        check_output(output)
        rows = [item_json(item) for item in store.items() if everything or item.value.sharing == "high"]
        rows += [turn_json(t) for t in store.all_turns() if everything or t.turn.sharing == "high"]
        _write_private(output, "".join(json_line(row) + "\n" for row in rows))
    click.echo(f"{plain(str(output))}: {len(rows)} lines")


@memory.command()
@album_command("memory personality", models=False, bundle=False)
@click.argument("switch", type=click.Choice(("on", "off", "show")), default="show")
def personality(album: Album, switch: str) -> None:
    """Turn learning of your personality on or off (off also forgets it), or show what was learnt."""
    from ..memory.personality import TRAITS

    if switch != "show":
        album.memory.learn_personality(switch == "on")
    state = album.memory.personality()
    click.echo("off" if state is None else "on")
    if state is not None:
        for name, value in zip(TRAITS, state.scores, strict=True):
            click.echo(f"{name:18} {value:.2f}")
        click.echo(state.sentence())


@memory.command()
@album_command("memory update", models=False)
@decider_option
@json_option
def update(album: Album, decider: Literal["rules", "llm"], as_json: bool) -> None:
    """Draw memories from what was said since the last time; goes on where it was interrupted.

    With a bundle, turns that were said without it, or with another one's text encoder, are encoded too.
    """
    done, encoded = album.memory.update(decider)
    line = f"{done.turns} turns, {done.sessions} sessions, {encoded} turns encoded"
    say(as_json, {**asdict(done), "encoded": encoded}, [line])


def _numbered(text: str) -> tuple[str, int]:
    return numbered(text, "m", "t", wanted="the id of a memory such as m12, or of a turn such as t34")


def _line(row: dict[str, Any]) -> str:
    said = row.get("speaker") or f"{row['kind']} {row['key']}" + (" (past)" if row["past"] else "")
    return f"{row['id']:6} {row['at'][:16]}  {said}: {one_line(row['text'], 120, '…')}"


def _write_private(path: Path, text: str) -> None:
    """Replaces the file by one that only its owner can read; on an error nothing is left."""
    aside = path.with_name(path.name + ".partial")
    aside.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(text.encode())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
