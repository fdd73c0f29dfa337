"""Console output of every room's commands: results, one-line errors, text free of control characters."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import NoReturn

import click


def plain(text: str) -> str:
    """`text` in one line without control characters, so that an album's content cannot control the terminal.

    Line breaks and tabs, which text read in pictures is full of, become spaces; the others are marked.
    """
    return "".join(c if c.isprintable() else " " if c in "\n\r\t" else "\ufffd" for c in text)


def json_line(value: object) -> str:
    """`value` as one line of JSON that reads back the same and cannot control the terminal: what is not
    printable is escaped, such as C1 codes and marks that turn the order around.
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def say(as_json: bool, figures: object, lines: Iterable[str]) -> None:
    """Prints a command's result: as one line of JSON if it was asked for, otherwise the lines."""
    if as_json:
        click.echo(json_line(figures))
        return
    for line in lines:
        click.echo(plain(line))


def fail(command: str, message: str, code: int = 1) -> NoReturn:
    """Prints "gamer COMMAND: message" as one line on stderr and exits."""
    click.echo(plain(f"gamer {command}: {message}"), err=True)
    sys.exit(code)
