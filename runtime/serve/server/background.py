"""A thread of the server that waits for work, works, and ends with the server. Knows no work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Condition, Thread


class Background(ABC):
    """What its thread and others share is read and written while `_changed` is held, which is told of it.

    `name`: of the thread.
    """

    def __init__(self, name: str) -> None:
        self._changed, self._stopped = Condition(), False
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the step in progress has ended; nothing is done afterwards."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()

    @abstractmethod
    def _run(self) -> None:
        """Works until `_stopped`."""
