"""The machine and the package versions that a figure was measured with; every result file carries them."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gamer.runtime.backends import processor
from gamer.runtime.versions import installed

PACKAGES = (
    "gamer-on-device",
    "numpy",
    "onnxruntime",
    "executorch",
    "coremltools",
    "torch",
    "usearch",
    "apsw",
)


@dataclass(frozen=True)
class Machine:
    """`features`: the processor features that kernels are chosen by (processor.Processor.described).

    `memory_gb`: physical memory in GiB, 0 if unknown. `build_commit`: the short hash of the checkout.
    """

    cpu_info: str
    features: str
    cores: int
    memory_gb: float
    system: str
    python: str
    versions: dict[str, str]
    build_commit: str


def read() -> Machine:
    """This machine. A commit that cannot be read is "unknown", an unknown memory size is 0."""
    cpu = processor.read()
    versions = {name: installed_version for name in PACKAGES if (installed_version := installed(name))}
    system = f"{platform.system()} {platform.machine()}"
    cores = os.cpu_count() or 1
    return Machine(
        cpu_info=cpu.model,
        features=cpu.described,
        cores=cores,
        memory_gb=_memory(),
        system=system,
        python=platform.python_version(),
        versions=versions,
        build_commit=_commit(),
    )


def load() -> float | None:
    """The processes that ran or waited for a core in the last minute, on average; None if unknown."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None


def busy(before: float | None, cores: int | None = None, what: str = "this machine") -> str:
    """A line about a machine that was busy before a measurement began, at that load; "" for a quiet one.

    `cores`: of the machine, None for those here. Half a process a core is what a system at rest does at most.
    """
    cores = cores or os.cpu_count() or 1
    if before is None or before <= cores / 2:
        return ""
    return (
        f"{what} was busy before it was measured (load {before:.1f} on {cores} cores): times are "
        "longer than on a quiet one, and ratios within one table hold better than its milliseconds"
    )


def _memory() -> float:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return 0.0


def _commit() -> str:
    try:
        git = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
        return git.stdout.strip() or "unknown"
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def peak_rss_mb() -> float:
    """The largest resident size of this process so far, in MiB."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if platform.system() == "Darwin" else 1024), 1)
