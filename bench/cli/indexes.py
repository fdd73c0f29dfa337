"""The commands `gamer bench ann` and `gamer bench index`, registered in bench/cli/bench.py."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import fail, one_line

from ..files import write_atomically
from .options import ERR, PATH, Outlet, bundle_option, result_options, spinner

if TYPE_CHECKING:
    from ..index.ann import Ann
    from ..index.growth import Growth


@click.command()
@click.option(
    "-n",
    "--vectors",
    type=click.IntRange(100, 5_000_000),
    default=100_000,
    show_default=True,
    help="Clustered vectors to make.",
)
@click.option("--dim", type=click.IntRange(8, 4096), default=768, show_default=True, help="Their dimensions.")
@click.option(
    "--data",
    type=PATH,
    default=None,
    help="Instead: the memories and queries of the data sets in this folder; needs --bundle.",
)
@click.option("-b", "--bundle", type=PATH, default=None, help="Bundle whose text encoder encodes --data.")
@click.option(
    "-q", "--queries", type=click.IntRange(10, 10_000), default=200, show_default=True, help="Queries."
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    help="An engine to measure beside ours; repeat for more. [default: all that are installed]",
)
@click.option("--cache", type=PATH, default=None, help="Keep the encoded texts here between runs.")
@result_options
def ann(
    vectors: int,
    dim: int,
    data: Path | None,
    bundle: Path | None,
    queries: int,
    peers: tuple[str, ...],
    cache: Path | None,
    out: Outlet,
) -> None:
    """Filtered nearest neighbours of our index beside usearch, hnswlib, faiss and sqlite-vec, on the same
    vectors: recall and speed.
    """
    from ..index import ann as measuring
    from ..index import ann_peers

    known = (*(name for name in measuring.OURS if name != "gamer"), *ann_peers.PEERS)
    if data and not bundle:
        raise click.UsageError("--data needs --bundle, whose text encoder encodes it")
    if unknown := set(peers) - set(known):
        raise click.UsageError(f"unknown peer {min(unknown)!r}; choose from: {', '.join(known)}")
    chosen, left_out = ann_peers.available(peers or known)
    if peers and left_out:
        fail("bench ann", f"{left_out[0].algorithm}: {left_out[0].why}")
    for one in left_out:
        ERR.print(f"{one.algorithm} is left out: {one.why}", markup=False, soft_wrap=True)
    with (
        one_line("bench ann", extra="bench"),
        spinner() as progress,
        tempfile.TemporaryDirectory() as folder,
    ):
        task = progress.add_task("making vectors", total=None)

        def say(text: str) -> None:
            progress.update(task, description=text)

        x, q = (
            measuring.texts(data, bundle, queries, cache, say)
            if data and bundle
            else measuring.clustered(vectors, dim, queries)
        )
        name = "texts" if data else "clustered"
        result = measuring.measure(name, x, q, chosen, left_out, Path(folder), say)
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_ann(result))


def print_ann(result: Ann) -> None:
    from ..index import ann as measuring

    table = Table(
        title=f"{result.data}: {result.vectors} vectors of "
        f"{result.dim}, the fastest setting with recall@{result.k} ≥ {result.recall_wanted}"
    )
    for column in ("selectivity", *(f"{b.algorithm} qps" for b in result.built)):
        table.add_column(column, justify="right")
    for share in measuring.SELECTIVITIES:
        best = {
            run.algorithm: f"{run.qps:.0f} ({run.parameters}, {run.knn:.3f})"
            for run in result.fastest
            if run.selectivity == share
        }
        table.add_row(f"{share:.2%}", *(best.get(b.algorithm, "–") for b in result.built))
    table.add_row("bytes", *(f"{b.bytes_per_vector:.0f}" for b in result.built))
    Console().print(table)
    for one in result.left_out:
        Console().print(f"{one.algorithm}: left out, {one.why}", markup=False, soft_wrap=True)


@click.command()
@bundle_option
@click.option(
    "--photos",
    default="1000,10000,100000",
    show_default=True,
    help="Sizes of the albums, with commas between.",
)
@click.option(
    "--cache", type=PATH, required=True, help="Folder in which the albums are made, and kept for another run."
)
@click.option(
    "-r",
    "--repetitions",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="Counted passes over the queries.",
)
@result_options
@click.option("--svg", type=PATH, default=None, help="Draw the curves into this file.")
def index(bundle: Path, photos: str, cache: Path, repetitions: int, out: Outlet, svg: Path | None) -> None:
    """How albums of growing size search, open and take a photo more: made-up photos, the whole search without
    the LLM.
    """
    from ..index import growth as measuring

    if not all(part.strip().isdigit() and int(part) >= 100 for part in photos.split(",")):
        raise click.UsageError("--photos: whole numbers of 100 or more with commas between")
    with one_line("bench index", extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        cache.mkdir(parents=True, exist_ok=True)
        counts = sorted({int(part) for part in photos.split(",")})
        result = measuring.measure(
            bundle, counts, cache, repetitions, lambda text: progress.update(task, description=text)
        )
        out.save(asdict(result))
        if svg:
            write_atomically(svg, measuring.draw(result))
    out.show(asdict(result), lambda: print_index(result))


def print_index(result: Growth) -> None:
    table = Table(title="milliseconds")
    for column in (
        "photos",
        "search p95",
        "with encoder p95",
        "open",
        "first search",
        "add p95",
        "tree",
        "mask",
        "vectors B/photo",
        "file / parts",
    ):
        table.add_column(column, justify="right")
    for s in result.sizes:
        numbers = (
            s.search.p95_ms,
            s.search_encoding.p95_ms,
            s.album_open_ms,
            s.first_search_ms,
            s.add_one.p95_ms,
            s.tree_ms,
            s.mask_ms,
        )
        table.add_row(
            str(s.photos),
            *(f"{number:.2f}" for number in numbers),
            f"{s.vector_bytes / s.photos:.0f}",
            f"{s.file_bytes / s.parts_bytes:.2f}",
        )
    Console().print(table)


COMMANDS = (ann, index)
