"""Measures cold starts, each in a fresh process: interpreter, imports, opening, first answer, peak memory.

Only the process is cold, not the disk: the files of the bundle are probably in the system's cache. `python -m
gamer.bench.latency.cold JOB` is the measured process and prints one JSON object; `measure` starts
it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter_ns, time_ns

from gamer.runtime.errors import RuntimeFailure

TIMEOUT = 300
_MEASURED = ("start_ms", "import_ms", "open_ms", "first_ms", "second_ms", "all_ms", "peak_rss_mb")


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


@dataclass(frozen=True)
class Job:
    """What a process measures.

    `album` "": components only. `now`: ISO 8601, "" for the clock's time. `delay`: seconds between rounds.
    """

    bundle: str
    album: str
    backend: str
    threads: int
    refined_by: str
    queries: tuple[str, ...]
    now: str
    warmup: int
    rounds: int
    delay: float


def measure(job: Job, processes: int) -> Cold:
    """Cold starts of `processes` processes, with the first query. Raises RuntimeFailure with the last line of
    one that fails.
    """
    command = [sys.executable, "-m", "gamer.bench.latency.cold", json.dumps(asdict(job))]
    search = [sys.executable, "-m", "gamer", "search", job.album, job.queries[0], "-b", job.bundle]
    search += ["--refine", job.refined_by, "--backend", job.backend, "--threads", str(job.threads)]
    search += ["--now", job.now] if job.now else []
    rows, commands = list[tuple[float, ...]](), list[float]()
    for _ in range(processes):
        rows.append(_once(command))
        begin = perf_counter_ns()
        _run(search)
        commands.append((perf_counter_ns() - begin) / 1e6)
    medians = {
        name: round(median(values), 1)
        for name, values in zip(_MEASURED, zip(*rows, strict=True), strict=True)
    }
    samples = tuple(row[_MEASURED.index("all_ms")] for row in rows)
    return Cold(processes, **medians, samples_ms=samples, command_ms=round(median(commands), 1))


def _once(command: Sequence[str]) -> tuple[float, ...]:
    """The figures of _MEASURED."""
    begin = time_ns()
    row = json.loads(_run(command).splitlines()[-1])
    start, *parts = (float(x) for x in row["ms"])
    start -= begin / 1e6
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
    job = Job(**json.loads(arguments[0]))
    now = datetime.fromisoformat(job.now) if job.now else None
    from gamer.runtime.search.engine import Engine

    marks.append(perf_counter_ns())
    engine = Engine.open(Path(job.bundle), Path(job.album), job.backend, job.threads)
    marks.append(perf_counter_ns())
    for _ in range(2):
        engine.search(job.queries[0], refined_by=job.refined_by, now=now)
        marks.append(perf_counter_ns())
    from ..machine import peak_rss_mb

    milliseconds = [round((b - a) / 1e6, 3) for a, b in pairwise(marks)]
    print(json.dumps({"ms": [started, *milliseconds], "peak_rss_mb": peak_rss_mb()}))


if __name__ == "__main__":
    main(sys.argv[1:])
