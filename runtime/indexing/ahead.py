"""Work that is done ahead of its turn: pictures by threads, a scan by one. Order and errors are kept.

Decoding, hashing and the networks release Python's lock, so that threads use all cores.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")
Item = TypeVar("Item")


class Ahead(Generic[Key, Result]):
    """`add` names work that will be asked for, `result` asks for it; at most `window` results wait."""

    def __init__(self, work: Callable[[Key], Result], window: int, workers: int | None = None) -> None:
        self._work, self._window, self._workers = work, window, workers or os.cpu_count() or 1
        self._pool: ThreadPoolExecutor | None = None
        self._begun: dict[Key, Future[Result]] = {}
        self._waiting: deque[Key] = deque()

    def add(self, key: Key) -> None:
        self._waiting.append(key)
        self._begin()

    def result(self, key: Key) -> Result:
        """What the work on `key` gives, or raises; done now if it was not added."""
        future = self._begun.pop(key, None)
        if future is None:
            if key in self._waiting:
                self._waiting.remove(key)
            return self._work(key)
        self._begin()
        return future.result()

    def close(self) -> None:
        """Gives up what nobody has asked for, and ends the threads; more may be added."""
        self._waiting.clear()
        self._begun.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _begin(self) -> None:
        while self._waiting and len(self._begun) < self._window:
            self._pool = self._pool or ThreadPoolExecutor(self._workers, "ahead")
            key = self._waiting.popleft()
            self._begun[key] = self._pool.submit(self._work, key)


class _End:
    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def iterated(items: Iterator[Item], size: int) -> Iterator[Item]:
    """The items, of which a thread takes up to `size` ahead. It stops when the caller does."""
    queue, gone = Queue[Item | _End](size), Event()

    def put(item: Item | _End) -> None:
        while not gone.is_set():
            with suppress(Full):
                queue.put(item, timeout=0.1)
                return

    def take() -> None:
        error: BaseException | None = None
        try:
            for item in items:
                put(item)
                if gone.is_set():
                    return
        except BaseException as raised:
            error = raised
        put(_End(error))

    thread = Thread(target=take, name="scan", daemon=True)
    thread.start()
    try:
        while not isinstance(item := queue.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        gone.set()
        thread.join()
