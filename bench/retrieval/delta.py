"""δ of mode paper by what it finds: the paper's Table 6, and δ calibrated on retrieval, nested by user.

The bundle's δ was calibrated on pairs of unrelated texts, without retrieval. Here the δ for each user is the
one with which the *other* users, of all data sets given, have the greatest macro recall@5: a user's own
queries have no say in the δ that they are answered with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np

from gamer.runtime.models.models import Models

from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet
from . import ablation, quality
from .baselines import Baseline
from .quality import Interval, ScoredUser
from .user import User

DELTAS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Settings:
    queries: Annotated[int, About("queries a user, evenly spread", least=1, quick=5)] = 100


@dataclass(frozen=True)
class AtDelta:
    """Mode paper at one δ on one data set.

    `nodes`: entity nodes over δ, the mean over queries. `left`: photos after the graph, the mean. `graph_ms`:
    the median time of the graph layer.
    """

    delta: float
    scores: dict[str, Interval]
    nodes: float
    left: float
    graph_ms: float


@dataclass(frozen=True)
class SetDeltas:
    """One data set. `chosen`: by user, the δ that the other users chose.

    Macro means over users: `nested_recall5` and `nested_map5` with the chosen δ, `own_…` with the bundle's.
    """

    dataset: str
    users: int
    queries: int
    rows: tuple[AtDelta, ...]
    chosen: dict[str, float]
    nested_recall5: float
    nested_map5: float
    own_recall5: float
    own_map5: float


@dataclass(frozen=True)
class Deltas:
    """The result of all data sets. `for_new_user`: the δ that all users together choose."""

    bundle: str
    text_encoder: str
    own_delta: float
    for_new_user: float
    sets: tuple[SetDeltas, ...]


@dataclass
class CountedTrial(ablation.Trial):
    """A trial that also counts the entity nodes over δ, which a trace does not."""

    nodes: list[int] = field(default_factory=list)

    def rank(self, user: User, query: str) -> list[str]:
        answer = ablation.search(user.engine, self.variant, query, 10, user.now)
        self._note(answer.trace)
        trace = answer.trace
        inside = user.album.in_cubes([] if trace.widened else trace.cubes).found
        matches = user.album.match_entities(user.vector(trace.refined), inside, trace.delta)
        self.nodes.append(len(matches))
        return [hit.id for hit in answer.hits]


def chosen(scores: Mapping[str, Mapping[float, float]], without: str = "") -> float:
    """The δ with the greatest mean score over all users but `without`; of equal ones the smallest.

    `scores`: user → δ → score. A user who is alone chooses for himself, since nobody else can.
    """
    others = [by_delta for user, by_delta in scores.items() if user != without] or list(scores.values())
    means = {delta: float(np.mean([by_delta[delta] for by_delta in others])) for delta in others[0]}
    return min(means, key=lambda delta: (-round(means[delta], 9), delta))


def measure(run: Run[Settings]) -> Deltas:
    """Asks each user's queries at each of DELTAS and at the bundle's δ. Raises DatasetError."""
    models = run.models
    own = models.manifest.thresholds.delta
    deltas = sorted({*DELTAS, own})
    asked = {
        folder.name: _ask(folder, models, run.home, run.settings.queries, deltas, run.tell)
        for folder in run.data
    }
    by_user = {
        f"{name} {user.user}": {delta: _mean(user, delta, "recall5") for delta in deltas}
        for name, (users, _) in asked.items()
        for user in users
    }
    sets = tuple(_set(name, users, trials, by_user, own) for name, (users, trials) in asked.items())
    return Deltas(run.recipe, models.manifest.text_encoder, own, chosen(by_user), sets)


Asked = tuple[list[ScoredUser], dict[str, CountedTrial]]


def _ask(
    folder: Path,
    models: Models,
    home: Path,
    most: int,
    deltas: Sequence[float],
    progress: Callable[[str], None],
) -> Asked:
    trials = {
        name_of(delta): CountedTrial(ablation.Variant("mode paper", "paper", delta=delta)) for delta in deltas
    }
    methods = {name: Baseline(trial.rank, trial.variant.what) for name, trial in trials.items()}
    return quality.ask_users(folder, models, home, methods, most, progress), trials


def name_of(delta: float) -> str:
    return f"δ = {delta}"


def _mean(user: ScoredUser, delta: float, metric: str) -> float:
    from .metrics import from_places

    rows = [from_places(q.places[name_of(delta)], q.relevant) for q in user.queries]
    return float(np.mean([getattr(row, metric) for row in rows]))


def _set(
    name: str,
    users: Sequence[ScoredUser],
    trials: Mapping[str, CountedTrial],
    by_user: Mapping[str, Mapping[float, float]],
    own: float,
) -> SetDeltas:
    choice = {user.user: chosen(by_user, f"{name} {user.user}") for user in users}

    def macro(metric: str, delta_of: Callable[[ScoredUser], float]) -> float:
        return float(np.mean([_mean(user, delta_of(user), metric) for user in users]))

    return SetDeltas(
        dataset=name,
        users=len(users),
        queries=sum(len(user.queries) for user in users),
        rows=_rows(users, trials, own),
        chosen=choice,
        nested_recall5=macro("recall5", lambda user: choice[user.user]),
        nested_map5=macro("map5", lambda user: choice[user.user]),
        own_recall5=macro("recall5", lambda _: own),
        own_map5=macro("map5", lambda _: own),
    )


def _rows(users: Sequence[ScoredUser], trials: Mapping[str, CountedTrial], own: float) -> tuple[AtDelta, ...]:
    out = []
    for row in quality.judge(users, list(trials), name_of(own)):
        trial = trials[row.method]
        out.append(
            AtDelta(
                delta=float(trial.variant.delta or 0.0),
                scores=row.scores,
                nodes=round(float(np.mean(trial.nodes)), 2),
                left=round(float(np.mean([left["graph"] for left in trial.left])), 2),
                graph_ms=round(float(np.median([spent["graph"] for spent in trial.spent])), 3),
            )
        )
    return tuple(out)


def tables(result: Deltas) -> list[Sheet | str]:
    columns: dict[str, Callable[[AtDelta], str]] = {
        "δ": lambda row: f"{row.delta}",
        "R@5": lambda row: f"{row.scores['recall5'].mean:.3f}",
        "95 %": lambda row: row.scores["recall5"].bounds,
        "MAP@5": lambda row: f"{row.scores['map5'].mean:.3f}",
        "nodes": lambda row: f"{row.nodes:.1f}",
        "photos left": lambda row: f"{row.left:.0f}",
        "graph ms": lambda row: f"{row.graph_ms:.2f}",
    }
    out: list[Sheet | str] = []
    for one in result.sets:
        out += [
            sheet(f"{one.dataset}: {one.queries} queries", one.rows, columns),
            f"δ chosen by the other users: recall@5 {one.nested_recall5:.3f}, the bundle's δ "
            f"{one.own_recall5:.3f}; chosen: {', '.join(map(str, sorted(set(one.chosen.values()))))}",
        ]
    return [*out, f"the bundle's δ: {result.own_delta}; for a new user: {result.for_new_user}"]


WORK = Work(Settings, measure, tables)
