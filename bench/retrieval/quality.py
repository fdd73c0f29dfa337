"""Quality of several methods on one data set: every user's queries to every method, in one process and on the
same albums and encoder.

Ask first (`Asked`: for each query and method, the places at which relevant ids stood), judge after
(`judge`: means, intervals and tests follow from that alone). A result file holds both, so that anyone can
compute its figures again.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from gamer.runtime.models.models import Models

from .. import machine, stats
from ..files import write_aside
from . import datasets, metrics
from .albums import album_of
from .baselines import Baseline
from .methods import METHODS
from .user import NotApplicable, User

Progress = Callable[[str], None]
Runs = dict[str, dict[str, list[str]]]  # method → query id → ids, best first


@dataclass(frozen=True)
class Asked:
    """One query. `relevant`: how many ids there are to find; `places`: for each method where it had them,
    from 1, as far as place 10.
    """

    id: str
    user: str
    relevant: int
    places: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class AskedUser:
    """One user's queries. `milliseconds`: each method's median for a query, the encoding included. `skipped`:
    why a method could not be asked.
    """

    user: str
    photos: int
    queries: tuple[Asked, ...]
    milliseconds: dict[str, float]
    skipped: dict[str, str]


@dataclass(frozen=True)
class Interval:
    """A macro mean with its 95 % interval (bootstrap over users, then queries), and p of the paired test
    against the reference, Holm-corrected over the methods of the table: None for the reference itself."""

    mean: float
    low: float
    high: float
    p: float | None
    p_holm: float | None


@dataclass(frozen=True)
class MethodScores:
    """One row of the table. `scores`: by metrics.Scores' names; `users`: each user's means."""

    method: str
    what: str
    scores: dict[str, Interval]
    users: dict[str, metrics.Scores]
    p50_ms: float


@dataclass(frozen=True)
class Quality:
    """The table, and below it what it follows from. `seed`, `draws`, `permutations`: of the statistics."""

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
    users: tuple[AskedUser, ...]
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
    """Asks every user of the data set `folder`. `cache`: a directory that keeps albums and written sentences
    between runs. `parts`: a directory of users that an interrupted run of the same command has asked; they
    are not asked again, and have no runs. Raises DatasetError."""
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
            part = parts and parts / f"{folder.name}-{name}.json"
            if part is not None and (known := read_asked(part, names)) is not None:
                asked.append(known)
                continue
            user = User(name, album_of(folder, name, models, home, progress), models, home)
            progress(f"{name}: asking")
            asked.append(
                ask(user, datasets.queries(folder, name), {method: METHODS[method] for method in names}, runs)
            )
            user.close()
            if part is not None:
                write_aside(part, json.dumps(asdict(asked[-1])))
    skipped = {method: why for one in asked for method, why in one.skipped.items()}
    if reference in skipped:
        raise datasets.DatasetError(
            f"{folder}: the reference {reference!r} cannot be asked: {skipped[reference]}"
        )
    rows = judge(asked, [name for name in names if name not in skipped], reference)
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    made = f"{models.manifest.recipe} {models.manifest.quant}"
    head = (machine.read(), command, folder.name, made, models.manifest.text_encoder, reference)
    return Quality(*head, rows, skipped, 0, stats.DRAWS, stats.PERMUTATIONS, tuple(asked), when), runs


def read_asked(path: Path, names: Sequence[str]) -> AskedUser | None:
    """A user who was asked by just these methods; None for a file that does not hold one."""
    try:
        found = asked_from(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if {*found.milliseconds, *found.skipped} == set(names) else None


def asked_from(raw: Any) -> AskedUser:
    """From JSON. Raises KeyError, TypeError or AttributeError for what is no AskedUser."""
    queries = tuple(
        Asked(q["id"], q["user"], q["relevant"], {name: tuple(found) for name, found in q["places"].items()})
        for q in raw["queries"]
    )
    return AskedUser(raw["user"], raw["photos"], queries, raw["milliseconds"], raw["skipped"])


def ask(
    user: User, queries: Sequence[datasets.Query], methods: Mapping[str, Baseline], runs: Runs | None = None
) -> AskedUser:
    """Every query to every method.

    `runs` collects the ids themselves. What a method prepares once is not in its time.
    """
    left, skipped, spent = dict(methods), dict[str, str](), {name: list[int]() for name in methods}
    for name, method in methods.items():
        try:
            method.rank(user, queries[0].text)
        except NotApplicable as why:
            skipped[name] = str(why)
            del left[name]
    rows = []
    for query in queries:
        user.forget_vectors()
        found = {}
        for name, method in left.items():
            ranked, nanoseconds = _timed(user, method, query.text)
            spent[name].append(nanoseconds)
            found[name] = metrics.places(ranked, query.relevant)
            if runs is not None:
                runs.setdefault(name, {})[query.id] = ranked[: metrics.DEPTH]
        rows.append(Asked(query.id, user.name, len(set(query.relevant)), found))
    medians = {name: round(float(np.median(spent[name])) / 1e6, 2) for name in left}
    return AskedUser(user.name, len(user.album), tuple(rows), medians, skipped)


def _timed(user: User, method: Baseline, query: str) -> tuple[list[str], int]:
    before, begin = user.charged_ns, perf_counter_ns()
    ranked = method.rank(user, query)
    return ranked, perf_counter_ns() - begin + user.charged_ns - before


def judge(asked: Sequence[AskedUser], names: Sequence[str], reference: str) -> tuple[MethodScores, ...]:
    """The table's rows, from places alone. Every method must have been asked of every user."""
    scores = {
        name: [[metrics.from_places(q.places[name], q.relevant) for q in one.queries] for one in asked]
        for name in names
    }
    sure = _sure(scores, list(names).index(reference))
    return tuple(
        MethodScores(
            name,
            METHODS[name].what if name in METHODS else "",
            {metric: sure[metric][at] for metric in metrics.METRICS},
            {one.user: metrics.mean(rows) for one, rows in zip(asked, scores[name], strict=True)},
            round(float(np.median([one.milliseconds[name] for one in asked])), 2),
        )
        for at, name in enumerate(names)
    )


def _sure(scores: Mapping[str, list[list[metrics.Scores]]], reference: int) -> dict[str, list[Interval]]:
    """By metric, for each method.

    All metrics of all methods are rows of one table, metric by metric, so that they share their draws.
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
