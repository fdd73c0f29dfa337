"""The peak memory of this process since a mark, for the manifest: from /proc on Linux, else getrusage."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path


def mark() -> None:
    """Resets the peak, if the kernel allows it; otherwise the peak is that since the process started."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """The peak resident memory in bytes."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return maximum if sys.platform == "darwin" else maximum * 1024
