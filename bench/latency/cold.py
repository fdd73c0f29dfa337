"""Measures cold starts, each in a fresh process: interpreter, imports, opening, first answer, peak memory.

Only the process is cold, not the disk: the files of the bundle are probably in the system's cache. `python -m
gamer.bench.latency.cold BUNDLE ALBUM …` is the measured process and prints one JSON object; `measure` starts
it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter_ns, time_ns

from gamer.runtime.errors import RuntimeFailure

TIMEOUT = 300


@dataclass(frozen=True)
class Cold:
    """Medians over `processes` fresh processes, in milliseconds.

    `start_ms`: until the first line of our code; `all_ms`: until the first answer. `samples_ms`: `all_ms` of
    each process. `command_ms`: `gamer search` until it has printed and ended, as many times.
    """

    processes: int
    start_ms: float
    import_ms: float
    open_ms: float
    first_ms: float
    second_ms: float
    all_ms: float
    peak_rss_mb: float
    samples_ms: tuple[float, ...]
    command_ms: float


def measure(
    bundle: Path,
    album: Path,
    backend: str,
    threads: int,
    refined_by: str,
    query: str,
    now: datetime | None,
    processes: int,
) -> Cold:
    """Runs `processes` cold starts. Raises RuntimeFailure with the last line of one that fails."""
    when = "" if now is None else now.isoformat()
    command = [
        sys.executable,
        "-m",
        "gamer.bench.latency.cold",
        str(bundle),
        str(album),
        backend,
        str(threads),
        refined_by,
        when,
        query,
    ]
    search = [sys.executable, "-m", "gamer", "search", str(album), query, "-b", str(bundle)]
    search += [
        "--refine",
        refined_by,
        "--backend",
        backend,
        "--threads",
        str(threads),
        *(["--now", when] if when else []),
    ]
    rows, commands = list[tuple[float, ...]](), list[float]()
    for _ in range(processes):
        rows.append(_once(command))
        begin = perf_counter_ns()
        _run(search)
        commands.append((perf_counter_ns() - begin) / 1e6)
    start, load, opened, first, second, total, peak = (
        round(median(values), 1) for values in zip(*rows, strict=True)
    )
    return Cold(
        processes=processes,
        start_ms=start,
        import_ms=load,
        open_ms=opened,
        first_ms=first,
        second_ms=second,
        all_ms=total,
        peak_rss_mb=peak,
        samples_ms=tuple(row[5] for row in rows),
        command_ms=round(median(commands), 1),
    )


def _once(command: Sequence[str]) -> tuple[float, ...]:
    begin = time_ns()
    row = json.loads(_run(command).splitlines()[-1])
    start, *parts = (float(x) for x in row["ms"])
    start -= begin / 1e6
    # (start, imports, opening, first search, second search, until the first answer, peak memory in MB)
    return (start, *parts[:4], start + sum(parts[:3]), float(row["peak_rss_mb"]))


def _run(command: Sequence[str]) -> str:
    """What a process prints."""
    completed = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if completed.returncode:
        raise RuntimeFailure(f"the process of the cold start failed: {last_line(completed.stderr)}")
    return completed.stdout


def last_line(text: str) -> str:
    """The last line that a failed process printed, at most 200 characters."""
    return (text.strip().splitlines() or ["no message"])[-1][:200]


def main(arguments: Sequence[str]) -> None:
    """The measured process."""
    started = time_ns() / 1e6
    marks = [perf_counter_ns()]
    bundle, album, backend, threads, refined_by, when, query = arguments
    from gamer.runtime.search.engine import Engine

    marks.append(perf_counter_ns())
    engine = Engine.open(Path(bundle), Path(album), backend, int(threads))
    marks.append(perf_counter_ns())
    for _ in range(2):
        engine.search(query, refined_by=refined_by, now=datetime.fromisoformat(when) if when else None)
        marks.append(perf_counter_ns())
    from ..machine import peak_rss_mb

    milliseconds = [round((b - a) / 1e6, 3) for a, b in pairwise(marks)]
    print(json.dumps({"ms": [started, *milliseconds], "peak_rss_mb": peak_rss_mb()}))


if __name__ == "__main__":
    main(sys.argv[1:])
