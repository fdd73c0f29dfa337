"""How much memory a new process may take on this machine."""

from __future__ import annotations

from pathlib import Path


def megabytes() -> int | None:
    """MB available, as Linux estimates it; None elsewhere, where it would need a package."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1000
    except (OSError, ValueError):
        pass
    return None
