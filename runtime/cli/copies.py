"""`gamer index copies`: parse, call one function, print."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gamer.index import Album

from .console import one_line, plain
from .options import PATH, json_option


@click.command()
@click.argument("album", type=PATH)
@json_option
def copies(album: Path, as_json: bool) -> None:
    """List the copies and bursts in ALBUM: the photo taken first, and below it those that look the same.

    A search shows a group as one hit. Nothing is removed: `gamer index remove ALBUM ID` takes a photo out.
    """
    from ..search.copies import groups

    with one_line("index copies"), Album.open(album) as opened:
        listed = [[opened.photo(row).id for row in group] for group in groups(opened)]
    if as_json:
        click.echo(json.dumps({"groups": listed}, ensure_ascii=False))
        return
    for first, *others in listed:
        click.echo(plain(first))
        for other in others:
            click.echo(plain(f"  {other}"))
    more = sum(map(len, listed)) - len(listed)
    found = f"copies and burst shots: {more}, of {len(listed)} photos" if more else "no copies or burst shots"
    click.echo(f"{album}: {found}")
