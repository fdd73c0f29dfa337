"""Measures several methods on one data set: all queries of all users, with the same albums and encoder.

`ask` records, for each query and method, the places at which relevant ids stand (`ScoredQuery`). `judge`
computes means, intervals and tests from these alone. A result file holds both, so that its figures can be
computed again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns
from typing import Protocol

import numpy as np

from gamer.index.json_checked import stored
from gamer.runtime.models.models import Models

from .. import machine, stats
from ..files import write_atomically
from ..tables import Sheet, sheet
from . import datasets, metrics
from .albums import album_of
from .baselines import Baseline
from .methods import METHODS
from .user import NotApplicable, User

Progress = Callable[[str], None]
Runs = dict[str, dict[str, list[str]]]  # method → query id → ids, best first


@dataclass(frozen=True)
class ScoredQuery:
    """One query. `relevant`: the number of relevant ids. `places`: theirs in each method's list, 1 to 10."""

    id: str
    user: str
    relevant: int
    places: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class ScoredUser:
    """One user's queries.

    `milliseconds`: by method, the median time of a query, including its encoding. `skipped`: by method, why
    it does not apply.
    """

    user: str
    photos: int
    queries: tuple[ScoredQuery, ...]
    milliseconds: dict[str, float]
    skipped: dict[str, str]


@dataclass(frozen=True)
class Interval:
    """A macro mean with its 95 % interval (bootstrap over users, then queries).

    `p`: of the paired test against the reference; `p_holm`: Holm-corrected over the methods of the table.
    Both are None for the reference itself.
    """

    mean: float
    low: float
    high: float
    p: float | None
    p_holm: float | None

    @property
    def bounds(self) -> str:
        return f"{self.low:.3f}–{self.high:.3f}"

    @property
    def p_text(self) -> str:
        """The corrected p, "" for the reference."""
        return "" if self.p_holm is None else f"{self.p_holm:.4f}"


@dataclass(frozen=True)
class MethodScores:
    """One row of the table. `scores`: by field of metrics.Scores; `users`: the mean scores of each user.

    `p50_ms`: the median over users of their median times of a query.
    """

    method: str
    what: str
    scores: dict[str, Interval]
    users: dict[str, metrics.Scores]
    p50_ms: float


@dataclass(frozen=True)
class Quality:
    """The table (`methods`), and in `users` the data that it is computed from.

    `seed`, `draws`, `permutations`: those of the statistics.
    """

    machine: machine.Machine
    command: str
    dataset: str
    bundle: str
    text_encoder: str
    reference: str
    methods: tuple[MethodScores, ...]
    skipped: dict[str, str]
    seed: int
    draws: int
    permutations: int
    users: tuple[ScoredUser, ...]
    when: str


def evaluate(
    bundle: Path,
    folder: Path,
    names: Sequence[str],
    reference: str,
    threads: int,
    cache: Path | None,
    progress: Progress,
    command: str = "",
    parts: Path | None = None,
) -> tuple[Quality, Runs]:
    """Asks every method in `names` the queries of every user of the data set `folder`. Raises DatasetError.

    `cache`: a folder that keeps albums and generated sentences between runs. `parts`: a folder with the
    answers of users whom an interrupted run of the same command has asked; these are not asked again and have
    no runs.
    """
    if reference not in names:
        raise datasets.DatasetError(
            f"the reference {reference!r} is not among the methods asked: {', '.join(names)}"
        )
    models = Models.open(bundle, "onnx", threads)
    asked, runs = [], Runs()
    with tempfile.TemporaryDirectory() as aside:
        home = cache or Path(aside)
        home.mkdir(parents=True, exist_ok=True)
        for name in datasets.users(folder):
            part_file = parts and parts / f"{folder.name}-{name}.json"
            if part_file is not None and (known := read_asked(part_file, names)) is not None:
                asked.append(known)
                continue
            with User(name, album_of(folder, name, models, home, progress), models, home) as user:
                progress(f"{name}: asking")
                methods = {method: METHODS[method] for method in names}
                asked.append(ask(user, datasets.queries(folder, name), methods, runs))
            if part_file is not None:
                write_atomically(part_file, json.dumps(asdict(asked[-1])))
    skipped = {method: why for asked_user in asked for method, why in asked_user.skipped.items()}
    if reference in skipped:
        raise datasets.DatasetError(
            f"{folder}: the reference {reference!r} cannot be asked: {skipped[reference]}"
        )
    rows = judge(asked, [name for name in names if name not in skipped], reference)
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    recipe = f"{models.manifest.recipe} {models.manifest.quant}"
    head = (machine.read(), command, folder.name, recipe, models.manifest.text_encoder, reference)
    return Quality(*head, rows, skipped, 0, stats.DRAWS, stats.PERMUTATIONS, tuple(asked), when), runs


def ask_users(
    folder: Path, models: Models, home: Path, methods: Mapping[str, Baseline], most: int, progress: Progress
) -> list[ScoredUser]:
    """Asks every method at most `most` queries of each user of a data set. Raises DatasetError."""
    asked = []
    for name in datasets.users(folder):
        progress(f"{folder.name} {name}: {len(methods)} methods")
        with User(name, album_of(folder, name, models, home, progress), models, home) as user:
            asked.append(ask(user, datasets.queries(folder, name, most), methods))
    return asked


