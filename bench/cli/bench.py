"""The group `gamer bench` with all its commands; several of them are defined here."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .. import sample as sample_album
from ..files import write_atomically
from ..retrieval.datasets import DatasetError
from ..sample import SampleError
from . import ablation, agent, channels, cost, events, fleet, memory, newcomer
from . import quality as cli_quality
from .options import PATH, bundle_option, spinner, threads_option


@click.group()
def bench() -> None:
    """Measure latency per layer and component, measure quality, draw the report."""


for _command in (
    *cli_quality.COMMANDS,
    *ablation.COMMANDS,
    *fleet.COMMANDS,
    *cost.COMMANDS,
    *events.COMMANDS,
    *agent.COMMANDS,
    *newcomer.COMMANDS,
    *channels.COMMANDS,
    *memory.COMMANDS,
):
    bench.add_command(_command)


@bench.command()
@click.argument("bundles", nargs=-1, required=True, type=PATH)
@click.option("--output", type=PATH, default=None, help="Write the JSON to this file.")
def exports(bundles: tuple[Path, ...], output: Path | None) -> None:
    """What making BUNDLES took and what they weigh: parameters, multiply-adds, bytes, seconds, peak memory,
    parity.
    """
    from .. import exports as made

    with one_line("bench exports"):
        result = made.read(bundles)
        if output:
            made.save(result, output)
    click.echo(made.sheet(result).markdown())


@bench.command()
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
    "--peer", "peers", multiple=True, help="An engine to measure beside ours; repeat for more. [default: all]"
)
@click.option("--cache", type=PATH, default=None, help="Keep the encoded texts here between runs.")
@click.option("--output", type=PATH, default=None, help="Write the JSON, with all settings, to this file.")
def ann(
    vectors: int,
    dim: int,
    data: Path | None,
    bundle: Path | None,
    queries: int,
    peers: tuple[str, ...],
    cache: Path | None,
    output: Path | None,
) -> None:
    """Filtered nearest neighbours of our index beside usearch, hnswlib, faiss and sqlite-vec, on the same
    vectors: recall and speed.
    """
    import tempfile

    from ..index import ann as measuring
    from ..index.ann_peers import PEERS, missing

    known = (*(name for name in measuring.OURS if name != "gamer"), *PEERS)
    if data and not bundle:
        raise click.UsageError("--data needs --bundle, whose text encoder encodes it")
    if unknown := set(peers) - set(known):
        raise click.UsageError(f"unknown peer {min(unknown)!r}; choose from: {', '.join(known)}")
    absent = missing(peers or known)
    if peers and absent:
        name, how = next(iter(absent.items()))
        raise click.UsageError(f"the peer {name!r} is not installed: {how}")
    for name, how in absent.items():
        click.echo(f"left out: {name} is not installed ({how})", err=True)
    with (
        one_line("bench ann", DatasetError, SampleError, extra="bench"),
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
        result = measuring.measure(
            name, x, q, peers or [peer for peer in known if peer not in absent], Path(folder), say, absent
        )
        if output:
            write_atomically(output, json.dumps(asdict(result), ensure_ascii=False))
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


@bench.command()
@bundle_option
@click.option(
    "--gguf", type=PATH, default=None, help="Run llama.cpp (llama-cpp-python) on this file beside it."
)
@click.option("--executorch", is_flag=True, help="Also time the bundle's ExecuTorch decoder.")
@click.option(
    "--quality/--no-quality",
    default=True,
    show_default=True,
    help="Compare with the decoder in fp32; needs the weights.",
)
@click.option(
    "--weights",
    multiple=True,
    metavar="[PART=]SOURCE",
    help="Where the weights lie that came from this machine's own files.",
)
@click.option(
    "-r", "--repetitions", type=click.IntRange(1, 100), default=5, show_default=True, help="Counted passes."
)
@click.option(
    "--output", type=PATH, default=None, help="Also write the JSON, with all samples, to this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the JSON instead of the table.")
@threads_option
def llm(
    bundle: Path,
    gguf: Path | None,
    executorch: bool,
    quality: bool,
    weights: tuple[str, ...],
    repetitions: int,
    output: Path | None,
    as_json: bool,
    threads: int,
) -> None:
    """Speed of the language model in BUNDLE (prefill, decode, first token, a refinement) and what its
    quantization cost in quality.
    """
    from gamer.export.errors import ExportError
    from gamer.export.settings import parse_sources
    from gamer.runtime.bundle import manifest

    from .. import llm as measuring

    with one_line("bench llm", DatasetError, ExportError, extra="export"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        result = measuring.measure(
            bundle,
            gguf,
            executorch,
            quality,
            threads,
            repetitions,
            lambda text: progress.update(task, description=text),
            parse_sources(manifest.read(bundle).recipe, None, weights),
        )
        text = json.dumps(asdict(result), ensure_ascii=False)
        if output:
            write_atomically(output, text)
    if as_json:
        click.echo(text)
        return
    table = Table(title=f"{threads} threads, {result.machine.cpu_info}")
    for name in ("engine", "weights", "prefill tokens/s", "decode tokens/s"):
        table.add_column(name, justify="right" if "tokens" in name else "left")
    for row in result.speeds:
        table.add_row(
            row.engine,
            row.weights,
            f"{row.prefill_tps:.0f} ({row.prompt})",
            f"{row.decode_tps:.1f} ({row.decoded})",
        )
    Console().print(table)
    if result.first:
        first = result.first
        click.echo(
            f"first token: {first.with_prefix.p50_ns / 1e6:.1f} ms with the prefix of {first.prefix_tokens} "
            f"tokens, {first.without.p50_ns / 1e6:.1f} ms without ({first.ratio:.2f} of it)"
        )
    click.echo(f"refinement: {result.refine.p50_ns / 1e6:.0f} ms, p95 {result.refine.p95_ns / 1e6:.0f} ms")
    if result.quality:
        q = result.quality
        click.echo(
            f"against fp32 on {q.positions} positions: likeliest token equal {q.top1:.1%}, perplexity "
            f"{q.perplexity} / {q.perplexity_fp32}"
        )


@bench.command()
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
@click.option("--output", type=PATH, default=None, help="Write the JSON to this file.")
@click.option("--svg", type=PATH, default=None, help="Draw the curves into this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the JSON instead of the table.")
def index(
    bundle: Path,
    photos: str,
    cache: Path,
    repetitions: int,
    output: Path | None,
    svg: Path | None,
    as_json: bool,
) -> None:
    """How albums of growing size search, open and take a photo more: made-up photos, the whole search without
    the LLM.
    """
    from ..index import growth as measuring

    if not all(part.strip().isdigit() and int(part) >= 100 for part in photos.split(",")):
        raise click.UsageError("--photos: whole numbers of 100 or more with commas between")
    with one_line("bench index", DatasetError, SampleError, extra="bench"), spinner() as progress:
        task = progress.add_task("opening", total=None)
        cache.mkdir(parents=True, exist_ok=True)
        counts = sorted({int(part) for part in photos.split(",")})
        result = measuring.measure(
            bundle, counts, cache, repetitions, lambda text: progress.update(task, description=text)
        )
        text = json.dumps(asdict(result), ensure_ascii=False)
        if output:
            write_atomically(output, text)
        if svg:
            write_atomically(svg, measuring.draw(result))
    if as_json:
        click.echo(text)
        return
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


@bench.command()
@click.argument("output", type=PATH)
def sample(output: Path) -> None:
    """Write the sample album's JSONL to OUTPUT: packaged photographs with times, places and memories written
    for the sample.
    """
    with one_line("bench sample", DatasetError, SampleError, extra="bench"):
        count = sample_album.write(output)
    click.echo(f"{output}: {count} photos")
