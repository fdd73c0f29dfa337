"""The command `gamer bench fleet`, registered in bench/cli/bench.py."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from ..retrieval.methods import METHODS
from .options import PATH, Outlet, bundle_option, result_options, spinner

if TYPE_CHECKING:
    from ..retrieval.fleet import Fleet


@click.command()
@click.argument("folders", metavar="[DATASET]...", type=PATH, nargs=-1)
@bundle_option
@click.option(
    "--results",
    type=PATH,
    required=True,
    help="Folder for a file a user; users whose file is there are not done again.",
)
@click.option(
    "--synthetic",
    type=click.IntRange(0, 1_000_000),
    default=0,
    show_default=True,
    help="Made-up users beside the data sets'.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the made-up users.")
@click.option(
    "--photos",
    type=click.IntRange(1, 10_000),
    default=12,
    show_default=True,
    help="Photos of a made-up user.",
)
@click.option(
    "-m",
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(list(METHODS)),
    help="A method; repeat for more. [default: ours]",
)
@click.option(
    "--engine",
    type=click.Choice(("local", "ray")),
    default="local",
    show_default=True,
    help="Who runs the users.",
)
@click.option(
    "--address",
    default=None,
    help="An existing Ray cluster, host:port or auto. [default: one of its own, on loopback]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 1024),
    default=os.cpu_count() or 1,
    show_default=True,
    help="Users at a time, with Ray.",
)
@click.option(
    "--plan",
    type=click.IntRange(1),
    default=58_522,
    show_default=True,
    help="Users to plan for; the paper has 58,522.",
)
@result_options
def fleet(
    folders: tuple[Path, ...],
    bundle: Path,
    results: Path,
    synthetic: int,
    seed: int,
    photos: int,
    methods: tuple[str, ...],
    engine: str,
    address: str | None,
    workers: int,
    plan: int,
    out: Outlet,
) -> None:
    """Build, search and score many users' albums, each on its own: here, or on a Ray cluster that sees the
    same folders.
    """
    from time import perf_counter

    from ..retrieval import fleet as measuring
    from ..retrieval.fleet_engines import ENGINES

    if not folders and not synthetic:
        raise click.UsageError("nothing to do: give data set folders, or --synthetic N")
    if address and engine != "ray":
        raise click.UsageError("--address needs --engine ray")
    with (
        one_line("bench fleet", extra="fleet" if engine == "ray" else "bench"),
        spinner() as progress,
    ):
        task, begin = progress.add_task("opening", total=None), perf_counter()
        jobs = measuring.jobs_of(folders, synthetic, seed, photos)
        results.mkdir(parents=True, exist_ok=True)
        settings = measuring.FleetSettings(
            str(bundle.resolve()), str(results.resolve()), tuple(dict.fromkeys(methods)) or ("ours",)
        )
        workers = workers if engine == "ray" else 1

        def told(count: int, total: int, name: str) -> None:
            progress.update(task, description=f"{count} of {total} users: {name}")

        done = ENGINES[engine](jobs, settings, workers, address, told)
        sets = " ".join(
            (
                *(folder.name for folder in folders),
                *((f"--synthetic {synthetic} --seed {seed} --photos {photos}",) if synthetic else ()),
            )
        )
        command = f"gamer bench fleet {sets} -b {bundle.name} --engine {engine} --workers {workers}"
        result = measuring.summed(
            jobs, settings, engine, workers, done, perf_counter() - begin, plan, command
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_fleet(result))


def print_fleet(result: Fleet) -> None:
    console = Console()
    table = Table(
        title=f"{result.users} users, {result.photos} photos, {result.queries} queries; macro over users"
    )
    for name in ("method", "R@5", "95 %", "MAP@5", "MRR", "p50 ms"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for row in result.methods:
        recall5 = row.scores["recall5"]
        rest = (row.scores["map5"].mean, row.scores["mrr10"].mean)
        table.add_row(
            row.method,
            f"{recall5.mean:.4f}",
            f"{recall5.low:.3f}–{recall5.high:.3f}",
            *(f"{v:.4f}" for v in rest),
            f"{row.p50_ms:.1f}",
        )
    console.print(table)
    console.print(
        f"{result.done} users in {result.wall_seconds:.1f} s by {result.engine}, {result.workers} at a time: "
        f"{result.users_per_second:.2f} users/s; {result.kept} were there"
    )
    plan = result.plan
    console.print(
        f"plan for {plan.users} users of {plan.photos_per_user:.0f} photos, "
        f"{plan.core_seconds_per_user:.2f} core-seconds each: "
        + ", ".join(f"{hours:.1f} h on {cores} cores" for cores, hours in plan.hours.items())
        + f"; {plan.albums_gb:.1f} GB if albums are kept, {plan.results_gb:.2f} GB of results"
    )


COMMANDS = (fleet,)
