"""The commands of `gamer bench` about cost, registered in bench/cli/bench.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gamer.runtime.cli.console import one_line
from gamer.runtime.cli.options import backend_option
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.answer import REFINEMENTS

from .. import sample as sample_album
from ..study.staleness import RESULTS
from ..tables import markdown
from .options import (
    PATH,
    Outlet,
    bundle_option,
    bundles_option,
    html_option,
    query_option,
    repetitions_option,
    sheet_options,
    strict_option,
    thread_counts_option,
    threads_option,
    timed,
    working,
)

if TYPE_CHECKING:
    from ..latency.measure import Latency
    from ..phones.reports import Source


def _dims(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    out = {}
    for text in given:
        name, _, number = text.partition("=")
        if not name or not number.isdigit() or not 0 < int(number) <= 1 << 20:
            raise click.BadParameter(f"{text!r}: NAME=N is wanted, N from 1 to {1 << 20}")
        out[name] = int(number)
    return out


@click.command()
@click.argument("album", type=PATH, required=False)
@bundle_option
@query_option
@backend_option
@click.option(
    "--refine",
    "refined_by",
    type=click.Choice(REFINEMENTS),
    default="fast",
    show_default=True,
    help="Refinement inside the search.",
)
@repetitions_option(20, "Counted rounds over all rows.", most=10_000)
@click.option(
    "--launches",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    help="Fresh processes that share the rounds.",
)
@click.option(
    "-w",
    "--warmup",
    type=click.IntRange(0, 1000),
    default=1,
    show_default=True,
    help="Rounds of each process that are not counted.",
)
@click.option(
    "--delay",
    type=click.FloatRange(0, 3600),
    default=0.0,
    show_default=True,
    help="Seconds between rounds, for a phone to cool.",
)
@click.option(
    "--now",
    type=click.DateTime(),
    default=None,
    help="The day that 'last spring' counts from. [default: now]",
)
@html_option
@sheet_options
@timed
@thread_counts_option
def latency(
    album: Path | None,
    bundle: Path,
    queries: tuple[str, ...],
    backend: str,
    refined_by: str,
    repetitions: int,
    launches: int,
    warmup: int,
    delay: float,
    now: datetime | None,
    html: Path | None,
    out: Outlet,
    threads: tuple[int, ...],
) -> None:
    """Latency of every layer and step of a search in ALBUM (without one: none) and of every component of the
    bundle.
    """
    from ..latency import measure as measuring
    from ..latency import tables as tables
    from ..latency.cold import Job

    if html and album is None:
        raise click.UsageError("--html draws searches: give an ALBUM")
    if html and len(threads) > 1:
        raise click.UsageError("--html draws one run: give --threads one number")
    job = Job(
        bundle=str(bundle),
        album=str(album or ""),
        backend=backend,
        threads=threads[0],
        refined_by=refined_by,
        queries=queries or sample_album.QUERIES,
        now=now.isoformat() if now else "",
        warmup=warmup,
        rounds=repetitions,
        delay=delay,
    )
    with working("bench latency") as tell:
        results = [measuring.measure(replace(job, threads=count), launches, tell) for count in threads]
        if len(results) > 1:
            runs = {"runs": [asdict(one) for one in results]}
            out.save(runs)
            out.emit(
                [tables.by_threads(results)], [], [r for one in results for r in tables.records(one)], runs
            )
            return
        (result,) = results
        as_dict = asdict(result)
        out.save(as_dict)
        if html and album:
            tell("drawing")
            draw(html, bundle, album, result, as_dict, now)
    notes = [*tables.notes(result), *([f"Report: {html.resolve()}"] if html else [])]
    out.emit(tables.sheets(result), notes, tables.records(result), as_dict)


def draw(
    html: Path, bundle: Path, album: Path, measured: Latency, as_dict: dict[str, Any], now: datetime | None
) -> None:
    """Writes the HTML report of one run: its searches, its times, and its bundle."""
    from gamer.runtime.search.engine import Engine

    from ..report import report

    with Engine.open(bundle, album, measured.backend, measured.n_threads) as engine:
        by = measured.refined_by
        answers = [engine.search(query, refined_by=by, now=now) for query in measured.queries]
        report.write(html, [engine.models.manifest], [as_dict], answers)


@click.command()
@click.argument("files", type=PATH, nargs=-1)
@html_option
@bundles_option("Also list this bundle's artifacts on the page; repeat for more.")
@sheet_options
def report(files: tuple[Path, ...], html: Path | None, bundles: tuple[Path, ...], out: Outlet) -> None:
    """Tables or a page from result FILES; of a folder of results, the paper's tables beside its figures.

    Tables, of `bench ops` and `bench latency`: components by cost, time and roofline. The page (--html) also
    takes the JSON of flops, device, quality and of the studies index and llm. A folder, by default this
    project's results, gives the paper's Tables 1-11 and Figures 3-6 beside ours: `gamer bench paper`.
    """
    from gamer.runtime.bundle import manifest as mf

    from ..report import readme_tables
    from ..report import report as page

    with one_line("bench report", extra="bench"):
        if not files or files[0].is_dir():
            _paper(files or (RESULTS,), html, out)
        elif html is not None:
            results = [one for path in files for one in page.read(path)]
            page.write(html, [mf.read(path) for path in bundles], results, [])
            out.save(results)
            out.show(results, lambda: click.echo(f"{html.resolve()}"))
        else:
            result = readme_tables.make([one for path in files for one in page.read(path)])
            as_dict = asdict(result)
            out.save(as_dict)
            out.emit(readme_tables.sheets(result), [readme_tables.NOTE], as_dict["rows"], as_dict)


def _paper(folders: tuple[Path, ...], html: Path | None, out: Outlet) -> None:
    from ..report import paper

    needless = f"--format {out.form}" if out.form in ("csv", "jsonl") else "the others" if folders[1:] else ""
    if needless:
        raise RuntimeFailure(
            f"{folders[0]}: of one folder the paper is drawn, as Markdown, JSON or page: leave out {needless}"
        )
    drawn = paper.parts(folders[0])
    as_dict = [asdict(part) for part in drawn]
    out.save(as_dict)
    if html is not None:
        paper.write(html, drawn)
    lines = [str(html.resolve())] if html else [line for part in drawn for line in part.lines()]
    out.show(as_dict, lambda: click.echo(markdown(lines if html else [paper.INTRODUCTION, *lines])))


@click.command()
@bundle_option
@click.option(
    "--album", type=PATH, default=None, help="Its photos are shown to the router. [default: the sample's]"
)
@query_option
@click.option(
    "--photos",
    type=click.IntRange(1, 100_000_000),
    default=10_000,
    show_default=True,
    help="Size of the album that a query scans.",
)
@click.option(
    "--dim",
    "dims",
    multiple=True,
    callback=_dims,
    help="NAME=N: length of a dimension that a graph names; repeat for more.",
)
@click.option("--operators", is_flag=True, help="Also a table of operators for each component.")
@sheet_options
@threads_option
def flops(
    bundle: Path,
    album: Path | None,
    queries: tuple[str, ...],
    photos: int,
    dims: dict[str, int],
    operators: bool,
    out: Outlet,
    threads: int,
) -> None:
    """Parameters, multiply-adds, bytes and intensity of every component and operator of BUNDLE, counted on
    its ONNX graphs.
    """
    from ..cost import costs as counting
    from ..cost import costs_tables as tables

    with working("bench flops") as tell:
        query_texts = queries or sample_album.QUERIES
        result = counting.measure(
            bundle,
            album,
            query_texts,
            photos,
            threads,
            dims,
            tell,
        )
        as_dict = asdict(result)
        out.save(as_dict)
    records = [tables.record(result, cost) for cost in result.components]
    out.emit(tables.sheets(result, operators), tables.notes(result), records, as_dict)


def _read_by(module: str, name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Reads an option's texts by a function of this room, which raises ValueError for one that is none."""

    def callback(ctx: click.Context, param: click.Parameter, given: Any) -> Any:
        read = getattr(import_module(f"..{module}", __package__), name)
        try:
            if isinstance(given, tuple):
                return tuple(map(read, given))
            return None if given is None else read(given)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return callback


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.option(
    "--bound",
    default="10%",
    show_default=True,
    callback=_read_by("latency.compare", "share"),
    help="How much slower a row may be.",
)
@strict_option("Fail, without a verdict, if a run's machine was busy before it.")
@sheet_options
def compare(a: Path, b: Path, bound: float, strict: bool, out: Outlet) -> None:
    """Tell noise from change between two runs of `bench latency` (-o): exit code 1 when a row of B is slower
    by more than the bound.

    95 %: the interval of the change of the median (bootstrap; Welch's t over processes). p: how likely
    samples so different would be if nothing had changed (Mann-Whitney, corrected over the rows by Holm). A
    row is slower or faster only where both say so; where they seem to disagree, it is the same.
    """
    from ..latency import compare as comparing
    from ..latency import imported

    with one_line("bench compare", extra="bench"):
        result = comparing.compare(imported.read(a), imported.read(b), bound)
        if strict and result.busy:
            raise RuntimeFailure("; ".join(result.busy))
        out.save(asdict(result))
    records = [asdict(change) for change in result.changes]
    out.emit([comparing.sheet(result)], comparing.notes(result), records, asdict(result))
    if result.regressions:
        raise SystemExit(1)


