"""Files that are replaced whole: a reader sees the old one or the new one, and a failure leaves nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(
    path: Path,
    failure: Callable[[str], Exception] | None = None,
    *,
    mode: int = 0o666,
    shared: bool = False,
    folders: bool = False,
) -> Iterator[Path]:
    """Gives a new file beside `path`, which takes its place when the block ends and is deleted if it fails.

    `failure`: what an OSError is raised as, from its reason. `mode`: as of os.open. `shared`: several
    processes may write `path` at once; otherwise what a killed one left is deleted. No link is followed.
    `folders`: those that are missing are made.
    """
    owner = f".{os.getpid()}" if shared else ""
    aside = path.with_name(f"{path.name}{owner}.partial")
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        aside.unlink(missing_ok=True)
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield aside
        with aside.open("rb") as written:
            os.fsync(written.fileno())
        aside.replace(path)
    except BaseException as error:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        if failure is not None and isinstance(error, OSError):
            raise failure(error.strerror or str(error)) from None
        raise
