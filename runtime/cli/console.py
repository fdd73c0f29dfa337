"""Shared by all commands: errors as one line, exit codes, and text without terminal control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager

from gamer.index.console import fail, json_line, plain, say
from gamer.index.errors import GamerError
from gamer.index.installing import install

__all__ = ["fail", "json_line", "one_line", "passage", "plain", "say"]


# Marks that turn the order of what follows around, so that a name reads as another one.
_TURNING = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))
_BREAKING = frozenset(("Cc", "Cs", "Zl", "Zp"))


def passage(text: str) -> str:
    """`text` with its lines and tabs, but without what controls the terminal or turns the order around: a
    model may write any.
    """
    return "".join(c if c in "\n\t" or not _controls(c) else "\ufffd" for c in text)


def _controls(c: str) -> bool:
    return unicodedata.category(c) in _BREAKING or unicodedata.bidirectional(c) in _TURNING


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
