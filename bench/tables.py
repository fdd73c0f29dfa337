"""Prints a measurement as Markdown tables, CSV, JSON or JSON lines.

Markdown is the default, because the JSON holds all raw samples, some 20,000 characters a run.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import click

from gamer.index.console import json_line

FORMATS = ("md", "csv", "json", "jsonl")
Cell = str | int | float | None
Record = Mapping[str, object]
T = TypeVar("T")


@dataclass(frozen=True)
class Sheet:
    """A table with a title. Cells are printed by `str`, so numbers are formatted beforehand."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def narrow(self) -> list[bool]:
        """Of each column, whether its cells are short: figures, which a page puts at the right."""
        return [all(len(str(row[at])) < 24 for row in self.rows) for at in range(len(self.columns))]

    def markdown(self) -> str:
        """The table, with columns padded to equal width so that its source is readable; numbers go right."""
        cells = [tuple("" if c is None else str(c).replace("|", "\\|") for c in row) for row in self.rows]
        widths = [max(len(line[at]) for line in (self.columns, *cells)) for at in range(len(self.columns))]
        right = [bool(cells) and all(_number(row[at]) for row in cells) for at in range(len(self.columns))]
        lines = [
            " | ".join(t.rjust(w) if r else t.ljust(w) for t, w, r in zip(line, widths, right, strict=True))
            for line in (self.columns, *cells)
        ]
        rule = "|".join("-" * (w + 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True))
        return "\n".join(
            (f"### {self.title}", "", f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:]))
        )


def sheet(title: str, rows: Iterable[T], columns: Mapping[str, Callable[[T], Cell]]) -> Sheet:
    """A table of `rows`; `columns`: name → what a row has there."""
    cells = tuple(tuple(cell(row) for cell in columns.values()) for row in rows)
    return Sheet(title, tuple(columns), cells)


def markdown(parts: Iterable[Sheet | str]) -> str:
    """Tables and lines of text, one under the other."""
    return "\n\n".join(part if isinstance(part, str) else part.markdown() for part in parts)


def _number(text: str) -> bool:
    return not text or text.lstrip("-").replace(".", "", 1).replace(",", "").rstrip(" %×").isdigit()


def emit(
    form: str, sheets: Sequence[Sheet], notes: Sequence[str], records: Sequence[Record], result: Record
) -> None:
    """Prints the result in `form`, one of FORMATS.

    `sheets`, `notes`: for "md". `records`: the rows for "csv" and "jsonl". `result`: everything, with raw
    samples, for "json".
    """
    if form == "json":
        click.echo(json_line(result))
    elif form == "jsonl":
        for record in records:
            click.echo(json_line(record))
    elif form == "csv":
        click.echo(_csv(records), nl=False)
    else:
        click.echo(markdown([*sheets, *notes]))


def _csv(records: Sequence[Record]) -> str:
    stream = io.StringIO()
    columns = list(dict.fromkeys(name for record in records for name in record))
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow(
            {k: json_line(v) if isinstance(v, (list, tuple, dict)) else v for k, v in record.items()}
        )
    return stream.getvalue()


def si(value: float, unit: str = "") -> str:
    """`value`, rounded, with a decimal prefix: 1234567 → "1.23 M"."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.2f} {letter}{unit}"
    return f"{value:.3g} {unit}".strip()