def _losses(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    out = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            out[name] = float(number)
        except ValueError:
            raise click.BadParameter(f"{text!r}: BUNDLE=NUMBER is wanted") from None
    return out


@click.command()
@bundles_option("Bundle directory; repeat to choose among several.", required=True)
@click.option(
    "--device",
    "names",
    multiple=True,
    help="A phone of the profiles, a JSON list of profiles of your own, or `connected`: the phone on "
    "the cable, "
    "which is measured; repeat for more. [default: all profiles]",
)
@click.option(
    "--set",
    "given",
    multiple=True,
    metavar="KEY=VALUE",
    help="Of `--device connected`: runner, rounds, album …; repeat for more. `--set help` lists them.",
)
@click.option(
    "--budget",
    default=None,
    callback=_read_by("phones.budget", "parse"),
    help="Seconds a query and memory, such as 3s,1.5GB: what fits which phone.",
)
@click.option(
    "--loss",
    "lost",
    multiple=True,
    callback=_losses,
    help="BUNDLE=NUMBER: its measured loss of quality. [default: 1 - worst parity]",
)
@click.option(
    "--import",
    "imports",
    multiple=True,
    callback=_read_by("phones.reports", "source"),
    help="A FILE that an app exported; PHONE:COMPONENT=FILE: a report of llama-bench, AI Hub, Xcode "
    "or ETDump; "
    "repeat for more.",
)
@repetitions_option(6, "Rounds over ceilings and components; best counts.", name="--rounds")
@sheet_options
@timed
@threads_option
def device(
    bundles: tuple[Path, ...],
    names: tuple[str, ...],
    given: tuple[str, ...],
    budget: object,
    lost: dict[str, float],
    imports: tuple[Source, ...],
    rounds: int,
    out: Outlet,
    threads: int,
) -> None:
    """What a phone will do with a bundle: latency, energy class and memory by roofline, calibrated on this
    machine, with the error on it shown; and what a phone on a cable does with it.
    """
    from ..phones import budget as budgets
    from ..phones import device as predicting
    from ..phones import device_tables as tables
    from ..phones import measured as measuring
    from ..phones.connected import Settings
    from ..phones.reports import read
    from ..phones.selection import select
    from ..study import settings

    if "help" in given:
        out.emit([settings.table(Settings)], [], [], {})
        return
    with working("bench device") as tell:
        chosen = select(names, given, bundles, tell)
        if chosen.raw:  # the phone took minutes: they are kept, whatever becomes of the rest
            out.save({"measurements": chosen.raw})
        runs = [run for source in imports for run in read(source)]
        measured = (*chosen.measured, *measuring.matched(runs, chosen.known, chosen.digests))
        slowed = [line for m in measured if (line := m.run.slowed())]
        if slowed and click.get_current_context().params["strict"]:
            raise RuntimeFailure("; ".join(slowed))
        profiles = tuple(dict.fromkeys((*chosen.profiles, *(m.profile for m in measured))))
        tell("measuring this machine")
        forecast = predicting.forecast(
            bundles, profiles, threads, rounds, tell, lambda o: measuring.refined(o, measured, profiles)
        )
        choices = (
            budgets.choices(forecast.tasks, budget, budgets.losses(bundles, lost))
            if isinstance(budget, budgets.Budget)
            else ()
        )
        as_dict = asdict(forecast) | {
            "budget": asdict(budget) if isinstance(budget, budgets.Budget) else None,
            "choices": [asdict(c) for c in choices],
            "measurements": chosen.raw,
        }
        out.save(as_dict)
    records = [asdict(o) for o in forecast.outlooks]
    out.emit(tables.sheets(forecast, choices, measured), tables.notes(forecast, measured), records, as_dict)


@click.command()
@click.argument("components", nargs=-1)
@bundle_option
@repetitions_option(5, "Profiled runs; medians count.")
@click.option(
    "--top",
    type=click.IntRange(1, 1000),
    default=12,
    show_default=True,
    help="Rows a table, the dearest first.",
)
@sheet_options
@timed
@threads_option
def ops(
    components: tuple[str, ...],
    bundle: Path,
    repetitions: int,
    top: int,
    out: Outlet,
    threads: int,
) -> None:
    """Operators of BUNDLE's COMPONENTS (default: all) by time, multiply-adds and share of the roofline; what
    runs a slower kernel, and why.
    """
    from ..cost import ops as profiling
    from ..cost import ops_tables as tables

    with working("bench ops") as tell:
        result = profiling.measure(
            bundle,
            components,
            threads,
            repetitions,
            tell,
        )
        as_dict = asdict(result)
        out.save(as_dict)
    records = tables.records(result)
    out.emit(tables.sheets(result, top), tables.notes(result), records, as_dict)


COMMANDS = (latency, flops, ops, device, compare, report)
