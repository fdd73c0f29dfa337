"""The progress bar of the exporter's commands, on stderr."""

from __future__ import annotations

import os
import sys
import time
from threading import Event, Thread
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from gamer.index.console import plain
from gamer.runtime.cli.screen import Screen

EVERY = 10.0  # seconds


class _Bar(Progress):
    """Where no terminal shows it, a line every ten seconds says what is being done, and for how long."""

    def start(self) -> None:
        super().start()
        self._since, self._over = time.monotonic(), Event()
        self._teller = Thread(target=self._tell, daemon=True)
        if not self.console.is_terminal:
            self._teller.start()

    def stop(self) -> None:
        self._over.set()
        if self._teller.ident is not None:
            self._teller.join()
        super().stop()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        if "description" in changes:
            self._since, changes["description"] = time.monotonic(), plain(changes["description"])
        super().update(task_id, **changes)

    def _tell(self) -> None:
        while not self._over.wait(EVERY):
            what = self.tasks[-1].description if self.tasks else "starting"
            line = f"  {what}: since {time.monotonic() - self._since:.0f} s"
            self.console.print(line, highlight=False, soft_wrap=True)


def bar() -> Progress:
    """The project's progress bar, on stderr."""
    return _Bar(
        SpinnerColumn(),
        BarColumn(24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=_own_stderr(),
        transient=True,
    )


def _own_stderr() -> Screen:
    """Writes where stderr is now, also while that is redirected: converters print much (workers.quiet)."""
    try:
        return Screen(file=os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8"))
    except OSError:  # no descriptor behind it
        return Screen(stderr=True)
