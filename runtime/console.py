"""What the rooms' commands share: errors as one line, exit codes, and text that cannot drive a terminal. Knows no command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click
from gamer.index import AlbumError, IngestError

from .errors import RuntimeFailure


def plain(text: str) -> str:
    """`text` without control characters: what an album holds must not drive a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def fail(command: str, message: str, code: int = 1) -> NoReturn:
    """Prints "gamer COMMAND: message" as one line on stderr and exits."""
    click.echo(plain(f"gamer {command}: {message}"), err=True)
    sys.exit(code)


@contextmanager
def one_line(command: str, *errors: type[Exception], extra: str = "all", interrupted: str = "interrupted") -> Iterator[None]:
    """Turns what a person can act on into one line: exit code 1, or 130 for Ctrl-C.

    `errors`: the room's own, beside the runtime's and the index's. `extra`: what to install when a package is missing.
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
