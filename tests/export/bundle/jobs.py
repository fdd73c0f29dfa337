"""What the tests' workers do. Each worker imports this file, and nothing heavier."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gamer.export.errors import ExportError

SLOW = 60.0  # seconds; no test waits that long


def job(task: tuple[str, str]) -> str:
    what, where = task
    Path(where).mkdir(exist_ok=True)
    if what == "slow":
        Path(where, f"slow-{os.getpid()}").touch()
        time.sleep(SLOW)
    elif what == "fails":
        while not list(Path(where).glob("slow-*")):
            time.sleep(0.01)
        raise ExportError("cosine 0.5 is below 0.9")
    elif what == "odd":
        raise RuntimeError("first line\nsecond line")
    elif what == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    print("chatter", flush=True)
    return f"{what} by {os.getpid()}"
