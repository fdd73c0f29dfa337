"""The group `gamer bench` with all its commands."""

from __future__ import annotations

from pathlib import Path

import click

from gamer.runtime.cli.console import one_line

from .. import sample as sample_album
from .cost import COMMANDS
from .old_names import OldNames
from .options import PATH
from .quality import quality
from .study import study


@click.group(cls=OldNames)
def bench() -> None:
    """Measure latency, quality and cost; draw the report; run the project's studies."""


@click.command()
@click.argument("output", type=PATH)
def sample(output: Path) -> None:
    """Write the sample album's JSONL to OUTPUT: packaged photographs with times, places and memories written
    for the sample.
    """
    with one_line("bench sample", extra="bench"):
        count = sample_album.write(output)
    click.echo(f"{output}: {count} photos")


for _command in (quality, *COMMANDS, sample, study):
    bench.add_command(_command)
