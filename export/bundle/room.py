"""A full disk is told as one: the libraries that write a model say anything else of it."""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..errors import ExportError

FULL = 1 << 20  # bytes: with less free, a model was being written when something failed


@contextlib.contextmanager
def needed(folder: Path) -> Iterator[None]:
    """Inside, an error while the disk of `folder` is full becomes an ExportError that says so."""
    try:
        yield
    except ExportError:
        raise
    except Exception as error:
        told = getattr(error, "errno", None) == errno.ENOSPC or "No space left on device" in str(error)
        if told or shutil.disk_usage(folder).free < FULL:
            raise ExportError(
                f"{folder}: the disk is full: make room and run the same command again, or give another -o"
            ) from None
        raise
