"""Learns from what was said while nobody talks: closes the sessions that have ended, and encodes turns.

A thread of the server looks every minute, and after each conversation. It works in short steps, each a
transaction, and stops after the step in progress as soon as a turn comes or the server stops: what it has not
done is done the next time. It does not know what a memory is; what it calls does.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gamer.index import AlbumError
from gamer.index.errors import AlbumBusy

from .server.background import Background

PAUSE_S = 60.0
_log = logging.getLogger(__name__)


class IdleUpdates(Background):
    """Updates the memories in one album. Threads may share it. `pause`: seconds between two looks.

    `learn`: does it, and asks before each step whether it is to stop, as `Memory.learn`.
    """

    def __init__(self, learn: Callable[[Callable[[], bool]], None], pause: float = PAUSE_S) -> None:
        super().__init__("idle updates")
        self._learn, self._pause = learn, pause
        self._answering, self._working, self._due = 0, False, True

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While a turn is answered nothing is updated; waits for the step in progress, which is short."""
        with self._changed:
            self._answering += 1
            self._changed.wait_for(lambda: not self._working)
        try:
            yield
        finally:
            with self._changed:
                self._answering -= 1
                self._due = True
                self._changed.notify_all()

    def _run(self) -> None:
        while self._may_work():
            try:
                self._learn(self._interrupted)
            except AlbumBusy:
                pass  # another program writes: later
            except AlbumError as error:
                _log.error("the memories were not updated: %s", error)
            except Exception as error:
                _log.error("the memories were not updated", exc_info=error)
            finally:
                with self._changed:
                    self._working = False
                    self._changed.notify_all()

    def _may_work(self) -> bool:
        """Waits until there may be something to do and nobody talks; False when the server stops."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._due, self._pause)
            self._changed.wait_for(lambda: self._stopped or not self._answering)
            self._due, self._working = False, not self._stopped
            return self._working

    def _interrupted(self) -> bool:
        return self._stopped or self._answering > 0
