"""The commands of `gamer index` that need no model.

Each command parses its arguments, calls one function and prints. Only command modules exit the process.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from .album.album import Album
from .album.export_jsonl import export_jsonl
from .album.writing.writer import AlbumWriter
from .console import fail, say
from .errors import AlbumError
from .records import TITLE

PATH = click.Path(path_type=Path)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


@contextmanager
def _one_line(command: str) -> Iterator[None]:
    try:
        yield
    except (AlbumError, OSError) as error:
        fail(f"index {command}", str(error))
    except KeyboardInterrupt:
        fail(f"index {command}", "interrupted; nothing was changed", 130)


@click.command()
@click.argument("album", type=PATH)
@json_option
def stats(album: Path, as_json: bool) -> None:
    """Counts and bytes of an ALBUM file, by layer."""
    with _one_line("stats"), Album.open(album) as opened:
        figures = asdict(opened.stats())
    say(as_json, figures, _stats_lines(figures))


def _stats_lines(figures: dict[str, Any]) -> Iterator[str]:
    for name, value in figures.items():
        if name not in ("channels", "segments"):
            yield f"{name:16} {value}"
    for channel in figures["channels"]:
        yield (
            f"{'channel':16} {channel['name']}: {channel['vectors']} vectors of {channel['dim']} dimensions, "
            f"{channel['bytes']} bytes"
        )
    for segment in figures["segments"]:
        state = f"{segment['behind']} photos behind" if segment["behind"] else "up to date"
        yield f"{'segment':16} {segment['name']}: {segment['bytes']} bytes, {state}"


@click.command()
@click.argument("album", type=PATH)
@click.option(
    "--repair",
    is_flag=True,
    help="Rebuild derived data (indexes, full-text index, segments) where it is wrong.",
)
@json_option
def verify(album: Path, repair: bool, as_json: bool) -> None:
    """Check an ALBUM file.

    Checks its pages, every row's checksum, links, counts, the full-text index, and the hashes and generations
    of the segments.
    """
    done: list[str] = []
    with _one_line("verify"):
        if repair:
            with AlbumWriter.extend(album) as writer:
                done = writer.repair()
        with Album.open(album) as opened:
            problems = opened.verify()
    say(
        as_json,
        {"clean": not problems, "problems": problems, "repaired": done},
        [*done, *(problems or [f"{album}: clean"])],
    )
    if problems:
        sys.exit(1)


@click.command()
@click.argument("album", type=PATH)
@click.argument("ids", nargs=-1, required=True)
@json_option
def remove(album: Path, ids: tuple[str, ...], as_json: bool) -> None:
    """Remove the photos with these IDS from ALBUM. The picture files themselves are not touched.

    They stay out when their folder is added again; `gamer index add --again` takes them back. What was
    searched before one of them was opened is deleted from ALBUM.opened.
    """
    from .opened import OpenedLog

    with _one_line("remove"), AlbumWriter.extend(album) as writer:
        writer.remove(dict.fromkeys(ids), for_good=True)
        OpenedLog(album).forget(photos=ids)
    say(as_json, {"removed": list(dict.fromkeys(ids))}, [f"{album}: {len(set(ids))} removed"])


@click.command()
@click.argument("album", type=PATH)
@click.argument("better")
@click.argument("worse")
@json_option
def prefer(album: Path, better: str, worse: str, as_json: bool) -> None:
    """Rank BETTER above WORSE from now on where both match: two photo ids, or two entity names."""
    with _one_line("prefer"), AlbumWriter.extend(album) as writer:
        writer.prefer(better, worse)
    say(as_json, {"better": better, "worse": worse}, [f"{album}: {better} outranks {worse}"])


@click.command()
@click.argument("album", type=PATH)
@click.argument("names", nargs=-1)
@click.option(
    "--similar",
    type=click.FloatRange(0, 1, min_open=True),
    help="Merge all names of a kind whose vectors' cosine is at least this.",
)
@json_option
def merge(album: Path, names: tuple[str, ...], similar: float | None, as_json: bool) -> None:
    """Merge entities: the first of NAMES stays, the others become its aliases.

    `gamer index split` undoes it.
    """
    if (similar is None) == (len(names) < 2) or (similar is not None and names):
        raise click.UsageError("give two names or more, or --similar")
    with _one_line("merge"), AlbumWriter.extend(album) as writer:
        merged = [] if similar is None else writer.merge_similar(similar)
        for alias in names[1:]:
            writer.merge(names[0], alias)
            merged.append((names[0], alias))
    words = [f"{alias} is {root}" for root, alias in merged] or [f"{album}: nothing to merge"]
    say(as_json, {"merged": [{"kept": root, "alias": alias} for root, alias in merged]}, words)


@click.command()
@click.argument("album", type=PATH)
@click.option("-n", "--limit", type=click.IntRange(1), default=None, help="The most mentioned only.")
@json_option
def names(album: Path, limit: int | None, as_json: bool) -> None:
    """List the entities of ALBUM with their aliases: what `gamer index merge` and `split` take."""
    with _one_line("names"), Album.open(album) as opened:
        listed = opened.listed_entities()[:limit]
    lines = [
        f"{entity.photos:6} {entity.kind:8} {entity.name}"
        + (f" (also {', '.join(entity.aliases)})" if entity.aliases else "")
        for entity in listed
    ]
    heading = f"{'photos':>6} {'kind':8} name"
    words = [heading, *lines] if lines else [f"{album}: no entities"]
    say(as_json, {"entities": [asdict(entity) for entity in listed]}, words)


@click.command()
@click.argument("album", type=PATH)
@click.argument("name")
@json_option
def split(album: Path, name: str, as_json: bool) -> None:
    """Undo a merge: separate the alias NAME from its entity, or the entity NAME from all its aliases."""
    with _one_line("split"), AlbumWriter.extend(album) as writer:
        freed = writer.split(name)
    say(
        as_json,
        {"split": freed},
        [f"{album}: {', '.join(freed)} on {'their' if len(freed) > 1 else 'its'} own"],
    )


@click.command()
@click.argument("album", type=PATH)
@json_option
def compact(album: Path, as_json: bool) -> None:
    """Rewrite ALBUM without unused space: drops unused entities and rebuilds all segments.

    The new file replaces the old one only once it is complete.
    """
    with _one_line("compact"):
        with AlbumWriter.extend(album) as writer:
            before = album.stat().st_size
            writer.compact()
        after = album.stat().st_size
    say(
        as_json,
        {"bytes_before": before, "bytes_after": after},
        [f"{album}: {before / 1e6:.2f} MB → {after / 1e6:.2f} MB"],
    )


@click.command("export-jsonl")
@click.argument("album", type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help="File to write, one photo a line, as `gamer index build` reads it.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Also what is marked sharing=low or sensitivity=high."
)
@json_option
def export(album: Path, output: Path, everything: bool, as_json: bool) -> None:
    """Write ALBUM as JSON lines.

    Photos and memories marked sharing=low or sensitivity=high are left out, unless --all is given.
    """
    with _one_line("export-jsonl"), Album.open(album) as opened:
        done = export_jsonl(opened, output, everything=everything)
    words = f"{output}: {done.photos} photos, {done.memories} memories"
    if done.kept_photos or done.kept_memories:
        words += f"; kept at home: {done.kept_photos} photos, {done.kept_memories} memories"
    say(as_json, asdict(done), [words])


@click.command()
@click.argument("album", type=PATH)
@click.option("--keep", is_flag=True, help="From now on, keep what is searched and opened.")
@click.option("--delete", is_flag=True, help="Delete what was kept, and titles learned of it; keep no more.")
@json_option
def opened(album: Path, keep: bool, delete: bool, as_json: bool) -> None:
    """What was searched and then opened in an ALBUM: kept only if you say so, in ALBUM.opened.

    `gamer serve` adds to it, `gamer train --update` learns from it.
    """
    from .opened import OpenedLog

    with _one_line("opened"):
        if keep and delete:
            raise AlbumError("say --keep or --delete, not both")
        if not album.is_file():
            raise AlbumError(f"{album}: no such album")
        log = OpenedLog(album)
        deleted = log.delete() if delete else 0
        if delete:
            _drop_titles(album)
        if keep:
            log.keep()
        entries = log.read()
    state = "kept" if log.kept else "not kept"
    words = f"{len(entries)} opened photos in {log.path}; what is opened is {state}"
    if deleted:
        words = f"{deleted} entries deleted; what is opened is {state}"
    say(as_json, {"kept": log.kept, "entries": len(entries), "deleted": deleted}, [words])


def _drop_titles(album: Path) -> None:
    """What a model that learned from searches calls the photos goes with them (`gamer train --align`)."""
    try:
        with Album.open(album) as opened:
            titled = TITLE in opened.channels()
    except AlbumError:
        return  # the log is deleted beside a damaged album, too
    if titled:
        with AlbumWriter.extend(album) as writer:
            writer.set_channel(TITLE, {})
