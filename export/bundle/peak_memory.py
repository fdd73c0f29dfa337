"""The most memory that this process has held since a mark: what an export tells of each artifact. Linux's own
count, else getrusage's.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path


def mark() -> None:
    """Begins to count anew, where the kernel lets a process do so; elsewhere the count runs from the
    process's start.
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Bytes."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
