"""`gamer index build`, `add` and `update`: parse, call one function, print.

Models and rich are imported only when needed.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..door import encoding
from ..door.encoding import Reading
from ..errors import RuntimeFailure
from .console import json_line, one_line, plain
from .options import (
    PATH,
    album_bundle_option,
    album_command,
    json_option,
    running_of,
    running_options,
    side_option,
)

if TYPE_CHECKING:
    from gamer.index import Skip

    from ..door.album import Album
    from ..indexing.build import Progress
    from ..indexing.captions import Captioner
    from ..indexing.faces import FaceSearch

AGAIN = "interrupted; run the same command again to go on"
strict_option = click.option(
    "--strict", is_flag=True, help="Exit with 1 if anything was skipped; the album is written all the same."
)
ocr_option = click.option(
    "--ocr",
    type=click.Choice(("auto", "all", "off")),
    default="auto",
    show_default=True,
    help="Read text in pictures, where the bundle has the part ocr. "
    "auto: screenshots, pictures of things that carry text, and those with rows of print.",
)
extract_option = click.option(
    "--extract",
    type=click.Choice(("rules", "llm")),
    default="rules",
    show_default=True,
    help="Who finds entities in memories. "
    "llm: the bundle's language model beside the rules; its answers are kept in ALBUM.extract.",
)

people_option = click.option(
    "--people/--no-people",
    default=None,
    help="Find faces and group them by person, to be named with `gamer people`; the bundle needs the part "
    "faces. Once asked, so it stays, until --no-people deletes all that is known of them. [default: no]",
)


def reading(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of what is read from photos; the command receives them as one argument."""

    @wraps(command)
    def run(*opened: Any, ocr: Any, extract: Any, **given: Any) -> None:
        command(*opened, reading=Reading(ocr, extract), **given)

    for option in (json_option, extract_option, ocr_option, strict_option):
        run = option(run)
    return run


@click.command()
@click.argument("photos", type=PATH)
@click.option("-o", "--output", type=PATH, required=True, help="Album file to write, e.g. out/album.gamer.")
@people_option
@album_bundle_option
@reading
@running_options
def build(
    photos: Path,
    output: Path,
    bundle: Path | None,
    people: bool | None,
    strict: bool,
    reading: Reading,
    as_json: bool,
    **how: Any,
) -> None:
    """Index PHOTOS: a folder of photos (JPEG, PNG, WebP, TIFF, HEIC), or a .jsonl with one photo a line.

    Read with the photos: XMP sidecars, Google Takeout's and osxphotos' JSON, WhatsApp's and plain chat logs
    (.txt). What cannot be read is listed with the reason, counted and skipped; the exit code is 0 unless
    nothing could be taken, or --strict is given. An existing album file is replaced when, and only when,
    the new one is whole. Interrupted, the same command goes on where it stopped.

    \b
    A JSONL line: {"id": "a1", "path": "a1.jpg", "taken_at": "2011-04-25T10:30:00", "lat": 48.2, "lon": 16.4,
                   "memories": [{"source": "note", "text": "breakfast with Anna"}]}
    """
    with one_line("index build", interrupted=AGAIN):
        running = running_of(how)
        with _progress() as progress:
            built = encoding.build(
                photos, output, bundle, people=people, reading=reading, running=running, progress=progress
            )
    size = built.path.stat().st_size / 1e6
    line = (
        f"{built.path}: {built.photos} photos indexed, {built.seen} looked at, {len(built.skips)} skipped, "
        f"{size:.2f} MB"
    )
    _report(
        asdict(built),
        line
        + (f", {built.resumed} from an interrupted run" if built.resumed else "")
        + _copies(built.copies, output)
        + (f", {built.kept_out} kept out as removed before (index add --again)" if built.kept_out else "")
        + _people(built.people, output)
        + _unread(built.path, reading),
        built.skips,
        strict,
        as_json,
    )


@click.command()
@album_command(
    "index add", interrupted="interrupted; what was committed stays, run the same command again to go on"
)
@click.argument("source", type=PATH)
@click.option(
    "--prune",
    is_flag=True,
    help="Remove the photos of SOURCE whose files are gone. Without it they are only reported.",
)
@click.option("--again", is_flag=True, help="Take back what `gamer index remove` took out.")
@people_option
@reading
def add(
    album: Album,
    source: Path,
    prune: bool,
    again: bool,
    people: bool | None,
    strict: bool,
    reading: Reading,
    as_json: bool,
) -> None:
    """Bring the album file ALBUM up to date with SOURCE: a folder of photos, or a .jsonl.

    Pictures are compared by the hash of their contents: unchanged ones are not encoded again, moved ones keep
    their identity and memories, edited ones are encoded again, new ones are added. Batches are committed;
    interrupted, the same command goes on where it stopped.
    """
    with _progress() as progress:
        done = album.add(source, prune=prune, again=again, people=people, reading=reading, progress=progress)
    gone = f"{len(done.missing)} {'removed' if done.pruned else 'gone'}"
    counts = (
        f"{done.added} added, {done.edited} encoded again, {done.moved} moved, {done.unchanged} unchanged, "
        f"{gone}, {len(done.skips)} skipped"
        + _copies(done.copies, album.path)
        + (f", {done.kept_out} kept out as removed before (--again takes them back)" if done.kept_out else "")
        + _people(done.people, album.path)
    )
    if not as_json and not done.pruned:
        for photo_id in done.missing:
            click.echo(
                plain(
                    f"gone: {photo_id} (its file is no longer there; --prune or `gamer index remove` takes "
                    "it out)"
                ),
                err=True,
            )
    _report(asdict(done), f"{done.path}: {counts}; {done.photos} photos", done.skips, strict, as_json)


