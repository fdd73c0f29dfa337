"""`gamer pack` and `gamer unpack`: a bundle as one file, and back. Parses, calls, prints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from ..bundle import packed
from .console import one_line, plain, say
from .options import PATH, json_option


def _listed(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


@click.command()
@click.argument("bundle", type=PATH)
@click.option("-o", "--output", "out", type=PATH, required=True, help="The file, such as pocket.zip.")
@click.option(
    "--targets",
    default="",
    callback=_listed,
    help="Comma-separated: those that a phone needs. [default: all]",
)
@click.option(
    "--without",
    default="",
    callback=_listed,
    help=f"Comma-separated parts to leave out: {', '.join(packed.OPTIONAL)}.",
)
@json_option
def pack(bundle: Path, out: Path, targets: tuple[str, ...], without: tuple[str, ...], as_json: bool) -> None:
    """Write BUNDLE to one checked file, which the apps take from a phone's files.

    Without the language model (--without llm) the pocket for ONNX takes 44 MB of 198; searches then refine
    queries by rules.
    """
    with one_line("pack"):
        done = packed.pack(bundle, out, targets, without)
    say(as_json, asdict(done), [f"{done.path}: {done.files} files, {done.bytes / 1e6:.1f} MB"])


@click.command()
@click.argument("file", type=PATH)
@click.option("-o", "--output-dir", "out", type=PATH, required=True, help="The directory of the bundle.")
def unpack(file: Path, out: Path) -> None:
    """Make a bundle's directory of FILE, which `gamer pack` wrote; every file is checked."""
    with one_line("unpack"):
        manifest = packed.unpack(file, out)
    click.echo(plain(f"{out}: bundle {manifest.recipe}"))
