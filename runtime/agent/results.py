"""What the tools return: photos as short lines to read (the preview), and all of it as data (the full)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .. import texts

MAX_LINE = 160  # characters of a memory in a preview


@dataclass(frozen=True)
class Item:
    """One photo in a result.

    `id`: "img_" and ten digits; `row`: its number in the album; `taken`: wall time, ISO 8601, None if
    unknown; `memory`: the text to show, None if there is none; `score`: comparable within one result only.
    """

    id: str
    row: int
    taken: str | None
    memory: str | None
    score: float | None = None

    def line(self) -> str:
        # Quoted, so that a memory reads as data and cannot pass for the tool's own words.
        quoted = "" if self.memory is None else f' "{one_line(self.memory, MAX_LINE)}"'
        return f"{self.id} {self.taken or 'undated'}{quoted}"


@dataclass(frozen=True)
class Result:
    """The outcome of a call.

    `rows`: the photos found, in the tool's order. `items`: the first of them with text. `note`: what else
    there is to say, in one line. `saved_as`: the subset that now holds the rows, "" if none. `data`: the
    tool's own answer (groups of `list`, records of `get` and `metadata`, the answer of `view`), as JSON.
    `presence`: of a search by text, the probability that the album holds what is meant at all; None for other
    tools.
    """

    rows: tuple[int, ...] = ()
    items: tuple[Item, ...] = ()
    note: str = ""
    saved_as: str = ""
    data: Any = field(default=None)
    presence: float | None = None

    def preview(self) -> str:
        """A few lines for a mind with a small context."""
        lines = [item.line() for item in self.items]
        if self.items and len(self.rows) > len(self.items):
            lines.append(f"and {len(self.rows) - len(self.items)} more")
        if self.saved_as:
            lines.append(f"{len(self.rows)} photos kept as {self.saved_as}")
        return "\n".join([self.note, *lines] if self.note else lines) or "nothing found"

    def full(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {
            "found": len(self.rows),
            "photos": [asdict(item) for item in self.items],
            "note": self.note,
            "saved_as": self.saved_as,
            "data": self.data,
            "presence": self.presence,
        }


def one_line(text: str, most: int) -> str:
    """`text` in one line of at most `most` printable characters, without double quotes."""
    return texts.one_line(text.replace('"', "'"), most, "…")
