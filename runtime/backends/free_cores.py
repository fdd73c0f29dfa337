"""How many threads a model gets where nobody says: two, or one where other programs use the cores.

Two threads wait for each other after every operator, spinning. Where other programs want the cores, they
wait for one that does not run: on 2 cores an image encoder takes 3.0 ms with two threads and 4.8 ms with one,
beside two busy programs 8.2 ms and 4.8 ms (medians). The numbers that come out are the same.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

MOST = 2
SHORTEST = 0.03  # seconds from which the work of others is known: ticks are of 10 ms
_STAT = Path("/proc/stat")


def _work() -> tuple[float, float, float]:
    """Seconds: now, of all processors' work since boot (0 where it is not known), and of this process's."""
    try:
        # user, nice, system, idle, iowait, irq, softirq, steal; the last were taken from this machine
        ticks = [int(word) for word in _STAT.read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        busy = 0.0
    return time.monotonic(), busy, time.process_time()


_AT_START = _work()


def threads() -> int:
    """Threads for each model: MOST, or as many as cores were free of others since this process began."""
    then, busy, own = (now - before for now, before in zip(_work(), _AT_START, strict=True))
    others = max(0.0, busy - own) / then if then >= SHORTEST else 0.0
    return max(1, min(MOST, round((os.cpu_count() or 1) - others)))
