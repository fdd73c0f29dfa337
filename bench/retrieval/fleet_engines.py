"""Runs a fleet's jobs in this process or on Ray: one function an engine, all with the same signature.

Ray starts a cluster of its own on loopback, without dashboard and usage statistics, which ends with the run;
or it joins an existing cluster by its address. An existing cluster has to be trusted: whoever may submit
tasks to it may run code on it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, Any

from ..study.declaration import About, Run, Work
from ..study.settings import SettingError
from .datasets import DatasetError
from .fleet import PAPER_USERS, Fleet, FleetSettings, Job, jobs_of, run_one, summed, tables
from .methods import METHODS

AHEAD = 4  # submitted tasks per worker: enough to keep Ray busy, few to cancel when one fails
STORE = 80 * 2**20  # bytes; tasks pass only names and booleans, and Ray's default is a third of the memory
Progress = Callable[[int, int, str], None]  # (jobs finished, all jobs, name of the last one)


def local(
    jobs: Sequence[Job], settings: FleetSettings, workers: int, address: str | None, progress: Progress
) -> int:
    """Runs the jobs one after another in this process; returns how many had no valid result before."""
    done = 0
    for count, job in enumerate(jobs, 1):
        done += run_one(job, settings)
        progress(count, len(jobs), job.name)
    return done


def on_ray(
    jobs: Sequence[Job], settings: FleetSettings, workers: int, address: str | None, progress: Progress
) -> int:
    """Runs `workers` jobs at a time on Ray; returns how many had no valid result before.

    Raises DatasetError with the reason when a task fails. Results that were written stay.
    """
    # Ray reads both when it is first imported. Without the second, it listens on every interface on Linux.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    with tempfile.TemporaryDirectory(prefix="gamer-ray-", ignore_cleanup_errors=True) as aside:
        if address is None:
            # "local" makes Ray ignore RAY_ADDRESS, which may name a cluster that the caller did not ask for.
            options = {"num_cpus": workers, "object_store_memory": STORE, "_temp_dir": aside}
            ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="error", **options)
        else:
            _connect(ray, address)
        try:
            if address is None and not ray.util.get_node_ip_address().startswith("127."):
                raise DatasetError(
                    "Ray was imported before with other settings and would listen beyond loopback: start "
                    "the command anew"
                )
            return _run_all(ray, jobs, settings, workers, progress)
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DatasetError(
            f"--address {address}: {reason}: check that the cluster runs, and set RAY_AUTH_MODE=token if it "
            "wants its token"
        ) from None


def _run_all(ray: Any, jobs: Sequence[Job], settings: FleetSettings, workers: int, progress: Progress) -> int:
    task = ray.remote(num_cpus=1, max_retries=2)(run_one)
    waiting, running, done, count = list(reversed(jobs)), dict[Any, Job](), 0, 0
    while waiting or running:
        while waiting and len(running) < AHEAD * workers:
            job = waiting.pop()
            running[task.remote(job, settings)] = job
        (first, *_), _ = ray.wait(list(running), num_returns=1)
        job, count = running.pop(first), count + 1
        try:
            done += bool(ray.get(first))
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None) or error
            raise DatasetError(
                f"{job.name}: {' '.join(str(cause).split())[:300]}: what is done stays done, run again"
            ) from None
        progress(count, len(jobs), job.name)
    return done


ENGINES: dict[str, Callable[[Sequence[Job], FleetSettings, int, str | None, Progress], int]] = {
    "local": local,
    "ray": on_ray,
}


@dataclass(frozen=True)
class Settings:
    method: Annotated[tuple[str, ...], About("the methods", choices=tuple(METHODS))] = ("ours",)
    synthetic: Annotated[int, About("made-up users beside the data sets'", least=0)] = 0
    seed: Annotated[int, About("seed of the made-up users")] = 0
    photos: Annotated[int, About("photos of a made-up user", least=1)] = 12
    engine: Annotated[str, About("who runs the users", choices=tuple(ENGINES))] = "local"
    address: Annotated[
        str | None, About("an existing Ray cluster, host:port or auto, instead of one on loopback")
    ] = None
    workers: Annotated[int, About("users at a time, with Ray", least=1)] = os.cpu_count() or 1
    plan: Annotated[int, About("users to plan for", least=1)] = PAPER_USERS


def measure(run: Run[Settings]) -> Fleet:
    """Users whose file is in the run's home are not done again. Raises DatasetError."""
    what, begin = run.settings, perf_counter()
    if not run.data and not what.synthetic:
        raise SettingError("nothing to do: give data set folders, or --set synthetic=N")
    if what.address and what.engine != "ray":
        raise SettingError("--set address needs --set engine=ray")
    jobs = jobs_of(run.data, what.synthetic, what.seed, what.photos)
    settings = FleetSettings(str(run.bundle.resolve()), str(run.home.resolve()), what.method)
    workers = what.workers if what.engine == "ray" else 1

    def progress(count: int, total: int, name: str) -> None:
        run.tell(f"{count} of {total} users: {name}")

    done = ENGINES[what.engine](jobs, settings, workers, what.address, progress)
    return summed(jobs, settings, what.engine, workers, done, perf_counter() - begin, what.plan)


WORK = Work(Settings, measure, tables)
