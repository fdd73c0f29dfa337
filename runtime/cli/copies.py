"""`gamer index copies`: parse, call one function, print."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from .console import plain
from .options import album_command, json_option

if TYPE_CHECKING:
    from ..door.album import Album


@click.command()
@album_command("index copies", models=False, bundle=False)
@json_option
def copies(album: Album, as_json: bool) -> None:
    """List the copies and bursts in ALBUM: the photo taken first, and below it those that look the same.

    A search shows a group as one hit. Nothing is removed: `gamer index remove ALBUM ID` takes a photo out.
    """
    listed = album.copies()
    if as_json:
        click.echo(json.dumps({"groups": listed}, ensure_ascii=False))
        return
    for first, *others in listed:
        click.echo(plain(first))
        for other in others:
            click.echo(plain(f"  {other}"))
    more = sum(map(len, listed)) - len(listed)
    found = f"copies and burst shots: {more}, of {len(listed)} photos" if more else "no copies or burst shots"
    click.echo(f"{album.path}: {found}")
