"""The command `gamer bench clips`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamer.runtime.cli.console import one_line

from .options import Outlet, bundle_option, result_options, spinner

if TYPE_CHECKING:
    from ..clips import ClipsMeasured


@click.command()
@bundle_option
@result_options
def clips(bundle: Path, out: Outlet) -> None:
    """Whether a sentence finds the second of a made video that shows it, and what a video costs.

    Also whether the mean of the frames' vectors finds more than the best frame.
    """
    from .. import clips as measuring

    with one_line("bench clips", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        result = measuring.measure(bundle, lambda text: progress.update(task, description=text))
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_clips(result))


def print_clips(result: ClipsMeasured) -> None:
    click.echo(
        f"the right second of {result.right} of {result.scenes} scenes in {result.clips} clips of "
        f"{result.seconds} s; a clip takes {result.cut_ms} ms of a processor to look for cuts, "
        f"{result.frames_ms} ms to decode {result.frames} frames, {result.encode_ms} ms to encode them"
    )
    click.echo("its clip first: " + ", ".join(f"by {way} {share:.1%}" for way, share in result.first.items()))


COMMANDS = (clips,)
