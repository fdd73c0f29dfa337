"""Several runs of the same tasks: how often they agree, how good the best and the commonest answer are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .scores import set_f1
from .tasks import Attempt


@dataclass(frozen=True)
class Quality:
    """Means over tasks: share of exactly right sets, and F1."""

    exact: float
    f1: float


@dataclass(frozen=True)
class Runs:
    """`identical`: tasks with the same answer in every run; where all are, there is no spread to report.

    `mean`: of a run; `best`: of the best of the runs, chosen by the truth; `majority`: of the answer that
    most runs gave, of the earliest where several are as common.
    """

    method: str
    runs: int
    tasks: int
    identical: int
    mean: Quality
    best: Quality
    majority: Quality

    @property
    def equal(self) -> bool:
        return self.identical == self.tasks


def compare(method: str, runs: Sequence[Sequence[Attempt]]) -> Runs:
    """`runs`: of the same tasks in the same order."""
    by_task = list(zip(*runs, strict=True))
    answers = [[frozenset(one.given) for one in task] for task in by_task]
    truths = [task[0].task.relevant for task in by_task]
    every = [
        [(float(a == truth), set_f1(a, truth)) for a in given]
        for given, truth in zip(answers, truths, strict=True)
    ]
    common = [given.index(Counter(given).most_common(1)[0][0]) for given in answers]
    return Runs(
        method,
        len(runs),
        len(by_task),
        sum(len(set(given)) == 1 for given in answers),
        mean=_quality([np.mean(scores, axis=0) for scores in every]),
        best=_quality([np.max(scores, axis=0) for scores in every]),
        majority=_quality([scores[at] for scores, at in zip(every, common, strict=True)]),
    )


def _quality(values: Sequence[Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]]) -> Quality:
    exact, f1 = np.mean(np.array(values), axis=0)
    return Quality(round(float(exact), 4), round(float(f1), 4))
