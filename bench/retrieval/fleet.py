"""Measures many users' albums, each as an independent job: build, ask, score, write one result file.

A job whose result file is valid is not run again, on any engine. A job knows its user's name and where the
data is, nothing else: fleet_engines.py runs jobs in this process or on a Ray cluster whose machines see the
same bundle, data and results folder. All figures follow from the users' files alone.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np

from gamer.index.json_checked import stored
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models

from ..files import write_atomically
from ..published import PAPER
from ..tables import Sheet, sheet
from . import datasets, quality, synthetic
from .methods import METHODS
from .quality import MethodScores, ScoredUser
from .user import User

PAPER_USERS: int = PAPER.settings["users"]
CORES = (2, 16, 128)


@dataclass(frozen=True)
class Job:
    """One user. `folder`: the data set.

    For a synthetic user, `folder` is None: user `number` of `seed`, with `photos` photos.
    """

    name: str
    folder: str | None
    user: str
    seed: int = 0
    number: int = 0
    photos: int = 0


@dataclass(frozen=True)
class FleetSettings:
    """What all jobs share. Paths are strings, because the settings are sent to workers.

    `threads`: of each job; the same everywhere, because the results of an int8 model depend on it.
    """

    bundle: str
    results: str
    methods: tuple[str, ...]
    threads: int = 1


@dataclass(frozen=True)
class UserResult:
    """The content of one user's file.

    `key`: a hash of everything that the result depends on; a result with another key is not valid. Seconds:
    of the build, and of all queries together.
    """

    key: str
    asked: ScoredUser
    build_seconds: float
    ask_seconds: float
    album_bytes: int


@dataclass(frozen=True)
class FleetPlan:
    """What the paper's number of users would take at the measured cost.

    `hours`: by number of cores. `albums_gb`: disk space if albums are kept.
    """

    users: int
    photos_per_user: float
    core_seconds_per_user: float
    core_seconds_per_photo: float
    hours: dict[str, float]
    albums_gb: float
    results_gb: float


@dataclass(frozen=True)
class Fleet:
    """The results of a fleet.

    `done`: users measured in this run; `kept`: users whose results were there already. `users_per_second`:
    users of this run by wall clock, 0 if all results were there.
    """

    engine: str
    workers: int
    users: int
    done: int
    kept: int
    photos: int
    queries: int
    wall_seconds: float
    users_per_second: float
    methods: tuple[MethodScores, ...]
    plan: FleetPlan


def jobs_of(folders: Sequence[Path], synthetic_users: int, seed: int, photos: int) -> list[Job]:
    """Jobs for the users of the data sets, then for `synthetic_users` synthetic ones. Raises DatasetError."""
    jobs = [
        Job(f"{folder.name}-{user}", str(folder.resolve()), user)
        for folder in folders
        for user in datasets.users(folder)
    ]
    return jobs + [
        Job(f"made-{seed}-{number:05d}", None, "", seed, number, photos) for number in range(synthetic_users)
    ]


def run_one(job: Job, settings: FleetSettings) -> bool:
    """Runs one job, unless its result file is valid; returns whether it ran.

    The engines send this function to their workers.
    """
    models = _models(settings.bundle, settings.threads)
    out, key = Path(settings.results) / f"{job.name}.json", _key(job, settings, models)
    if (earlier := read(out)) is not None and earlier.key == key:
        return False
    with tempfile.TemporaryDirectory(prefix="gamer-fleet-") as aside:
        write_atomically(
            out, json.dumps(asdict(_measured(job, settings, models, Path(aside), key)), ensure_ascii=False)
        )
    return True


@lru_cache(maxsize=1)
def _models(bundle: str, threads: int) -> Models:
    """The bundle's models, opened once a process, because a worker runs many jobs."""
    return Models.open(Path(bundle), "onnx", threads)


def _key(job: Job, settings: FleetSettings, models: Models) -> str:
    """A hash of the user's data, the text tower, δ, the ranking's weights, the methods and the threads."""
    data = (
        f"{job.seed}:{job.number}:{job.photos}"
        if job.folder is None
        else datasets.fingerprint(Path(job.folder), job.user)
    )
    manifest = models.manifest
    settings_of_result = (
        manifest.artifact("text_tower", "onnx").sha256,
        manifest.thresholds.delta,
        manifest.ranking,
        settings.methods,
        settings.threads,
    )
    return hashlib.sha256(repr((data, settings_of_result)).encode()).hexdigest()[:16]


