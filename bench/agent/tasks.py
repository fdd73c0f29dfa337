"""Runs tasks over one album and records for each what was found and what it cost."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from gamer.index import RowArray
from gamer.runtime.agent import calls, minds
from gamer.runtime.agent.loop import End, Outcome, run
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.search.engine import Engine

from ..retrieval.datasets import read_jsonl

CANDIDATES = 40  # hits of a baseline's search that may belong to the set


@dataclass(frozen=True)
class Task:
    """A question with the ids that answer it; none if the album holds no answer.

    `group`: single, set, relation or absent; a data set's own category elsewhere. `answer`: the short answer,
    "" where none is known.
    """

    id: str
    text: str
    relevant: frozenset[str]
    group: str
    answer: str = ""


@dataclass(frozen=True)
class Done:
    """What a mind made of a task. `ms`: of the whole task; `steps`: milliseconds of each call."""

    task: Task
    ids: tuple[str, ...]
    sentence: str
    found: bool
    ended: str
    tools: tuple[str, ...]
    steps: tuple[float, ...]
    ms: float


@dataclass(frozen=True)
class Scored:
    """The hits of one search: ids and scores, best first."""

    task: Task
    ids: tuple[str, ...]
    scores: tuple[float, ...]


def album_tasks(path: Path) -> list[Task]:
    """The queries of ../shared/data/album. Raises DatasetError."""
    rows = read_jsonl(path, "query_id", "query", "relevant", "group")
    return [Task(r["query_id"], r["query"], frozenset(r["relevant"]), r["group"]) for r in rows]


def question_tasks(path: Path, group: str = "") -> list[Task]:
    """Questions with evidence and answers, as LoCoMo and LiHua have them. Raises DatasetError."""
    rows = read_jsonl(path, "query_id", "query", "relevant")
    return [
        Task(
            r["query_id"],
            r["query"],
            frozenset(r["relevant"]),
            group or str(r.get("category", r.get("type", ""))),
            str(r.get("answer", "")),
        )
        for r in rows
    ]


def solve(
    engine: Engine, name: str, tasks: Sequence[Task], end: End, now: datetime, tell: Callable[[str], None]
) -> list[Done]:
    """Every task by the mind called `name`, each with a toolbox of its own."""
    ids, out = engine.album.ids(), []
    for number, task in enumerate(tasks, 1):
        toolbox = Toolbox(engine, now)
        begin = perf_counter_ns()
        outcome = run(minds.mind(name, toolbox, now), toolbox, task.text, end)
        out.append(_done(task, outcome, ids, (perf_counter_ns() - begin) / 1e6))
        tell(f"{name}: {number} of {len(tasks)}")
    return out


def _done(task: Task, outcome: Outcome, ids: list[str], ms: float) -> Done:
    made = [step for step in outcome.steps if step.call is not None]
    return Done(
        task=task,
        ids=tuple(ids[row] for row in outcome.answer.rows),
        sentence=outcome.answer.sentence,
        found=outcome.answer.found,
        ended=outcome.ended,
        tools=tuple(calls.name_of(step.call) for step in made if step.call is not None),
        steps=tuple(step.ms for step in made),
        ms=round(ms, 2),
    )


def searched(engine: Engine, tasks: Sequence[Task], now: datetime) -> list[Scored]:
    """One search for each task: what a person without an agent gets."""
    out = []
    for task in tasks:
        hits = engine.search(task.text, CANDIDATES, now=now).hits
        out.append(Scored(task, tuple(h.id for h in hits), tuple(h.probability for h in hits)))
    return out


def bm25(engine: Engine, tasks: Sequence[Task]) -> list[Scored]:
    ids, out = engine.album.ids(), []
    for task in tasks:
        found = engine.album.search_text(task.text, CANDIDATES)
        rows: RowArray = found.rows
        out.append(Scored(task, tuple(ids[row] for row in rows), tuple(float(s) for s in found.scores)))
    return out


def cut(results: Sequence[Scored], threshold: float) -> list[tuple[Task, tuple[str, ...]]]:
    """Each search's hits of at least `threshold`."""
    return [
        (r.task, tuple(i for i, s in zip(r.ids, r.scores, strict=True) if s >= threshold)) for r in results
    ]


def best_cut(
    results: Sequence[Scored], score: Callable[[tuple[str, ...], frozenset[str]], float]
) -> tuple[float, float]:
    """(threshold, mean score) of the threshold that is best on these very tasks: the strongest baseline."""
    values = sorted({s for r in results for s in r.scores})
    at = sorted({*np.quantile(values, np.linspace(0, 1, 200)).tolist(), *values[-50:]}) if values else [0.0]
    means = [
        (float(np.mean([score(ids, task.relevant) for task, ids in cut(results, threshold)])), threshold)
        for threshold in at
    ]
    best, threshold = max(means)
    return threshold, best


def counted(done: Sequence[Done]) -> dict[str, int]:
    """Calls by tool."""
    return dict(Counter(tool for one in done for tool in one.tools))


def traces(done: Sequence[Done], path: Path) -> None:
    """Writes what each task called and found, as gzipped JSON Lines."""
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        for one in done:
            record = {"id": one.task.id, "tools": one.tools, "ids": one.ids, "ended": one.ended, "ms": one.ms}
            stream.write(json.dumps(record) + "\n")
