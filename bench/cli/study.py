"""The command `gamer bench study`: one study, the list of all, or all committed results again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from gamer.runtime.cli.console import fail

from ..study import driver, figures, settings, staleness
from ..tables import markdown
from .options import (
    PATH,
    Outlet,
    bundles_option,
    cache_option,
    result_options,
    threads_option,
    timed,
    working,
)


@click.command()
@click.argument("name", required=False)
@click.argument("data", type=PATH, nargs=-1)
@bundles_option("Bundle; several for some studies.")
@click.option("-a", "--album", type=PATH, help="Album.")
@cache_option
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the study; repeat for more. `--set help` lists them.",
)
@click.option("--quick", is_flag=True, help="Few queries and repetitions: to see that it runs.")
@click.option(
    "--all", "every", is_flag=True, help="Make the committed results again: -o FOLDER, DATA: all data sets."
)
@result_options
@timed
@threads_option
def study(
    name: str | None,
    data: tuple[Path, ...],
    bundles: tuple[Path, ...],
    album: Path | None,
    cache: Path | None,
    given: tuple[str, ...],
    quick: bool,
    every: bool,
    out: Outlet,
    threads: int,
) -> None:
    """Run the study NAME; without NAME, list the studies, and whether their results are older than the code.

    DATA: data sets, checkpoints or pictures, as the study takes them.
    """
    if every:
        places = {"data": name, "bundle": next(iter(bundles), None), "album": album, "cache": cache}
        _make_results(out.file or staleness.RESULTS, places)
    elif name is None:
        _list(out)
    else:
        chosen = driver.find(name)
        with working(f"bench study {name}", chosen.extra) as tell:
            if "help" in given:
                click.echo(settings.table(chosen.work().settings).markdown())
                return
            done = driver.run(
                chosen,
                data=data,
                bundles=bundles,
                album=album,
                cache=cache,
                given=given,
                quick=quick,
                threads=threads,
                tell=tell,
            )
            out.save(done.document)
        out.show(done.document, lambda: click.echo(markdown(done.parts)))


def _list(out: Outlet) -> None:
    sheet = driver.listing()
    records = [dict(zip(sheet.columns, row, strict=True)) for row in sheet.rows]
    out.save(records)
    out.show(records, lambda: click.echo(sheet.markdown()))


def _make_results(folder: Path, places: Mapping[str, object]) -> None:
    """Exit code 1 if a result could not be made."""
    given = {name: str(place) for name, place in places.items() if place}
    left = 0
    for part in figures.all_parts(given, folder, lambda file: click.echo(f"{file} …")):
        click.echo(f"{part.file}: {part.outcome}")
        left += part.fails
    if left:
        fail("bench study --all", f"{left} results were not made; what is made is passed over next time")