def _measured(job: Job, settings: FleetSettings, models: Models, aside: Path, key: str) -> UserResult:
    jsonl, album, begin = aside / "album.jsonl", aside / "album.gamer", perf_counter()
    if job.folder is None:
        user_data = synthetic.make(job.seed, job.number, job.photos)
        synthetic.write(user_data, jsonl)
        queries = list(user_data.queries)
    else:
        datasets.write_album(Path(job.folder), job.user, jsonl)
        queries = datasets.queries(Path(job.folder), job.user)
    built = build(jsonl, models, album)
    if built.skips:
        raise datasets.DatasetError(f"{job.name}: {built.skips[0].where}: {built.skips[0].reason}")
    middle = perf_counter()
    with User(job.name, album, models, aside) as user:
        asked = quality.ask(user, queries, {name: METHODS[name] for name in settings.methods})
    return UserResult(
        key, asked, round(middle - begin, 4), round(perf_counter() - middle, 4), album.stat().st_size
    )


def read(path: Path) -> UserResult | None:
    """A user's result file, or None if it cannot be read; the user's job is then run again."""
    result: UserResult | None = stored(UserResult, path)
    return result


def summed(
    jobs: Sequence[Job],
    settings: FleetSettings,
    engine: str,
    workers: int,
    done: int,
    wall: float,
    users: int,
) -> Fleet:
    """The figures of a fleet from the files of all users. Raises DatasetError if one is missing."""
    read_back = [(job, read(Path(settings.results) / f"{job.name}.json")) for job in jobs]
    if missing := [job.name for job, result in read_back if result is None]:
        raise datasets.DatasetError(
            f"{settings.results}: no result of {missing[0]} and {len(missing) - 1} more: run the fleet again"
        )
    results = [result for _, result in read_back if result is not None]
    asked = [result.asked for result in results]
    names = [name for name in settings.methods if not any(name in user.skipped for user in asked)]
    rows = quality.judge(asked, names, names[0]) if names else ()
    photos, queries = sum(user.photos for user in asked), sum(len(user.queries) for user in asked)
    rate = round(done / wall, 3) if done and wall else 0.0
    counts = (len(jobs), done, len(jobs) - done, photos, queries, round(wall, 2), rate)
    return Fleet(engine, workers, *counts, rows, planned(results, settings, jobs, users))


def planned(
    results: Sequence[UserResult], settings: FleetSettings, jobs: Sequence[Job], users: int
) -> FleetPlan:
    """What `users` users of the same kind would cost.

    It is based on the seconds of each user, which are independent of other jobs only if each job has a core
    of its own.
    """
    seconds = float(np.mean([result.build_seconds + result.ask_seconds for result in results]))
    photos = float(np.mean([result.asked.photos for result in results]))
    result_bytes = float(
        np.mean([(Path(settings.results) / f"{job.name}.json").stat().st_size for job in jobs])
    )
    hours = {str(cores): round(users * seconds / cores / 3600, 2) for cores in CORES}
    gigabytes = (
        round(users * float(np.mean([result.album_bytes for result in results])) / 1e9, 2),
        round(users * result_bytes / 1e9, 3),
    )
    return FleetPlan(
        users, round(photos, 1), round(seconds, 3), round(seconds / photos, 4), hours, *gigabytes
    )


def tables(result: Fleet) -> list[Sheet | str]:
    columns: dict[str, Callable[[MethodScores], str]] = {
        "method": lambda row: row.method,
        "R@5": lambda row: f"{row.scores['recall5'].mean:.4f}",
        "95 %": lambda row: row.scores["recall5"].bounds,
        "MAP@5": lambda row: f"{row.scores['map5'].mean:.4f}",
        "MRR": lambda row: f"{row.scores['mrr10'].mean:.4f}",
        "p50 ms": lambda row: f"{row.p50_ms:.1f}",
    }
    plan = result.plan
    title = f"{result.users} users, {result.photos} photos, {result.queries} queries; macro over users"
    return [
        sheet(title, result.methods, columns),
        f"{result.done} users in {result.wall_seconds:.1f} s by {result.engine}, {result.workers} at a time: "
        f"{result.users_per_second:.2f} users/s; {result.kept} were there",
        f"plan for {plan.users} users of {plan.photos_per_user:.0f} photos, "
        f"{plan.core_seconds_per_user:.2f} core-seconds each: "
        + ", ".join(f"{hours:.1f} h on {cores} cores" for cores, hours in plan.hours.items())
        + f"; {plan.albums_gb:.1f} GB if albums are kept, {plan.results_gb:.2f} GB of results",
    ]
