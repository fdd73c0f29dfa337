"""The group `gamer bench` with all its commands; several of them are defined here."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from gamer.runtime.cli.console import one_line

from .. import sample as sample_album
from . import (
    ablation,
    agent,
    channels,
    clips,
    cost,
    events,
    fleet,
    indexes,
    indexing,
    languages,
    learning,
    llm_tasks,
    memory,
    newcomer,
    page,
    people,
    questions,
    withheld,
)
from . import quality as cli_quality
from .options import PATH, Outlet, bundle_option, result_options, spinner, threads_option

if TYPE_CHECKING:
    from ..llm import LlmReport


@click.group()
def bench() -> None:
    """Measure latency per layer and component, measure quality, draw the report."""


for _command in (
    *cli_quality.COMMANDS,
    *ablation.COMMANDS,
    *fleet.COMMANDS,
    *cost.COMMANDS,
    *indexes.COMMANDS,
    *indexing.COMMANDS,
    *events.COMMANDS,
    *agent.COMMANDS,
    *newcomer.COMMANDS,
    *languages.COMMANDS,
    *channels.COMMANDS,
    *learning.COMMANDS,
    *clips.COMMANDS,
    *memory.COMMANDS,
    *llm_tasks.COMMANDS,
    *page.COMMANDS,
    *people.COMMANDS,
    *questions.COMMANDS,
    *withheld.COMMANDS,
):
    bench.add_command(_command)


@bench.command()
@click.argument("bundles", nargs=-1, required=True, type=PATH)
@result_options
def exports(bundles: tuple[Path, ...], out: Outlet) -> None:
    """What making BUNDLES took and what they weigh: parameters, multiply-adds, bytes, seconds, peak memory,
    parity.
    """
    from .. import exports as made

    with one_line("bench exports"):
        result = made.read(bundles)
        out.save(asdict(result))
    out.show(asdict(result), lambda: click.echo(made.sheet(result).markdown()))


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
@result_options
@threads_option
def llm(
    bundle: Path,
    gguf: Path | None,
    executorch: bool,
    quality: bool,
    weights: tuple[str, ...],
    repetitions: int,
    out: Outlet,
    threads: int,
) -> None:
    """Speed of the language model in BUNDLE (prefill, decode, first token, a refinement) and what its
    quantization cost in quality.
    """
    from gamer.export.settings import parse_sources
    from gamer.runtime.bundle import manifest

    from .. import llm as measuring

    with one_line("bench llm", extra="export"), spinner() as progress:
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
        out.save(asdict(result))
    out.show(asdict(result), lambda: print_llm(result))


def print_llm(result: LlmReport) -> None:
    table = Table(title=f"{result.n_threads} threads, {result.machine.cpu_info}")
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
@click.argument("output", type=PATH)
def sample(output: Path) -> None:
    """Write the sample album's JSONL to OUTPUT: packaged photographs with times, places and memories written
    for the sample.
    """
    with one_line("bench sample", extra="bench"):
        count = sample_album.write(output)
    click.echo(f"{output}: {count} photos")
