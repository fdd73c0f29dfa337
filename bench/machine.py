"""What machine and what versions a figure comes from. Reads only; every result file carries it."""

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
    """`features`: what kernels choose by, as processor.Processor.described has it."""

    cpu_info: str
    features: str
    cores: int
    memory_gb: float
    system: str
    python: str
    versions: dict[str, str]
    build_commit: str


def read() -> Machine:
    """The machine at hand; what cannot be read is "unknown"."""
    here = processor.read()
    versions = {name: known for name in PACKAGES if (known := installed(name))}
    system = f"{platform.system()} {platform.machine()}"
    cores = os.cpu_count() or 1
    return Machine(
        cpu_info=here.model,
        features=here.described,
        cores=cores,
        memory_gb=_memory(),
        system=system,
        python=platform.python_version(),
        versions=versions,
        build_commit=_commit(),
    )


def _memory() -> float:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (ValueError, OSError, AttributeError):
        return 0.0


def _commit() -> str:
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
        return found.stdout.strip() or "unknown"
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def peak_rss_mb() -> float:
    """Largest resident size of this process so far, in MB."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if platform.system() == "Darwin" else 1024), 1)
