"""What every room's commands share: errors as one line, and text that cannot drive a terminal. Knows no
command.
"""

from __future__ import annotations

import sys
from typing import NoReturn

import click


def plain(text: str) -> str:
    """`text` without control characters: what an album holds must not drive a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def fail(command: str, message: str, code: int = 1) -> NoReturn:
    """Prints "gamer COMMAND: message" as one line on stderr and exits."""
    click.echo(plain(f"gamer {command}: {message}"), err=True)
    sys.exit(code)
