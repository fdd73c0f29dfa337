"""Worker processes for long tasks: the first failure ends all of them at once, and none outlives its parent.

A worker imports torch once and runs one task after the other. With `jobs` 1, each task gets a new process, so
that memory a converter does not free is freed with it. The standard library's pools are not used, because on
a failure they wait for running tasks, here for minutes.
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

from tqdm import tqdm

from gamer.runtime.errors import RuntimeFailure

from ..errors import ExportError

Task = TypeVar("Task")
Result = TypeVar("Result")
KILLED = (
    "a worker was killed, most likely for want of memory: run again with --jobs 1; finished parts are kept"
)
PATIENCE = 10.0  # seconds that an idle worker gets to exit by itself


class _Worker(Generic[Task]):
    """A process and its current task."""

    def __init__(self, make: Callable[[Task], object], log: str) -> None:
        context = get_context("spawn")
        self.pipe, worker_end = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(worker_end, make, log), daemon=True)
        self.process.start()
        worker_end.close()
        self.task: Task | None = None

    def give(self, task: Task) -> None:
        self.task = task
        self.pipe.send(task)

    def end(self, seconds: float = 0.0) -> None:
        """Ends the process, after waiting up to `seconds` for it to exit by itself.

        Exiting by itself lets an idle worker's libraries release their resources.
        """
        self.pipe.close()
        if seconds:
            self.process.join(seconds)
        self.process.terminate()
        self.process.join()


def run(
    make: Callable[[Task], Result],
    tasks: Sequence[Task],
    jobs: int,
    log: str,
    begun: Callable[[Sequence[Task]], None] = lambda running: None,
) -> Iterator[tuple[Task, Result]]:
    """Runs `make` on each task in `jobs` processes; yields (task, result) as tasks finish.

    Tasks are started in their order. `log`: the file for the workers' output. `begun` is called with what
    runs, whenever that changes. A task's exception is raised at once, as an ExportError, and so is the death
    of a worker. The other workers are ended then, and also when the caller stops iterating.
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
            begun([worker.task for worker in busy if worker.task is not None])
            ready = set(connection.wait([worker.pipe for worker in busy]))
            for worker in [w for w in busy if w.pipe in ready]:
                try:
                    succeeded, result = worker.pipe.recv()
                except (EOFError, OSError):
                    raise ExportError(KILLED) from None
                if not succeeded:
                    raise result
                busy.remove(worker)
                task = worker.task
                assert task is not None
                if jobs == 1:
                    worker.end(PATIENCE)
                else:
                    idle.append(worker)
                yield task, result
    finally:
        for worker in busy:
            worker.end()
        for worker in idle:
            worker.end(PATIENCE)


def _serve(pipe: connection.Connection, make: Callable[[Task], object], log: str) -> None:
    """The main function of a worker: runs tasks from the pipe until it is closed."""
    os.environ["TQDM_DISABLE"] = "1"
    # Its own lock is a semaphore: of a worker that is ended, Python would warn on the console.
    tqdm.set_lock(threading.RLock())
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
            pipe.send((False, _to_export_error(error)))


def _to_export_error(error: Exception) -> ExportError:
    """The exception as an ExportError of one line.

    Converters raise classes that cannot be unpickled in another process.
    """
    first_line = (str(error).strip() or "no message").splitlines()[0][:500]
    if isinstance(error, MemoryError):
        return ExportError(KILLED)
    return ExportError(
        first_line
        if isinstance(error, ExportError | RuntimeFailure | OSError)
        else f"{type(error).__name__}: {first_line}"
    )


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextlib.contextmanager
def quiet(log: str) -> Iterator[None]:
    """Redirects this process's output to `log` inside the block, and restores it afterwards."""
    _flush()
    saved = os.dup(1), os.dup(2)
    try:
        _redirect(log)
        yield
    finally:
        _flush()
        for descriptor, copy in zip((1, 2), saved, strict=True):
            os.dup2(copy, descriptor)
            os.close(copy)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _redirect(log: str) -> None:
    """Redirects stdout and stderr to a file at the level of descriptors; errors are sent as exceptions.

    Converters print much, and their C++ code does not print through Python's streams.
    """
    with contextlib.suppress(OSError), open(log, "ab", buffering=0) as stream:  # noqa: PTH123 - a descriptor is wanted
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
