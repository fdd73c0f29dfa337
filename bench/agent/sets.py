"""Sets as answers: minds beside one search and BM25 with their best thresholds, on one album."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from gamer.index import image_id

from ..retrieval.user import User
from . import made
from . import tasks as running
from .mistakes import RIGHT, Calendar, class_of, mistake
from .players import Player
from .scores import set_f1
from .tasks import Attempt, Scored, Task
from .usage import Usage, usage

Tell = Callable[[str], None]
GROUPS = ("single", "set", "relation", *made.GROUPS)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Group:
    """A method's figures on one group of the album's queries.

    `exact`: share of exactly right sets; `f1`: mean F1. `refused`: share of tasks that it says the album
    does not hold. `threshold`: of a baseline, chosen on these very tasks.
    """

    tasks: int
    exact: float
    f1: float
    refused: float
    threshold: float | None = None


@dataclass(frozen=True)
class AlbumRow:
    """A method on an album with sets as answers. `calls`: by tool; `ms`: median of a task.

    `mistakes`: by group, how many tasks were right and how many wrong in which way (mistakes.py); `classes`:
    of the wrong ones, how it came about.
    `differences`: of a replay, results that were not as recorded; None for what is no replay.
    """

    method: str
    groups: dict[str, Group]
    calls: dict[str, int] = field(default_factory=dict)
    ms: float | None = None
    mistakes: dict[str, dict[str, int]] = field(default_factory=dict)
    usage: Usage | None = None
    differences: int | None = None
    classes: dict[str, int] = field(default_factory=dict)


def row(method: str, done: Sequence[Attempt], when: Calendar) -> AlbumRow:
    parts = _parts(done, lambda one: one.task.group)
    wrong = [one for one in done if set(one.given) != one.task.relevant]
    replayed = any(one.replayed for one in done)
    return AlbumRow(
        method,
        {group: _group([(one.task, one.given) for one in part]) for group, part in parts.items()},
        running.counted(done),
        round(float(np.median([one.ms for one in done])), 1) if done else None,
        {group: _mistakes(part, when) for group, part in parts.items()},
        usage(done),
        sum(len(one.differences) for one in done) if replayed else None,
        classes(wrong),
    )


def by_player(
    user: User, player: Player, questions: Sequence[Task], tell: Tell, run: int = 0
) -> list[Attempt]:
    told = f"{user.name}, run {run + 1}" if run else user.name
    return running.solve(
        user.engine, player, questions, "set", user.now, user.name, lambda text: tell(f"{told}: {text}"), run
    )


def baselines(user: User, questions: Sequence[Task]) -> list[AlbumRow]:
    return [
        _by_cut("one search, best threshold", running.searched(user.engine, questions, user.now)),
        _by_cut("BM25, best threshold", running.bm25(user.engine, questions)),
    ]


def _mistakes(done: Sequence[Attempt], when: Calendar) -> dict[str, int]:
    """RIGHT first, then the commonest."""
    found = Counter(
        mistake(
            one.task.text,
            {image_id(photo) for photo in one.task.relevant},
            {image_id(photo) for photo in one.given},
            one.trace,
            when,
        )
        for one in done
        if one.trace is not None
    )
    return {RIGHT: found.pop(RIGHT, 0)} | dict(found.most_common())


def classes(wrong: Sequence[Attempt]) -> dict[str, int]:
    """How many tasks are of each of the mistakes' CLASSES, the commonest first."""
    found = Counter(
        class_of({image_id(photo) for photo in one.task.relevant}, one.trace)
        for one in wrong
        if one.trace is not None
    )
    return dict(found.most_common())


def _by_cut(method: str, results: list[Scored]) -> AlbumRow:
    """The threshold is the best for the group's F1; for absent tasks that of the single ones."""
    parts, groups = _parts(results, lambda one: one.task.group), {}
    threshold = 0.0
    for group in (*GROUPS, "absent"):
        if part := parts.get(group):
            if group != "absent":
                threshold, _ = running.best_cut(part, set_f1)
            groups[group] = _group(running.cut(part, threshold), threshold)
            threshold = groups["single"].threshold or 0.0 if "single" in groups else threshold
    return AlbumRow(method, groups)


def _group(answers: Sequence[tuple[Task, tuple[str, ...]]], threshold: float | None = None) -> Group:
    return Group(
        tasks=len(answers),
        exact=_mean([set(ids) == task.relevant for task, ids in answers]),
        f1=_mean([set_f1(ids, task.relevant) for task, ids in answers]),
        refused=_mean([not ids for _, ids in answers]),
        threshold=threshold,
    )


def _parts(done: Sequence[_T], key: Callable[[_T], str]) -> dict[str, list[_T]]:
    out: dict[str, list[_T]] = {}
    for one in done:
        out.setdefault(key(one), []).append(one)
    return out


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4) if values else 0.0
