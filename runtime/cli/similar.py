"""`gamer similar`: parse, call one function, print. Opens no bundle: the album holds the vectors."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ..search import similar as similarity
from ..search.answer import SimilarPhotos
from ..search.options import MAX_K
from .console import json_line, plain
from .options import album_command, json_option
from .search import named_and_dated, warn_of_missing_files

if TYPE_CHECKING:
    from ..door.album import Album


@click.command()
@album_command("similar", models=False, bundle=False)
@click.argument("photo")
@click.option(
    "-k",
    type=click.IntRange(1, MAX_K),
    default=similarity.K,
    show_default=True,
    help="How many photos.",
)
@json_option
def similar(album: Album, photo: str, k: int, as_json: bool) -> None:
    """Find the photos in ALBUM that are most similar to PHOTO: its id, its row, or its file's name.

    Pictures are compared with pictures; a photo without a picture's vector by what is said of it.

    \b
    gamer similar out/album.gamer chelsea -k 5
    """
    answer = album.similar(photo, k)
    warn_of_missing_files("similar", album.path, [found.path for found in answer.photos])
    if as_json:
        click.echo(json_line(asdict(answer)))
    else:
        _print(answer, similarity.CHANNELS[answer.channel])


def _print(answer: SimilarPhotos, compared: str) -> None:
    from .screen import Screen, table

    name, _ = named_and_dated(answer.asked)
    rows = (
        (str(rank), *named_and_dated(found), f"{found.cosine:.3f}", plain((found.memory or "")[:100]))
        for rank, found in enumerate(answer.photos, 1)
    )
    columns = ("", "photo", "taken", "cosine", "memory")
    title = f"similar to {name}, by {compared}"
    Screen().print(table(columns, rows, title=title, title_justify="left"))
