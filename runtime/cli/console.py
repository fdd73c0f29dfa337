"""What the rooms' commands share: errors as one line, exit codes, and text that cannot drive a
terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gamer.index import AlbumError, IngestError
from gamer.index.console import fail, plain

from ..errors import RuntimeFailure

__all__ = ["fail", "one_line", "plain"]


@contextmanager
def one_line(
    command: str, *errors: type[Exception], extra: str = "all", interrupted: str = "interrupted"
) -> Iterator[None]:
    """Turns what a person can act on into one line: exit code 1, or 130 for Ctrl-C.

    `errors`: the room's own, beside the runtime's and the index's. `extra`: what to install when a package is
    missing.
    """
    caught: tuple[type[Exception], ...] = (RuntimeFailure, AlbumError, IngestError, OSError, *errors)
    try:
        yield
    except ImportError as error:
        fail(command, f"{error.name or error} is not installed: pip install 'gamer-on-device[{extra}]'")
    except caught as error:
        fail(command, str(error))
    except KeyboardInterrupt:
        fail(command, interrupted, 130)
