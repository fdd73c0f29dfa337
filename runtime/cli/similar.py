"""`gamer similar`: parse, call one function, print. Opens no bundle: the album holds the vectors."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from gamer.index import Album

from ..search import similar as similarity
from ..search.answer import SimilarPhotos
from ..search.engine import MAX_K
from .console import one_line, plain
from .options import PATH, json_option
from .search import named_and_dated, warn_of_missing_files


@click.command()
@click.argument("album", type=PATH)
@click.argument("photo")
@click.option(
    "-k",
    type=click.IntRange(1, MAX_K),
    default=similarity.K,
    show_default=True,
    help="How many photos.",
)
@json_option
def similar(album: Path, photo: str, k: int, as_json: bool) -> None:
    """Find the photos in ALBUM that are most similar to PHOTO: its id, its row, or its file's name.

    Pictures are compared with pictures; a photo without a picture's vector by what is said of it.

    \b
    gamer similar out/album.gamer chelsea -k 5
    """
    with one_line("similar"), Album.open(album) as opened:
        answer = similarity.similar(opened, similarity.row_named(opened, photo), k)
    warn_of_missing_files("similar", album, [found.path for found in answer.photos])
    if as_json:
        click.echo(json.dumps(asdict(answer), ensure_ascii=False))
    else:
        _print(answer, similarity.CHANNELS[answer.channel])


def _print(answer: SimilarPhotos, compared: str) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    name, _ = named_and_dated(answer.asked)
    table = Table(title=f"similar to {name}, by {compared}", title_justify="left")
    for column in ("", "photo", "taken", "cosine", "memory"):
        table.add_column(column, overflow="fold")
    for rank, found in enumerate(answer.photos, 1):
        memory = escape(plain((found.memory or "")[:100]))
        table.add_row(str(rank), *named_and_dated(found), f"{found.cosine:.3f}", memory)
    Console().print(table)
