"""`gamer index copies`: parse, call one function, print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .console import say
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
    lines = [line for first, *others in listed for line in (first, *(f"  {other}" for other in others))]
    more = sum(map(len, listed)) - len(listed)
    found = f"copies and burst shots: {more}, of {len(listed)} photos" if more else "no copies or burst shots"
    say(as_json, {"groups": listed}, [*lines, f"{album.path}: {found}"])
