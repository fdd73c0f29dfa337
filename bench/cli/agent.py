"""The command `gamer bench agent`, registered in bench/cli/bench.py."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gamer.runtime.cli.console import one_line

from ..files import write_atomically
from ..retrieval.datasets import DatasetError
from ..tables import Sheet
from .options import PATH, bundle_option, spinner, threads_option
from .quality import shown_command

DATA = ("album", "album-pixels", "locomo", "lihua", "camroll-qa")  # as measure.DATA, which imports models

if TYPE_CHECKING:
    from ..agent.measure import AgentQuality


@click.command()
@bundle_option
@click.option(
    "--data", type=PATH, required=True, help="Folder of the data sets album, locomo, lihua, camroll-qa."
)
@click.option("--cache", type=PATH, required=True, help="Keep the albums and the traces here between runs.")
@click.option(
    "--mind", "names", multiple=True, default=("rules",), show_default=True, help="A mind; repeat for more."
)
@click.option(
    "--only", multiple=True, type=click.Choice(DATA), help="A data set; repeat for more. [default: all]"
)
@click.option("--output", type=PATH, default=None, help="Write the JSON to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON instead of the tables.")
@threads_option
def agent(
    bundle: Path,
    data: Path,
    cache: Path,
    names: tuple[str, ...],
    only: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    threads: int,
) -> None:
    """How well agents answer questions that take several steps, beside one search and BM25 with their best
    thresholds, on the same albums.
    """
    from ..agent import measure as measuring

    with one_line("bench agent", DatasetError, extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        result = measuring.measure(
            bundle,
            data,
            names,
            only,
            threads,
            cache,
            lambda text: progress.update(task, description=text),
            shown_command(
                "agent", bundle, (*(f"--mind {name}" for name in names), *(f"--only {name}" for name in only))
            ),
        )
        text = json.dumps(asdict(result), ensure_ascii=False)
        if output:
            write_atomically(output, text)
    click.echo(text if as_json else "\n\n".join(sheet.markdown() for sheet in sheets(result)))


def sheets(result: AgentQuality) -> list[Sheet]:
    out = [
        Sheet(
            f"{name}: exact sets, F1 of sets, refused",
            (
                "method",
                *(f"{group} {figure}" for group in _GROUPS for figure in ("EM", "F1")),
                "absent refused",
                "ms",
            ),
            tuple(
                (
                    row.method,
                    *(
                        f"{value:.3f}"
                        for group in _GROUPS
                        for value in (row.groups[group].exact, row.groups[group].f1)
                    ),
                    f"{row.groups['absent'].refused:.0%}",
                    "" if row.ms is None else f"{row.ms:.0f}",
                )
                for row in rows
            ),
        )
        for name, rows in result.albums.items()
    ]
    if result.sentences:
        out.append(
            Sheet(
                "short answers, macro over users",
                ("data set", "method", "questions", "evidence in 10", "token F1", "right", "refused"),
                tuple(
                    (
                        row.dataset,
                        row.method,
                        row.questions,
                        f"{row.evidence:.3f}",
                        "" if row.f1 is None else f"{row.f1:.3f}",
                        "" if row.right is None else f"{row.right:.3f}",
                        f"{row.refused:.0%}",
                    )
                    for row in result.sentences
                ),
            )
        )
    if steps := result.steps:
        cells = (steps.photos, steps.calls, f"{steps.p50:.1f}", f"{steps.p95:.1f}")
        out.append(Sheet("a step of `rules`", ("photos", "calls", "p50 ms", "p95 ms"), (cells,)))
    return out


_GROUPS = ("single", "set", "relation")
COMMANDS = (agent,)
