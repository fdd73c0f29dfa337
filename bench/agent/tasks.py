"""Runs tasks over one album and records for each what was found and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from gamer.index import RowArray
from gamer.runtime.agent import calls
from gamer.runtime.agent.loop import End, Mind, Outcome, run
from gamer.runtime.agent.recording import Recorder, Trace
from gamer.runtime.agent.replay import Replay
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.engine import Engine

from ..retrieval.datasets import read_jsonl
from .meter import Meter
from .players import Player, place_of

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
class Attempt:
    """What a mind made of a task. `ms`: of the whole task; `steps`: milliseconds of each call.

    `trace`: None for a method without calls of its own. `differences`: of a replay, from what was recorded.
    """

    task: Task
    ids: tuple[str, ...]
    sentence: str
    found: bool
    ended: str
    tools: tuple[str, ...]
    steps: tuple[float, ...]
    ms: float
    trace: Trace | None = None
    replayed: bool = False
    differences: tuple[str, ...] = ()

    @property
    def given(self) -> tuple[str, ...]:
        """The photos that are meant as the answer: none where the mind says that there is none."""
        return self.ids if self.found else ()


@dataclass(frozen=True)
class Scored:
    """The hits of one search: ids and scores, best first."""

    task: Task
    ids: tuple[str, ...]
    scores: tuple[float, ...]


def album_tasks(path: Path, most: int = 0) -> list[Task]:
    """The queries of ../shared/data/album; of each group at most `most`, 0 for all. Raises DatasetError."""
    rows = read_jsonl(path, "query_id", "query", "relevant", "group")
    every = [Task(r["query_id"], r["query"], frozenset(r["relevant"]), r["group"]) for r in rows]
    groups = [[one for one in every if one.group == group] for group in {task.group for task in every}]
    chosen = {one.id for group in groups for one in group[:: -(-len(group) // (most or len(group)))]}
    return [one for one in every if one.id in chosen]


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
    engine: Engine,
    player: Player,
    tasks: Sequence[Task],
    end: End,
    now: datetime,
    album: str,
    tell: Callable[[str], None],
    run_number: int = 0,
) -> list[Attempt]:
    """Every task by the player's minds, each with a toolbox of its own. `album`: its name in traces."""
    out = []
    for number, task in enumerate(tasks, 1):
        label = f"{place_of(album, run_number)}:{task.id}"
        done = _solved(engine, player, task, end, now, label)
        _check_going(done, first=number == 1)
        out.append(done)
        tell(f"{player.name}: {number} of {len(tasks)}")
    return out


def _solved(engine: Engine, player: Player, task: Task, end: End, now: datetime, label: str) -> Attempt:
    toolbox, meter, budget = player.opens(engine, now, player.leaving), Meter(), player.budget(label)
    begin = perf_counter_ns()
    mind = player.mind(toolbox, now, label, meter)
    outcome = run(mind, toolbox, task.text, end, budget, on_step=meter.on_step)
    ms = (perf_counter_ns() - begin) / 1e6
    ids = tuple(photo.id for photo in toolbox.album.photos(outcome.answer.rows))
    trace = Recorder(toolbox, budget).trace(outcome, label, meter.costs(), meter.how)
    return _done(task, outcome, ids, ms, trace, mind)


def _check_going(done: Attempt, first: bool) -> None:
    """Ctrl-C ends the measurement, not one task; so does a mind that cannot even begin."""
    if done.replayed:
        return
    if done.ended == "interrupted":
        raise KeyboardInterrupt
    if first and not done.steps and done.ended not in ("answer", "budget"):
        raise RuntimeFailure(done.ended)


def _done(task: Task, outcome: Outcome, ids: tuple[str, ...], ms: float, trace: Trace, mind: Mind) -> Attempt:
    made = [step for step in outcome.steps if step.call is not None]
    return Attempt(
        task=task,
        ids=ids,
        sentence=outcome.answer.sentence,
        found=outcome.answer.found,
        ended=outcome.ended,
        tools=tuple(calls.name_of(step.call) for step in made if step.call is not None),
        steps=tuple(step.ms for step in made),
        ms=round(ms, 2),
        trace=_as_recorded(trace, mind.trace) if isinstance(mind, Replay) else trace,
        replayed=isinstance(mind, Replay),
        differences=tuple(mind.differences) if isinstance(mind, Replay) else (),
    )


def _as_recorded(live: Trace, recorded: Trace) -> Trace:
    """The live trace with the recorded costs: a replay thinks nothing."""
    turns = tuple(replace(turn, cost=old.cost) for turn, old in zip(live.turns, recorded.turns, strict=False))
    return replace(live, turns=turns, cost=recorded.cost, tokens=recorded.tokens)


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


def counted(done: Sequence[Attempt]) -> dict[str, int]:
    """Calls by tool."""
    return dict(Counter(tool for one in done for tool in one.tools))
