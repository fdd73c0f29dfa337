"""Many users' albums, each an independent task: build, ask, score, write one file. What is there already is
not done again, whatever engine runs it.

A task knows its user's name and where the data lies, nothing else: fleet_engines.py runs tasks here or on a
Ray cluster whose machines see the same bundle, data and results folder. The figures of a run follow from the
users' files alone.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np

from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models

from .. import machine
from ..files import write_aside
from . import datasets, quality, synthetic
from .methods import METHODS
from .quality import AskedUser, MethodScores
from .user import User

PAPER_USERS = 58_522
CORES = (2, 16, 128)


@dataclass(frozen=True)
class Job:
    """One user. `folder`: the data set, or None for a made-up user `number` of `seed` with `photos`
    photos.
    """

    name: str
    folder: str | None
    user: str
    seed: int = 0
    number: int = 0
    photos: int = 0


@dataclass(frozen=True)
class FleetSettings:
    """What all tasks share; strings, for they travel. `threads` a task: the same everywhere, as it is part of
    what an int8 model computes.
    """

    bundle: str
    results: str
    methods: tuple[str, ...]
    threads: int = 1


@dataclass(frozen=True)
class UserResult:
    """One user's file. `key`: what the result follows from; another key is another result. `seconds`: of a
    build and of all queries.
    """

    key: str
    asked: AskedUser
    build_seconds: float
    ask_seconds: float
    album_bytes: int


@dataclass(frozen=True)
class FleetPlan:
    """The paper's number of users at the measured cost: `hours` by cores, albums kept on disk or not."""

    users: int
    photos_per_user: float
    core_seconds_per_user: float
    core_seconds_per_photo: float
    hours: dict[str, float]
    albums_gb: float
    results_gb: float


@dataclass(frozen=True)
class Fleet:
    """`done`: users of this run; `kept`: results that were there. Rates are of this run's users, wall clock;
    none if all were there.
    """

    machine: machine.Machine
    command: str
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
    when: str


def jobs_of(folders: Sequence[Path], made: int, seed: int, photos: int) -> list[Job]:
    """Users of the data sets, then `made` made-up ones. Raises DatasetError."""
    named = [
        Job(f"{folder.name}-{user}", str(folder.resolve()), user)
        for folder in folders
        for user in datasets.users(folder)
    ]
    return named + [
        Job(f"made-{seed}-{number:05d}", None, "", seed, number, photos) for number in range(made)
    ]


def run_one(job: Job, settings: FleetSettings) -> bool:
    """Does one user, unless its file is there: whether it did. This is what travels to a worker."""
    models = _models(settings.bundle, settings.threads)
    out, key = Path(settings.results) / f"{job.name}.json", _key(job, settings, models)
    if (found := read(out)) is not None and found.key == key:
        return False
    with tempfile.TemporaryDirectory(prefix="gamer-fleet-") as aside:
        write_aside(
            out, json.dumps(asdict(_measured(job, settings, models, Path(aside), key)), ensure_ascii=False)
        )
    return True


@lru_cache(maxsize=1)
def _models(bundle: str, threads: int) -> Models:
    """Opened once a process: a worker has many users."""
    return Models.open(Path(bundle), "onnx", threads)


def _key(job: Job, settings: FleetSettings, models: Models) -> str:
    """A hash over the user's data, the encoder, δ, the ranking's weights, and the methods."""
    data = (
        f"{job.seed}:{job.number}:{job.photos}"
        if job.folder is None
        else datasets.fingerprint(Path(job.folder), job.user)
    )
    manifest = models.manifest
    made_by = (
        manifest.artifact("text_tower", "onnx").sha256,
        manifest.thresholds.delta,
        manifest.ranking,
        settings.methods,
        settings.threads,
    )
    return hashlib.sha256(repr((data, made_by)).encode()).hexdigest()[:16]


def _measured(job: Job, settings: FleetSettings, models: Models, aside: Path, key: str) -> UserResult:
    lines, album, begin = aside / "album.jsonl", aside / "album.gamer", perf_counter()
    if job.folder is None:
        made = synthetic.make(job.seed, job.number, job.photos)
        synthetic.write(made, lines)
        queries = list(made.queries)
    else:
        datasets.write_album(Path(job.folder), job.user, lines)
        queries = datasets.queries(Path(job.folder), job.user)
    built = build(lines, models, album)
    if built.skips:
        raise datasets.DatasetError(f"{job.name}: {built.skips[0].where}: {built.skips[0].reason}")
    middle = perf_counter()
    user = User(job.name, album, models, aside)
    asked = quality.ask(user, queries, {name: METHODS[name] for name in settings.methods})
    user.close()
    return UserResult(
        key, asked, round(middle - begin, 4), round(perf_counter() - middle, 4), album.stat().st_size
    )


def read(path: Path) -> UserResult | None:
    """A user's file, or None when there is none that can be read: the user is then done again."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return UserResult(
            raw["key"],
            quality.asked_from(raw["asked"]),
            raw["build_seconds"],
            raw["ask_seconds"],
            raw["album_bytes"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def summed(
    jobs: Sequence[Job],
    settings: FleetSettings,
    engine: str,
    workers: int,
    done: int,
    wall: float,
    users: int,
    command: str,
) -> Fleet:
    """The figures of all users' files. Raises DatasetError for one that is missing."""
    results = [(job, read(Path(settings.results) / f"{job.name}.json")) for job in jobs]
    if missing := [job.name for job, result in results if result is None]:
        raise datasets.DatasetError(
            f"{settings.results}: no result of {missing[0]} and {len(missing) - 1} more: run the fleet again"
        )
    found = [result for _, result in results if result is not None]
    asked = [result.asked for result in found]
    names = [name for name in settings.methods if not any(name in one.skipped for one in asked)]
    rows = quality.judge(asked, names, names[0]) if names else ()
    photos, queries = sum(one.photos for one in asked), sum(len(one.queries) for one in asked)
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    rate = round(done / wall, 3) if done and wall else 0.0
    counts = (len(jobs), done, len(jobs) - done, photos, queries, round(wall, 2), rate)
    return Fleet(
        machine.read(), command, engine, workers, *counts, rows, planned(found, settings, jobs, users), when
    )


def planned(
    found: Sequence[UserResult], settings: FleetSettings, jobs: Sequence[Job], users: int
) -> FleetPlan:
    """What `users` users of the same kind cost: each user's own seconds, which do not depend on how many ran
    beside it only if cores are its own.
    """
    seconds = float(np.mean([one.build_seconds + one.ask_seconds for one in found]))
    photos = float(np.mean([one.asked.photos for one in found]))
    result_bytes = float(
        np.mean([(Path(settings.results) / f"{job.name}.json").stat().st_size for job in jobs])
    )
    hours = {str(cores): round(users * seconds / cores / 3600, 2) for cores in CORES}
    gigabytes = (
        round(users * float(np.mean([one.album_bytes for one in found])) / 1e9, 2),
        round(users * result_bytes / 1e9, 3),
    )
    return FleetPlan(
        users, round(photos, 1), round(seconds, 3), round(seconds / photos, 4), hours, *gigabytes
    )
