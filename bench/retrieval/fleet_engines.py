"""Who runs a fleet's tasks: this process, or Ray. One function an engine, the same signature; a literal
table.

Ray here is a cluster of its own on loopback, without dashboard and usage statistics, gone when the run ends;
or an existing one by its address. An existing cluster is trusted: whoever may give it tasks may run code on
it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from .datasets import DatasetError
from .fleet import FleetSettings, Job, run_one

AHEAD = 4  # tasks a worker that Ray is given at once: enough to keep it busy, and few to take back
STORE = 80 * 2**20  # tasks pass names and booleans; Ray's own default is a third of the memory
Told = Callable[[int, int, str], None]  # finished, of how many, the last one's name


def local(jobs: Sequence[Job], settings: FleetSettings, workers: int, address: str | None, told: Told) -> int:
    """One after the other in this process; returns how many were not there yet."""
    done = 0
    for count, job in enumerate(jobs, 1):
        done += run_one(job, settings)
        told(count, len(jobs), job.name)
    return done


def on_ray(
    jobs: Sequence[Job], settings: FleetSettings, workers: int, address: str | None, told: Told
) -> int:
    """`workers` at a time. A task that fails ends the run with its reason, after those that run; what is done
    stays done.
    """
    # Read when ray is first imported. Without the second, Ray on Linux listens on every interface.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    with tempfile.TemporaryDirectory(prefix="gamer-ray-", ignore_cleanup_errors=True) as aside:
        if address is None:
            # "local": or else RAY_ADDRESS in the environment would name a cluster that nobody asked for.
            room = {"num_cpus": workers, "object_store_memory": STORE, "_temp_dir": aside}
            ray.init("local", include_dashboard=False, log_to_driver=False, logging_level="error", **room)
        else:
            _join(ray, address)
        try:
            if address is None and not ray.util.get_node_ip_address().startswith("127."):
                raise DatasetError(
                    "Ray was imported before with other settings and would listen beyond loopback: start "
                    "the command anew"
                )
            return _driven(ray, jobs, settings, workers, told)
        finally:
            ray.shutdown()


def _join(ray: Any, address: str) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DatasetError(
            f"--address {address}: {reason}: check that the cluster runs, and set RAY_AUTH_MODE=token if it "
            "wants its token"
        ) from None


def _driven(ray: Any, jobs: Sequence[Job], settings: FleetSettings, workers: int, told: Told) -> int:
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
        told(count, len(jobs), job.name)
    return done


ENGINES: dict[str, Callable[[Sequence[Job], FleetSettings, int, str | None, Told], int]] = {
    "local": local,
    "ray": on_ray,
}