@click.command()
@album_command("index update", interrupted=AGAIN)
@click.argument("photos", nargs=-1)
@reading
def update(album: Album, photos: tuple[str, ...], strict: bool, reading: Reading, as_json: bool) -> None:
    """Encode PHOTOS (ids) of the album file ALBUM again, or all of them, e.g. with another bundle's encoders.

    Ids, memories, labels, merges and preferences stay. With other encoders the album is written beside the
    old one and takes its place when it is whole; interrupted, the same command goes on where it stopped.
    """
    with _progress() as progress:
        done = album.update(photos, reading=reading, progress=progress)
    how = f"encoded again with {album.bundle.path}" + (
        ", whose encoders are new to this album" if done.renewed else ""
    )
    lost = done.renewed and done.skips
    _report(
        asdict(done),
        f"{done.path}: {done.photos} photos {how}, {len(done.skips)} not readable"
        + (" and without image vectors: `gamer index add` sees them when they are back" if lost else ""),
        done.skips,
        strict,
        as_json,
    )


@click.command()
@album_command("index caption", interrupted=AGAIN)
@click.option(
    "--by",
    type=click.Choice(("template", "llm", "vision")),
    default="template",
    show_default=True,
    help="Who phrases the sentence. llm: the bundle's language model, which may add nothing. "
    "vision: a model behind --endpoint, which is sent the pictures.",
)
@click.option("--model", default=None, help="The model that --by vision asks.")
@click.option(
    "--endpoint",
    default=None,
    metavar="URL",
    help="Where it answers, as OpenAI's chat completions do; the key, if it wants one, is "
    "$GAMER_VISION_API_KEY. What is marked sharing=low or sensitivity=high is never sent. "
    "[default: port 11434 of this machine]",
)
@side_option("--side")
@reading
def caption(
    album: Album,
    by: str,
    model: str | None,
    endpoint: str | None,
    side: int,
    strict: bool,
    reading: Reading,
    as_json: bool,
) -> None:
    """Write a caption for each photo of ALBUM that nobody has described, from labels, text in the picture,
    people, place and time, or with --by vision from the picture and the three captions before it.

    What a person wrote is never changed. Batches are committed; interrupted, the same command goes on where
    it stopped. Answers of --by vision are kept in ALBUM.captions.
    """
    captioner: Any = by
    if by == "vision":
        captioner = _vision(album.path, model, endpoint, side)
    elif model or endpoint:
        raise RuntimeFailure("--model and --endpoint are asked by --by vision alone: give it, too")
    with _progress() as progress:
        done = album.caption(captioner, reading=reading, progress=progress)
    nothing = "were not seen" if by == "vision" else "show nothing that is known"
    counts = f"{done.captioned} photos captioned, {done.written} had a text, {done.nothing_known} {nothing}"
    _report(asdict(done), f"{album.path}: {counts}", done.skips, strict, as_json)


def _unread(album: Path, reading: Reading) -> str:
    """That screenshots hold text which nothing has read."""
    number, how = encoding.unread(album, reading)
    return f", screenshots whose text was not read: {number} ({how})" if number else ""


def _copies(number: int, album: Path) -> str:
    """What a report adds of `number` copies; the path is quoted for a shell, where it needs to be."""
    return (
        f", copies and burst shots: {number} (gamer index copies {shlex.quote(str(album))})" if number else ""
    )


def _people(found: FaceSearch | None, album: Path) -> str:
    """What a report adds of the people in an album."""
    if found is None:
        return ""
    seen = f", {found.faces} faces, people seen more than once: {found.people}"
    return f"{seen} (gamer people list {shlex.quote(str(album))})"


def _vision(album: Path, model: str | None, endpoint: str | None, side: int) -> Captioner:
    from ..indexing.captions_vision import VisionCaptioner

    if not model:
        raise RuntimeFailure("--by vision needs the name of a model: give --model")
    return VisionCaptioner.open(endpoint, model, album, side)


@contextmanager
def _progress() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), MofNCompleteColumn(), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    name, console = TextColumn("{task.description}", markup=False), Console(stderr=True)
    # Where nobody watches, it would write an empty line before an error's.
    with Bar(*columns, name, console=console, transient=True, disable=not console.is_interactive) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, name: bar.update(
            task, completed=done, total=total, description=plain(name[-60:])
        )


def _report(
    figures: dict[str, object], line: str, skips: tuple[Skip, ...], strict: bool, as_json: bool
) -> None:
    if as_json:
        click.echo(json_line({**figures, "path": str(figures["path"])}))
    else:
        for skip in skips:
            click.echo(plain(f"skipped {skip.where}: {skip.reason}"), err=True)
        click.echo(line)
    if strict and skips:
        sys.exit(1)
