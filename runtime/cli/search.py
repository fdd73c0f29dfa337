"""`gamer search`: parse, call one function, print.

rich is imported only when needed: importing it takes as long as a search.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..search.answer import LAYERS, MODES, REFINEMENTS, Answer, Hit, SimilarPhoto, photos
from ..search.options import THINGS, SearchOptions
from .console import json_line, plain
from .options import album_command, json_option, now_option

if TYPE_CHECKING:
    from rich.console import Console

    from ..door.album import Album


@click.command()
@album_command("search")
@click.argument("query")
@click.option(
    "-k", type=click.IntRange(1, 1000), default=None, help="How many photos. [default: the bundle's K]"
)
@click.option("--explain", is_flag=True, help="Show what each layer did, in photos left and milliseconds.")
@click.option(
    "--refine",
    "refined_by",
    type=click.Choice(REFINEMENTS),
    default="fast",
    show_default=True,
    help="llm: ask the bundle's language model.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="fused",
    show_default=True,
    help="paper: cube, nodes over δ, cosine alone; strict: the same as printed, without fallbacks.",
)
@click.option(
    "--things",
    type=click.Choice(THINGS),
    default="off",
    show_default=True,
    help="Who describes what is looked for, where QUERY is about a thing of yours (gamer things).",
)
@click.option(
    "--no-adapter",
    is_flag=True,
    help="Leave out what was learned: query adapter, earlier searches, titles (docs/train.md).",
)
@click.option(
    "--no-gloss",
    is_flag=True,
    help="Do not read words of other languages as English ones (docs/languages.md).",
)
@now_option
@json_option
def search(
    album: Album,
    query: str,
    k: int | None,
    explain: bool,
    refined_by: str,
    mode: str,
    things: str,
    now: datetime | None,
    no_adapter: bool,
    no_gloss: bool,
    as_json: bool,
) -> None:
    """Find the photos in ALBUM that QUERY means.

    \b
    gamer search out/album.gamer "coffee I photographed last spring" -k 5 --explain
    """
    album.ahead()
    if not as_json:
        from . import screen  # noqa: F401

    options = SearchOptions(things=things, adapter=not no_adapter, earlier=not no_adapter, gloss=not no_gloss)
    answer = album.search(query, k, refine=refined_by, mode=mode, now=now, options=options)
    warn_of_missing_files("search", album.path, [hit.path for hit in answer.hits])
    if as_json:
        click.echo(json_line(asdict(answer)))
        return
    from .screen import Screen

    console = Screen()
    if explain:
        print_trace(console, answer)
    if answer.count is not None and not (answer.doubtful and answer.note):
        console.print(photos(answer.count))
    if answer.note:
        nearest = ". The nearest:" if answer.doubtful and answer.hits else ""
        console.print(plain(answer.note[:1].upper() + answer.note[1:]) + nearest)
    elif answer.doubtful:
        console.print(f"Probably not in this album ({answer.presence:.0%} that it is); the nearest:")
    if answer.hits:
        print_hits(console, answer.hits, explain)


def warn_of_missing_files(command: str, album: Path, paths: list[str | None]) -> None:
    """Warns in one line if files of an answer are missing.

    A search reads only the album, so it would not notice.
    """
    missing = [path for path in paths if path and not os.path.exists(path)]  # noqa: PTH110 (Path.exists raises for a name too long)
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        warning = (
            f"gamer {command}: no longer there: {missing[0]}{others}; moved photos are found again by `gamer "
            f"index add {album} FOLDER`"
        )
        click.echo(plain(warning), err=True)


def print_trace(console: Console, answer: Answer) -> None:
    """One row a layer: what it did, photos left (paper Table 10), milliseconds (paper Table 3)."""
    from .screen import table

    trace = answer.trace
    nodes = ", ".join(f"{m.name} {m.similarity:.2f}" for m in trace.entities) or f"none ≥ δ {trace.delta}"
    actions = {
        "cube": "; ".join(dict.fromkeys((*trace.cues, *trace.cube_lines)))
        or "N/A: the query names no time and no place",
        "kdtree": f"range query: {trace.left['cube']} of {trace.left['album']} photos, "
        + ("none fits the cues: all are ranked" if trace.widened else "those of unknown time or place kept"),
        "refine": f"{trace.refined_by}: {trace.refined!r}"
        + (", read by the query adapter" if trace.adapted else ""),
        "graph": f"δ {trace.delta}: {nodes}; {trace.linked} photos linked",
        "vectors": f"{trace.plan}, mode {trace.mode}",
    }
    left = {
        "cube": trace.left["album"],
        "kdtree": trace.left["cube"],
        "refine": trace.left["cube"],
        "graph": trace.left["graph"],
        "vectors": trace.left["vectors"],
    }
    rows = [
        *((x, plain(actions[x]), str(left[x]), f"{trace.milliseconds[x]:.2f}") for x in LAYERS),
        ("all", "", "", f"{sum(trace.milliseconds.values()):.2f}"),
        ("load", f"opening models and album, before the layers ({trace.models})", "", f"{trace.load_ms:.2f}"),
    ]
    columns, title = ("layer", "what it did", "photos", "ms"), f"“{plain(trace.query[:120])}”"
    console.print(table(columns, rows, ("photos", "ms"), title=title, title_justify="left"))


def print_hits(console: Console, hits: tuple[Hit, ...], explain: bool) -> None:
    from .screen import table

    columns = ("", "photo", "taken", "likely", "score", *(("why",) if explain else ()), "memory")
    console.print(table(columns, (_cells(rank, hit, explain) for rank, hit in enumerate(hits, 1))))


def _cells(rank: int, hit: Hit, explain: bool) -> list[str]:
    why = ", ".join(f"{name} {value:+.2f}" for name, value in hit.parts.items() if value)
    if hit.matched:
        why += f"; nodes: {', '.join(hit.matched)}"
    return [
        str(rank),
        *named_and_dated(hit),
        f"{hit.probability:.0%}",
        f"{hit.score:.3f}",
        *((plain(why),) if explain else ()),
        plain((hit.memory or "")[:100]),
    ]


def named_and_dated(photo: Hit | SimilarPhoto) -> tuple[str, str]:
    """A table's cells: a photo's id, with the number of its copies or the time in a clip, and its day."""
    from ..search.moments import clock
    from ..wall_time import day

    copies = f" (×{1 + len(photo.copies)})" if photo.copies else ""
    at = f", at {clock(photo.clip.second)}" if photo.clip else ""
    return plain(photo.id) + at + copies, "?" if photo.taken_at is None else day(photo.taken_at)
