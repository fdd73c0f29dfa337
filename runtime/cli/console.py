"""Shared by all commands: errors as one line, exit codes, and text without terminal control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from gamer.index.console import fail, plain, say
from gamer.index.errors import GamerError
from gamer.index.installing import install

__all__ = ["fail", "one_line", "passage", "plain", "say"]


def passage(text: str) -> str:
    """`text` with its lines and tabs, but without other control characters: a model may write any."""
    return "".join(c if c in "\n\t" or unicodedata.category(c) != "Cc" else "\ufffd" for c in text)


@contextmanager
def one_line(command: str, *, extra: str = "all", interrupted: str = "interrupted") -> Iterator[None]:
    """Prints an expected error as one line and exits: code 1, or 130 for Ctrl-C.

    `extra`: the extra to install if a package is missing.
    """
    try:
        yield
    except ImportError as error:
        fail(command, f"{error.name or error} is not installed: {install(extra)}")
    except BrokenPipeError:  # of `gamer … | head`, which is no failure
        raise
    except (GamerError, OSError) as error:
        fail(command, str(error))
    except KeyboardInterrupt:
        fail(command, interrupted, 130)
