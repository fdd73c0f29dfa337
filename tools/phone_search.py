"""`python -m tools.phone_search --bundle B --folder F [--photos N,M] [--rounds R] [-o OUT.json]`: searches of
the same albums by Python and by the two ports.

Prints a table for each size: the processor's milliseconds of the searching thread by layer, those of the
first search of a process, and the peak memory. The albums are made photos (tools/made_album.py), kept in F. A
port whose tools are not installed is left out, with a warning; one that finds other photos than Python fails.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gamer.bench import machine
from gamer.bench.files import write_atomically
from gamer.bench.index.growth import QUERIES
from gamer.bench.tables import Cell, Sheet, sheet
from gamer.runtime.search.answer import LAYERS
from gamer.runtime.search.engine import Engine
from tools import made_album
from tools.conformance.table import LIMIT_S, ROOT, absent, environment

HITS = 60  # as the apps show
DAY = "2025-03-01"
NOW = datetime.fromisoformat(DAY)
LEAST = 0.99  # of a port's hits are Python's; the last of them may be as good as the next
PORTS = ("Python", "Kotlin", "Swift")


@dataclass(frozen=True)
class Searches:
    """What one language did with one album; milliseconds.

    `layers`, `all`: medians of the searching thread's processor time over all queries and rounds. `answer`:
    what the layers leave of `all`, which is mostly the hits. `first_ms`, `first_cpu_ms`: of the first search
    of a process, with opening the bundle and the album, on the wall and of the thread's processor. `same`:
    the share of the hits that are Python's, 1 of Python's own.
    """

    language: str
    photos: int
    layers: dict[str, float]
    answer: float
    all: float
    p95: float
    first_ms: float
    first_cpu_ms: float
    peak_mb: int
    same: float = 1.0


def measured(
    language: str, photos: int, bundle: Path, album: Path, rounds: int
) -> tuple[Searches, list[list[str]]]:
    """Also the ids that each query finds. Of two processes the second counts: the first fills the system's
    file cache, and checks the models.

    Raises subprocess.SubprocessError, OSError, ValueError.
    """
    _run(language, bundle, album, 1)
    raw = _run(language, bundle, album, rounds)
    found = [{name: float(ms) for name, ms in one.items()} for one in raw["searches"]]
    rest = [one["all"] - sum(one[layer] for layer in LAYERS) for one in found]
    everything = sorted(one["all"] for one in found)
    searches = Searches(
        language=language,
        photos=photos,
        layers={layer: _median([one[layer] for one in found]) for layer in LAYERS},
        answer=_median(rest),
        all=_median(everything),
        p95=round(everything[len(everything) * 95 // 100], 2),
        first_ms=round(raw["first_ms"], 1),
        first_cpu_ms=round(raw["first_cpu_ms"], 1),
        peak_mb=int(raw["peak_mb"]),
    )
    return searches, raw["ids"]


def _shared(found: list[list[str]], wanted: list[list[str]]) -> float:
    """The share of the wanted ids that were found."""
    pairs = list(zip(found, wanted, strict=True))
    return sum(len(set(a) & set(b)) for a, b in pairs) / max(sum(len(b) for _, b in pairs), 1)


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 2)


def _run(language: str, bundle: Path, album: Path, rounds: int) -> Any:
    commands = {
        "Python": [sys.executable, "-m", "tools.phone_search", "--only", bundle, album, rounds],
        "Kotlin": ["android_demo/core/bench.sh", bundle, album, rounds, DAY, HITS, *QUERIES],
        "Swift": [
            *("ios_demo/PhotoCore/runner.sh", "searches", bundle, album, rounds, *QUERIES),
            *("--now", DAY, "-k", HITS),
        ],
    }
    done = subprocess.run(
        [str(word) for word in commands[language]],
        cwd=ROOT,
        env=None if language == "Python" else environment([bundle, album]),
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(done.stdout)


def in_python(bundle: Path, album: Path, rounds: int) -> dict[str, Any]:
    """The same of Python, in this process."""
    begin, begin_cpu = time.perf_counter_ns(), time.thread_time_ns()
    engine = Engine.open(bundle, album)
    engine.clock = time.thread_time_ns

    def spent(query: str) -> dict[str, float]:
        start = time.thread_time_ns()
        answer = engine.search(query, HITS, now=NOW)
        return answer.trace.milliseconds | {"all": (time.thread_time_ns() - start) / 1e6}

    spent(QUERIES[0])
    first = (time.perf_counter_ns() - begin) / 1e6, (time.thread_time_ns() - begin_cpu) / 1e6
    engine.album.load_graphs(wait=True)  # else the first searches scan, and find what a graph does not
    ids = [[hit.id for hit in engine.search(query, HITS, now=NOW).hits] for query in QUERIES]
    searches = [spent(query) for _ in range(rounds) for query in QUERIES]
    told = {"first_ms": first[0], "first_cpu_ms": first[1], "peak_mb": machine.peak_rss_mb()}
    return told | {"ids": ids, "searches": searches}


def table(photos: int, found: Sequence[Searches]) -> Sheet:
    def spent(layer: str) -> Callable[[Searches], Cell]:
        return lambda one: f"{one.layers[layer]:.2f}"

    columns: dict[str, Callable[[Searches], Cell]] = {"": lambda one: one.language}
    columns |= {layer: spent(layer) for layer in LAYERS}
    columns |= {
        "answer": lambda one: f"{one.answer:.2f}",
        "search p50": lambda one: f"{one.all:.1f}",
        "p95": lambda one: f"{one.p95:.1f}",
        "first search, CPU": lambda one: f"{one.first_cpu_ms:.0f}",
        "on the clock": lambda one: f"{one.first_ms:.0f}",
        "peak MB": lambda one: one.peak_mb,
        "Python's hits": lambda one: f"{100 * one.same:.1f} %",
    }
    return sheet(f"A search of {photos:,} photos, CPU ms of the searching thread", found, columns)


def main() -> None:
    if sys.argv[1:2] == ["--only"]:
        bundle, album, rounds = sys.argv[2:]
        print(json.dumps(in_python(Path(bundle), Path(album), int(rounds))))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--photos", default="20000,100000")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    bundle, folder = arguments.bundle.resolve(), arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    ports = [port for port in PORTS if not absent(port)]
    for port in filter(absent, PORTS):
        print(f"!! {port} IS NOT MEASURED: its tools are not installed", file=sys.stderr)
    out: list[Searches] = []
    for photos in map(int, arguments.photos.split(",")):
        album = folder / f"made-{photos}.gamer"
        made_album.main(bundle, photos, album)
        runs = [measured(port, photos, bundle, album, arguments.rounds) for port in ports]
        reference = runs[0][1]
        found = [replace(searches, same=_shared(ids, reference)) for searches, ids in runs]
        print(table(photos, found).markdown(), flush=True)
        out += found
    if other := [one for one in out if one.same < LEAST]:
        sys.exit(f"{', '.join(one.language for one in other)}: other photos are found than by Python")
    if arguments.output:
        told = {"machine": asdict(machine.read()), "bundle": bundle.name, "hits": HITS, "queries": QUERIES}
        told |= {"rounds": arguments.rounds, "searches": [asdict(one) for one in out]}
        write_atomically(arguments.output, json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
