"""Console output shared by every room's commands: one-line errors, and text free of control characters."""

from __future__ import annotations

import sys
from typing import NoReturn

import click


def plain(text: str) -> str:
    """`text` with control characters replaced, so that an album's content cannot control the terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def fail(command: str, message: str, code: int = 1) -> NoReturn:
    """Prints "gamer COMMAND: message" as one line on stderr and exits."""
    click.echo(plain(f"gamer {command}: {message}"), err=True)
    sys.exit(code)
