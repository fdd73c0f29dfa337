"""Console output shared by every room's commands: one-line errors, and text free of control characters."""

from __future__ import annotations

import sys
from typing import NoReturn

import click


def plain(text: str) -> str:
    """`text` in one line without control characters, so that an album's content cannot control the terminal.

    Line breaks and tabs, which text read in pictures is full of, become spaces; the others are marked.
    """
    return "".join(c if c.isprintable() else " " if c in "\n\r\t" else "\ufffd" for c in text)


def fail(command: str, message: str, code: int = 1) -> NoReturn:
    """Prints "gamer COMMAND: message" as one line on stderr and exits."""
    click.echo(plain(f"gamer {command}: {message}"), err=True)
    sys.exit(code)