def read_asked(path: Path, names: Sequence[str]) -> ScoredUser | None:
    """A user who was asked by exactly these methods, from a file; None if the file holds no such user."""
    asked: ScoredUser | None = stored(ScoredUser, path)
    return asked if asked and {*asked.milliseconds, *asked.skipped} == set(names) else None


def ask(
    user: User, queries: Sequence[datasets.Query], methods: Mapping[str, Baseline], runs: Runs | None = None
) -> ScoredUser:
    """Asks every method every query. `runs` collects the ranked ids.

    A method's time leaves out what it prepares once, such as an index.
    """
    applicable, skipped, spent = dict(methods), dict[str, str](), {name: list[int]() for name in methods}
    for name, method in methods.items():
        try:
            method.rank(user, queries[0].text)
        except NotApplicable as why:
            skipped[name] = str(why)
            del applicable[name]
    rows = []
    for query in queries:
        user.forget_vectors()
        places = {}
        for name, method in applicable.items():
            ranked, nanoseconds = _timed(user, method, query.text)
            spent[name].append(nanoseconds)
            places[name] = metrics.places(ranked, query.relevant)
            if runs is not None:
                runs.setdefault(name, {})[query.id] = ranked[: metrics.DEPTH]
        rows.append(ScoredQuery(query.id, user.name, len(set(query.relevant)), places))
    medians = {name: round(float(np.median(spent[name])) / 1e6, 2) for name in applicable}
    return ScoredUser(user.name, len(user.album), tuple(rows), medians, skipped)


def _timed(user: User, method: Baseline, query: str) -> tuple[list[str], int]:
    before, begin = user.charged_ns, perf_counter_ns()
    ranked = method.rank(user, query)
    return ranked, perf_counter_ns() - begin + user.charged_ns - before


def judge(asked: Sequence[ScoredUser], names: Sequence[str], reference: str) -> tuple[MethodScores, ...]:
    """The rows of the table, computed from places alone. All users must have been asked by all of `names`."""
    scores = {
        name: [[metrics.from_places(q.places[name], q.relevant) for q in user.queries] for user in asked]
        for name in names
    }
    by_metric = _intervals(scores, list(names).index(reference))
    return tuple(
        MethodScores(
            name,
            METHODS[name].what if name in METHODS else "",
            {metric: by_metric[metric][at] for metric in metrics.METRICS},
            {user.user: metrics.mean(rows) for user, rows in zip(asked, scores[name], strict=True)},
            round(float(np.median([user.milliseconds[name] for user in asked])), 2),
        )
        for at, name in enumerate(names)
    )


def _intervals(scores: Mapping[str, list[list[metrics.Scores]]], reference: int) -> dict[str, list[Interval]]:
    """By metric, the interval of each method, in the order of `scores`.

    All metrics of all methods are rows of one table, metric by metric, so that they share their random draws.
    """
    count, users = len(scores), range(len(next(iter(scores.values()))))
    table = [
        np.array(
            [
                [getattr(row, metric) for row in rows[user]]
                for metric in metrics.METRICS
                for rows in scores.values()
            ]
        )
        for user in users
    ]
    means, ends = stats.macro(table), stats.intervals(table)
    compared = [first + reference for first in range(0, len(means), count) for _ in range(count)]
    p = stats.permutation(table, compared) if count > 1 else means
    others = [at for at in range(count) if at != reference]
    out = {}
    for first, metric in zip(range(0, len(means), count), metrics.METRICS, strict=True):
        corrected = dict(zip(others, stats.holm([float(p[first + at]) for at in others]), strict=True))
        out[metric] = [
            Interval(
                float(means[first + at]),
                float(ends[first + at, 0]),
                float(ends[first + at, 1]),
                float(p[first + at]) if at in corrected else None,
                corrected.get(at),
            )
            for at in range(count)
        ]
    return out


class Scored(Protocol):
    """A row with intervals by field of metrics.Scores."""

    @property
    def scores(self) -> Mapping[str, Interval]: ...


# What every table of recall shows of a row.
RECALL: dict[str, Callable[[Scored], str]] = {
    "R@5": lambda row: f"{row.scores['recall5'].mean:.3f}",
    "95 %": lambda row: row.scores["recall5"].bounds,
    "p": lambda row: row.scores["recall5"].p_text,
    "MAP@5": lambda row: f"{row.scores['map5'].mean:.3f}",
}


def tables(result: Quality) -> list[Sheet | str]:
    columns: dict[str, Callable[[MethodScores], str]] = {
        "method": lambda row: row.method,
        **RECALL,
        "std": lambda row: f"{row.scores['map5_std'].mean:.3f}",
        "R@10": lambda row: f"{row.scores['recall10'].mean:.3f}",
        "MRR": lambda row: f"{row.scores['mrr10'].mean:.3f}",
        "ms": lambda row: f"{row.p50_ms:.1f}",
    }
    photos = sum(user.photos for user in result.users)
    queries = sum(len(user.queries) for user in result.users)
    title = (
        f"{result.dataset}: {len(result.users)} users, {photos} photos, {queries} queries; macro over users"
    )
    return [
        sheet(title, result.methods, columns),
        f"p: R@5 against {result.reference}, paired permutation test, Holm-corrected; std: MAP@5 over "
        "min(relevant, 5); ms: p50 a query",
        *(f"{name}: not asked, {why}" for name, why in result.skipped.items()),
    ]
