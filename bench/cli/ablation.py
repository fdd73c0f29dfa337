"""The commands `gamer bench ablation`, `delta`, `replay` and `paper`, registered in bench/cli/bench.py."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich import box
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from ..files import write_atomically
from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option

if TYPE_CHECKING:
    from ..retrieval.ablation import Outcome
    from ..retrieval.ablations import Ablation
    from ..retrieval.delta import Deltas, SetDeltas
    from ..retrieval.replay import Replay


@click.command()
@click.argument("dataset", type=PATH)
@click.option(
    "-b",
    "--bundle",
    "bundles",
    type=PATH,
    multiple=True,
    required=True,
    help="Bundle; repeat to compare quantizations with the first's.",
)
@click.option("--cache", type=PATH, required=True, help="Keep the albums here between runs.")
@click.option(
    "--queries", type=click.IntRange(1), default=100, show_default=True, help="Queries a user, evenly spread."
)
@click.option(
    "--llm-queries",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Queries a user that the language model refines.",
)
@click.option(
    "--sizes",
    default="500,1000,2000,4000,8000",
    show_default=True,
    help="Sizes of the albums, with commas between; cut at what there is.",
)
@result_options
@threads_option
def ablation(
    dataset: Path,
    bundles: tuple[Path, ...],
    cache: Path,
    queries: int,
    llm_queries: int,
    sizes: str,
    out: Outlet,
    threads: int,
) -> None:
    """What each layer, ρ, and the language model are worth on DATASET: the paper's Tables 4, 7, 10 and its
    Figure 3 with our system.
    """
    from ..retrieval import ablations as measuring

    if not all(part.strip().isdigit() and int(part) > 0 for part in sizes.split(",")):
        raise click.UsageError("--sizes: whole numbers with commas between")
    with one_line("bench ablation", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        cache.mkdir(parents=True, exist_ok=True)
        result = measuring.measure(
            dataset,
            bundles,
            cache,
            queries,
            llm_queries,
            [int(part) for part in sizes.split(",")],
            threads,
            lambda text: progress.update(task, description=text),
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_ablation(result))


def print_ablation(result: Ablation) -> None:
    for group in (result.fused, result.paper):
        print_outcomes(f"{result.dataset}: {result.queries} queries", group)
    console = Console()
    console.print("K:", ", ".join(f"recall@{k} {value:.3f}" for k, value in result.fused[0].recall.items()))
    for routed in result.rho:
        console.print(
            f"ρ {routed.rho}: {routed.experts:.2f} of {routed.of} experts, {routed.macs_share:.0%} of their "
            "multiply-adds"
        )
    for size in result.sizes:
        console.print(
            f"{size.photos} photos: recall@5 {size.recall5:.3f}, mode paper {size.paper_recall5:.3f}, "
            f"{size.p50_ms:.1f} ms"
        )


@click.command()
@click.argument("datasets", type=PATH, nargs=-1, required=True)
@bundle_option
@click.option("--cache", type=PATH, required=True, help="Keep the albums here between runs.")
@click.option(
    "--queries", type=click.IntRange(1), default=100, show_default=True, help="Queries a user, evenly spread."
)
@result_options
@threads_option
def delta(
    datasets: tuple[Path, ...], bundle: Path, cache: Path, queries: int, out: Outlet, threads: int
) -> None:
    """Mode paper at each δ on DATASETS (the paper's Table 6), and with the δ that the other users choose."""
    from ..retrieval import delta as measuring

    with one_line("bench delta", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        cache.mkdir(parents=True, exist_ok=True)
        result = measuring.measure(
            datasets,
            bundle,
            cache,
            queries,
            threads,
            lambda text: progress.update(task, description=text),
        )
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_delta(result))


def print_delta(result: Deltas) -> None:
    for one in result.sets:
        print_deltas(one)
    Console().print(f"the bundle's δ: {result.own_delta}; for a new user: {result.for_new_user}")


@click.command()
@bundle_option
@result_options
@threads_option
def replay(bundle: Path, out: Outlet, threads: int) -> None:
    """Replay the paper's example queries (its Table 9) in a small album that was invented for them."""
    from ..retrieval import replay as measuring

    with one_line("bench replay", extra="bench"), spinner() as progress:
        progress.add_task("replaying", total=None)
        result = measuring.measure(bundle, threads)
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_replay(result))


def print_replay(result: Replay) -> None:
    for one in result.replayed:
        click.echo(f"{one.query}: {'; '.join(one.cues) or 'no cue'} → {one.refined} → {', '.join(one.hits)}")


@click.command()
@click.option(
    "--results",
    type=PATH,
    required=True,
    help="Folder with the JSON of `bench ablation`, `delta`, `quality` and `replay` (bench/results).",
)
@click.option(
    "-o", "--output", type=PATH, default=None, help="Write the Markdown to this file instead of the terminal."
)
def paper(results: Path, output: Path | None) -> None:
    """Draw the paper's tables again from our measured results, with the paper's figures beside ours where
    they are known to us.
    """
    from ..retrieval import paper as paper_tables

    with one_line("bench paper", extra="bench"):
        text = paper_tables.draw(results)
        if output:
            write_atomically(output, text)
            click.echo(f"{output}: written")
            return
    click.echo(text)


def print_deltas(one: SetDeltas) -> None:
    table = Table(title=f"{one.dataset}: {one.queries} queries", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("δ", "R@5", "95 %", "MAP@5", "nodes", "photos left", "graph ms"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in one.rows:
        recall5 = row.scores["recall5"]
        figures = (f"{row.nodes:.1f}", f"{row.left:.0f}", f"{row.graph_ms:.2f}")
        bounds = f"{recall5.low:.3f}–{recall5.high:.3f}"
        table.add_row(
            f"{row.delta}", f"{recall5.mean:.3f}", bounds, f"{row.scores['map5'].mean:.3f}", *figures
        )
    Console().print(table)
    Console().print(
        f"δ chosen by the other users: recall@5 {one.nested_recall5:.3f}, the bundle's δ "
        f"{one.own_recall5:.3f}; chosen: {', '.join(map(str, sorted(set(one.chosen.values()))))}"
    )


def print_outcomes(title: str, outcomes: tuple[Outcome, ...]) -> None:
    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("variant", "R@5", "95 %", "p", "MAP@5", "cube", "graph", "ms"):
        table.add_column(name, justify="left" if name == "variant" else "right", no_wrap=True)
    for row in outcomes:
        recall5 = row.scores["recall5"]
        table.add_row(
            row.name,
            f"{recall5.mean:.3f}",
            f"{recall5.low:.3f}–{recall5.high:.3f}",
            "" if recall5.p_holm is None else f"{recall5.p_holm:.4f}",
            f"{row.scores['map5'].mean:.3f}",
            *(f"{row.left[layer]:.0f}" for layer in ("cube", "graph")),
            f"{sum(row.layer_ms.values()):.1f}",
        )
    Console().print(table)


COMMANDS = (ablation, delta, replay, paper)
