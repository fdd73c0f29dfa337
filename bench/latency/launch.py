"""One launch of `bench latency`: rounds of searches and components in a process of their own.

`python -m gamer.bench.latency.launch` is the measured process: it reads one JSON object (a Job) from standard
input and writes JSON lines to standard output, the last of which holds its samples, separate by round.
`measure` starts it. Several processes are needed because the placement of memory and the cores of threads are
decided once a process: the interval of one process's median is narrower than the difference to the next
process's median.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gamer.index import Album
from gamer.index.errors import AlbumError
from gamer.index.installing import install
from gamer.index.json_checked import read_as
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.models import Models
from gamer.runtime.search.answer import LAYERS
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SILENT, Observer, SearchOptions

from .. import machine
from ..cost.component_runs import ComponentRun, runs_of
from ..cost.nodes import GraphError
from . import steps
from .cold import Job, last_line

PAIRS = 4  # searches of each kind per query and round, paired for the overhead; 1 if refined_by is "llm"
SHORT_NS = 100_000_000  # a component that takes less is run uncounted before each sample
# With reuse, an earlier refinement would be answered from memory, and that would be measured as a refinement.
FRESH = SearchOptions(reuse_refinements=False)
Progress = Callable[[str], None]
Rounds = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class RawRow:
    """The arguments of samples.row: nanoseconds by round.

    A round in which no query took the step is empty.
    """

    layer: str
    step: str
    on: str
    rounds: Rounds
    macs: int | None = None
    role: str = ""


@dataclass(frozen=True)
class Launch:
    """The measurements of one process.

    `bare`, `plain`, `stepped`: nanoseconds of searches without any clock, as usual, and with the stopwatch,
    interleaved. `arithmetic`: by role, what each opened component computed in ("int8, VNNI").
    """

    rows: tuple[RawRow, ...]
    bare: tuple[int, ...]
    plain: tuple[int, ...]
    stepped: tuple[int, ...]
    photos: int
    peak_rss_mb: float
    arithmetic: dict[str, str]


def measure(job: Job, launches: int, progress: Progress) -> list[Launch]:
    """Runs `job` in `launches` processes, one after the other, and shares its rounds out among them.

    Raises RuntimeFailure with the error message of a process that fails.
    """
    launches = min(launches, job.rounds)
    share, more = divmod(job.rounds, launches)
    results = list[Launch]()
    for at in range(launches):

        def say(text: str, turn: int = at + 1) -> None:
            progress(f"process {turn} of {launches}, {text}")

        results.append(_start(replace(job, rounds=share + (at < more)), say))
    return results


def _start(job: Job, progress: Progress) -> Launch:
    command = [sys.executable, "-m", "gamer.bench.latency.launch"]
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process,
    ):
        assert process.stdin
        assert process.stdout
        try:
            with suppress(BrokenPipeError):  # it ended before it read its input: reported by its status
                process.stdin.write(json.dumps(asdict(job)))
                process.stdin.close()
            for line in process.stdout:
                message: dict[str, Any] = json.loads(line)
                if "measured" in message:
                    launched: Launch = read_as(Launch, message["measured"])
                    return launched
                if "failed" in message:
                    raise RuntimeFailure(str(message["failed"]))
                progress(str(message["progress"]))
            status = process.wait()
            stderr.seek(0)
            raise RuntimeFailure(
                f"a measured process ended with status {status}: "
                f"{last_line(stderr.read().decode(errors='replace'))}"
            )
        finally:
            process.kill()


def run(job: Job, progress: Progress) -> Launch:
    """Measures in this process."""
    models = Models.open(Path(job.bundle), job.backend, job.threads, allow_random=not job.album)
    now = datetime.fromisoformat(job.now) if job.now else None
    searches = (
        _Searches(Engine(models, Album.open(Path(job.album))), job.queries, job.refined_by, now)
        if job.album
        else None
    )
    timed = _rounds(searches, list(runs_of(models)), job, progress)
    rows = [_component(part, samples, models) for part, samples in timed]
    found: dict[str, Any] = {"photos": 0, "bare": (), "plain": (), "stepped": ()}
    if searches is not None:
        rows = [*searches.rows(job.warmup), *rows]
        kinds = ("bare", "plain", "stepped")
        found = {kind: tuple(getattr(searches, kind)) for kind in kinds}
        found["photos"] = len(searches.engine.album)
        searches.engine.close()
    arithmetic = {role: models.arithmetic_of(role) for role in models.held()}
    return Launch(tuple(rows), **found, peak_rss_mb=machine.peak_rss_mb(), arithmetic=arithmetic)


def _component(part: ComponentRun, samples: Sequence[Sequence[int]], models: Models) -> RawRow:
    return RawRow("component", part.step, part.on, _rounds_of(samples), _macs(part, models), part.role)


def _rounds_of(samples: Sequence[Sequence[int]]) -> Rounds:
    return tuple(map(tuple, samples))


def _rounds(
    searches: _Searches | None, items: Sequence[ComponentRun], job: Job, progress: Progress
) -> list[tuple[ComponentRun, list[list[int]]]]:
    """Runs every row once a round. Returns the nanoseconds of the components in the counted rounds."""
    out: list[tuple[ComponentRun, list[list[int]]]] = [(item, []) for item in items]
    for turn in range(job.warmup + job.rounds):
        progress(f"round {turn + 1} of {job.warmup + job.rounds}")
        if searches is not None:
            searches.run()
        for item, samples in out:
            took = _once(item, samples[-1][0] if samples else 0)
            if turn >= job.warmup:
                samples.append([took])
        if job.delay:
            time.sleep(job.delay)
    return out


def _once(item: ComponentRun, last_ns: int) -> int:
    """Nanoseconds of one run.

    A short run is preceded by an uncounted one: the threads of the previous component still spin, and would
    otherwise be counted. `last_ns`: this component's previous sample, 0 for none.
    """
    if last_ns < SHORT_NS:
        item.run()
    begin = time.perf_counter_ns()
    item.run()
    return time.perf_counter_ns() - begin


class _Searches:
    """Rounds of searches of three kinds: as usual, with the stopwatch, and without any clock.

    The order of the kinds rotates from query to query. Layers and steps are those of the same searches, with
    the stopwatch, so that no step takes longer than its layer.
    """

    def __init__(self, engine: Engine, queries: Sequence[str], refined_by: str, now: datetime | None) -> None:
        self.engine, self._queries, self._by, self._now = engine, queries, refined_by, now
        self._watch = steps.Stopwatch()
        self._layers: list[dict[str, list[int]]] = []
        self._steps: list[list[dict[steps.Step, int]]] = []
        self.bare, self.plain, self.stepped = list[int](), list[int](), list[int]()

    def run(self) -> None:
        """One round."""
        self._layers.append({layer: [] for layer in (*LAYERS, "all", "search")})
        self._steps.append([])
        for at, query in enumerate(self._queries):
            for pair in range(1 if self._by == "llm" else PAIRS):
                kinds = (self._search_bare, self._search_plain, self._search_stepped)
                for turn in range(3):
                    kinds[(at + pair + turn) % 3](query, pair == 0)

    def _timed(
        self, query: str, options: SearchOptions = FRESH, observer: Observer = SILENT
    ) -> tuple[int, dict[str, float]]:
        begin = time.perf_counter_ns()
        answer = self.engine.search(
            query, refined_by=self._by, now=self._now, options=options, observer=observer
        )
        return time.perf_counter_ns() - begin, answer.trace.milliseconds

    def _search_bare(self, query: str, first: bool) -> None:
        self.bare.append(self._timed(query, replace(FRESH, timed=False))[0])

    def _search_plain(self, query: str, first: bool) -> None:
        self.plain.append(self._timed(query)[0])

    def _search_stepped(self, query: str, first: bool) -> None:
        took, milliseconds = self._timed(query, observer=self._watch)
        self.stepped.append(took)
        spent = self._watch.lap()
        if first:
            layers = self._layers[-1]
            for layer, value in milliseconds.items():
                # The trace has whole microseconds: a step that fills its layer may come out a little longer.
                longest = max((ns for (of, _), ns in spent.items() if of == layer), default=0)
                layers[layer].append(max(round(value * 1e6), longest))
            layers["all"].append(sum(layers[layer][-1] for layer in milliseconds))
            layers["search"].append(took)
            self._steps[-1].append(spent)

    def rows(self, warmup: int) -> list[RawRow]:
        """The rows of each layer, followed by those of its steps.

        A query that did not take a step has no sample of it.
        """
        layers, spent = self._layers[warmup:], self._steps[warmup:]
        taken = steps.names([times for part in spent for times in part])
        out = []
        for layer in (*LAYERS, "answer", "all", "search"):
            if layer != "answer":
                out.append(RawRow(layer, "", "search", _rounds_of([part[layer] for part in layers])))
            for step in (s for s in taken if s[0] == layer):
                taken_by = [[times[step] for times in part if step in times] for part in spent]
                out.append(RawRow(*step, "search", _rounds_of(taken_by)))
        return out


def _macs(part: ComponentRun, models: Models) -> int | None:
    """Multiply-adds of the run, counted on its ONNX graph.

    None where there is no graph to count (another backend, or `onnx` is not installed).
    """
    if not part.role or models.backend != "onnx":
        return None
    try:
        from ..cost import costs
    except ImportError:
        return None
    cost = costs.cost(models.bundle, models.manifest, part.role, "", "", part.dims(), part.past)
    return round(cost.macs)


def main() -> None:
    """The measured process.

    What libraries print goes to standard error, since the parent parses standard output.
    """
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(kind: str, content: object) -> None:
        print(json.dumps({kind: content}), file=lines, flush=True)

    try:
        say("measured", asdict(run(Job(**json.load(sys.stdin)), lambda text: say("progress", text))))
    except ImportError as error:
        say("failed", f"{error.name or error} is not installed: {install('bench')}")
    except (RuntimeFailure, AlbumError, GraphError, OSError) as error:
        say("failed", str(error))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
