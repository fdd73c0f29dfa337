"""The command `gamer bench quality`, registered in bench/cli/bench.py."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from ..files import write_atomically
from ..retrieval.methods import METHODS
from ..tables import markdown
from .options import PATH, Outlet, bundle_option, cache_option, result_options, threads_option, working


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
@cache_option
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
    asked = ("--all",) if every else tuple(f"-m {name}" for name in names)
    command = " ".join((f"gamer bench quality {dataset.name} -b {bundle.name}", *asked))
    with working("bench quality") as tell:
        result, ranked = measuring.evaluate(
            bundle,
            dataset,
            names,
            reference,
            threads,
            cache,
            tell,
            command,
            parts,
        )
        for name, run in ranked.items() if runs else ():
            write_atomically((runs or Path()) / f"{name}.json", json.dumps(run))
        out.save(asdict(result))
    out.show(asdict(result), lambda: click.echo(markdown(measuring.tables(result))))
