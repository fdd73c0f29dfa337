"""The commands `gamer bench quality` and `gamer bench fit`, registered in bench/cli/bench.py."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from ..files import write_atomically
from ..retrieval.methods import METHODS
from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option

if TYPE_CHECKING:
    from ..retrieval.calibrate import Calibration
    from ..retrieval.fit_ranking import Fit
    from ..retrieval.quality import Quality


@click.command(
    epilog="\b\nMethods:\n" + "\n".join(f"  {name:11} {method.what}" for name, method in METHODS.items())
)
@click.argument("dataset", type=PATH)
@bundle_option
@click.option(
    "-m",
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(list(METHODS)),
    help="A method; repeat for more. [default: ours]",
)
@click.option("--all", "every", is_flag=True, help="All methods.")
@click.option(
    "--reference",
    type=click.Choice(list(METHODS)),
    default="ours",
    show_default=True,
    help="What p-values compare with.",
)
@click.option(
    "--cache",
    type=PATH,
    default=None,
    help="Keep the albums, and what the language model wrote, here between runs.",
)
@click.option(
    "--runs",
    type=PATH,
    default=None,
    help="Write METHOD.json, {query id: [ids]}, into this folder for an outside scorer.",
)
@click.option(
    "--parts",
    type=PATH,
    default=None,
    help="Keep each user's answers here; the same command, interrupted, goes on.",
)
@result_options
@threads_option
def quality(
    dataset: Path,
    bundle: Path,
    methods: tuple[str, ...],
    every: bool,
    reference: str,
    cache: Path | None,
    runs: Path | None,
    parts: Path | None,
    out: Outlet,
    threads: int,
) -> None:
    """Recall, MAP and MRR on DATASET of our search and of baselines on the same albums and encoder, with
    intervals and paired tests.

    DATASET: a folder of USER.corpus.jsonl.gz and USER.queries.jsonl.gz files, one album a user.
    """
    from ..retrieval import quality as measuring

    names = tuple(METHODS) if every else tuple(dict.fromkeys(methods)) or ("ours",)
    if reference not in names:
        raise click.UsageError(f"--reference {reference}: not among the methods asked ({', '.join(names)})")
    if runs and parts:
        raise click.UsageError(
            "--runs with --parts: users that were asked before have no runs; give one of the two"
        )
    with one_line("bench quality", extra="bench"):
        with spinner() as progress:
            task = progress.add_task("opening", total=None)
            result, ranked = measuring.evaluate(
                bundle,
                dataset,
                names,
                reference,
                threads,
                cache,
                lambda text: progress.update(task, description=text),
                shown_command(
                    f"quality {dataset.name}",
                    bundle,
                    ("--all",) if every else tuple(f"-m {name}" for name in names),
                ),
                parts,
            )
        for name, run in ranked.items() if runs else ():
            write_atomically((runs or Path()) / f"{name}.json", json.dumps(run))
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_quality(result))


def shown_command(what: str, bundle: Path, options: tuple[str, ...]) -> str:
    """The command as result files record it: without folders, which would disclose local paths."""
    return " ".join(("gamer bench", what, f"-b {bundle.name}", *options))


def print_quality(result: Quality) -> None:
    console = Console()
    photos, queries = (
        sum(user.photos for user in result.users),
        sum(len(user.queries) for user in result.users),
    )
    table = Table(
        title=f"{result.dataset}: {len(result.users)} users, "
        f"{photos} photos, {queries} queries; macro over users",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in ("method", "R@5", "95 %", "p", "MAP@5", "std", "R@10", "MRR", "ms"):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for row in result.methods:
        recall5, *rest = row.scores.values()
        p = "" if recall5.p_holm is None else f"{recall5.p_holm:.4f}"
        bounds = f"{recall5.low:.3f}–{recall5.high:.3f}"
        table.add_row(
            row.method,
            f"{recall5.mean:.3f}",
            bounds,
            p,
            *(f"{other.mean:.3f}" for other in rest),
            f"{row.p50_ms:.1f}",
        )
    console.print(table)
    console.print(
        f"p: R@5 against {result.reference}, paired permutation test, Holm-corrected; std: MAP@5 over "
        "min(relevant, 5); ms: p50 a query"
    )
    for name, why in result.skipped.items():
        console.print(f"{name}: not asked, {why}")


@click.command()
@click.argument("datasets", type=PATH, nargs=-1, required=True)
@bundle_option
@click.option("--cache", type=PATH, required=True, help="Keep the albums here between runs.")
@result_options
@threads_option
def fit(datasets: tuple[Path, ...], bundle: Path, cache: Path, out: Outlet, threads: int) -> None:
    """Fit the ranking's weights to DATASETS, cross-validated by user, with what each summand adds to
    recall@5.
    """
    from ..retrieval import fit_ranking as fitting

    with one_line("bench fit", extra="bench"), spinner() as progress:
        cache.mkdir(parents=True, exist_ok=True)
        task = progress.add_task("opening", total=None)
        result = fitting.fit(
            bundle, datasets, threads, cache, lambda text: progress.update(task, description=text)
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_fit(result))


def print_fit(result: Fit) -> None:
    table = Table(title="macro recall@5")
    for name in ("", *result.trained):
        table.add_column(name, justify="right" if name else "left")
    table.add_row("fitted", *(f"{v:.4f}" for v in result.trained.values()))
    table.add_row(
        "cross-validated by user", *(f"{result.cross_validated[name]:.4f}" for name in result.trained)
    )
    for step in result.steps:
        table.add_row(f"without {step.without}", *(f"{v:.4f}" for v in step.recall5.values()))
    Console().print(table)
    weights = asdict(result.ranking)
    Console().print(", ".join(f"{name} {value}" for name, value in weights.items() if name != "fitted"))
    Console().print("called not in the album:", result.doubted)


@click.command()
@click.argument("datasets", type=PATH, nargs=-1, required=True)
@bundle_option
@click.option("--cache", type=PATH, required=True, help="Keep the albums here between runs.")
@click.option(
    "--queries", type=click.IntRange(1), default=100, show_default=True, help="Queries a user, for δ."
)
@result_options
@threads_option
def calibrate(
    datasets: tuple[Path, ...], bundle: Path, cache: Path, queries: int, out: Outlet, threads: int
) -> None:
    """Calibrate δ and the ranking's weights of a bundle on DATASETS, and write them into its manifest.

    They are written only if users who took no part in the fit are served at least as well as before.
    """
    from ..retrieval import calibrate as calibrating

    with one_line("bench calibrate", extra="bench"), spinner() as progress:
        cache.mkdir(parents=True, exist_ok=True)
        task = progress.add_task("opening", total=None)
        result = calibrating.calibrate(
            bundle, datasets, cache, queries, threads, lambda text: progress.update(task, description=text)
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_calibration(result, bundle))


def print_calibration(result: Calibration, bundle: Path) -> None:
    Console().print(
        f"δ {result.own_delta} → {result.delta}; recall@5 {result.own_recall5} → {result.recall5}"
    )
    told = "written to" if result.written else "not better than before: not written to"
    Console().print(f"{told} {bundle / 'manifest.json'}; albums keep the δ that they were built with")


COMMANDS = (quality, fit, calibrate)
