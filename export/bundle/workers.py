"""Worker processes for long tasks: the first failure ends them all at once, and none outlives its parent.

A worker imports torch once and takes task after task; with one job at a time a new process takes each, so
that what a converter leaves in memory goes with it. Standard library's pools wait for what runs when
something fails, which here is minutes.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import connection, get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from gamer.runtime.errors import RuntimeFailure

from ..errors import ExportError

Task = TypeVar("Task")
Result = TypeVar("Result")
KILLED = (
    "a worker was killed, most likely for want of memory: run again with --jobs 1; finished parts are kept"
)
PATIENCE = 10.0  # seconds


class _Worker(Generic[Task]):
    """One process, and the task that it is at."""

    def __init__(self, make: Callable[[Task], object], log: str) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, make, log), daemon=True)
        self.process.start()
        theirs.close()
        self.task: Task | None = None

    def give(self, task: Task) -> None:
        self.task = task
        self.pipe.send(task)

    def end(self, seconds: float = 0.0) -> None:
        """`seconds`: how long an idle one may take to leave by itself, which frees what its
        libraries hold.
        """
        self.pipe.close()
        if seconds:
            self.process.join(seconds)
        self.process.terminate()
        self.process.join()


def run(
    make: Callable[[Task], Result], tasks: Sequence[Task], jobs: int, log: str
) -> Iterator[tuple[Task, Result]]:
    """(task, what `make` made of it) as they are done, the first tasks begun first. `log`: where workers'
    chatter goes.

    Raises what a task raised, the moment it did, and ExportError where a worker was killed; the others are
    ended then, as when the caller stops.
    """
    waiting, idle, busy = deque(tasks), list[_Worker[Task]](), list[_Worker[Task]]()
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                busy.append(idle.pop() if idle else _Worker(make, log))
                try:
                    busy[-1].give(waiting.popleft())
                except OSError:
                    raise ExportError(KILLED) from None
            ready = set(connection.wait([worker.pipe for worker in busy]))
            for worker in [w for w in busy if w.pipe in ready]:
                try:
                    passed, result = worker.pipe.recv()
                except (EOFError, OSError):
                    raise ExportError(KILLED) from None
                if not passed:
                    raise result
                busy.remove(worker)
                done = worker.task
                assert done is not None
                if jobs == 1:
                    worker.end(PATIENCE)
                else:
                    idle.append(worker)
                yield done, result
    finally:
        for worker in busy:
            worker.end()
        for worker in idle:
            worker.end(PATIENCE)


def _serve(pipe: connection.Connection, make: Callable[[Task], object], log: str) -> None:
    """A worker's life."""
    os.environ["TQDM_DISABLE"] = "1"
    _redirect(log)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, make(task)))
        except KeyboardInterrupt:
            return
        except Exception as error:
            pipe.send((False, _plain(error)))


def _plain(error: Exception) -> ExportError:
    """An exception that another process can take: converters raise classes that cannot be rebuilt there."""
    first = (str(error).strip() or "no message").splitlines()[0][:500]
    if isinstance(error, MemoryError):
        return ExportError(KILLED)
    return ExportError(
        first
        if isinstance(error, ExportError | RuntimeFailure | OSError)
        else f"{type(error).__name__}: {first}"
    )


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextlib.contextmanager
def quiet(log: str) -> Iterator[None]:
    """The same for a while in this process, whose own output comes back afterwards."""
    _flush()
    kept = os.dup(1), os.dup(2)
    try:
        _redirect(log)
        yield
    finally:
        _flush()
        for here, old in zip((1, 2), kept, strict=True):
            os.dup2(old, here)
            os.close(old)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _redirect(log: str) -> None:
    """Sends chatter (converters print much, and their C++ parts print past Python) to a file; errors travel
    as exceptions.
    """
    with contextlib.suppress(OSError), open(log, "ab", buffering=0) as stream:  # noqa: PTH123 - a descriptor is wanted
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
