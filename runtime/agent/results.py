"""What the tools return: photos and events as short lines to read (the preview), and all of it as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from gamer.index import Event

from .. import texts
from ..wall_time import iso

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
class Occasion:
    """One event in a result. `start`, `end`: wall time, ISO 8601, None if unknown; `photos`: how many."""

    id: str
    name: str
    summary: str
    start: str | None
    end: str | None
    photos: int

    @classmethod
    def of(cls, event: Event) -> Occasion:
        name, summary = one_line(event.name, 80), one_line(event.summary, 1_000)
        return cls(event.id, name, summary, iso(event.start), iso(event.end), len(event.photos))

    def line(self, most: int = MAX_LINE) -> str:
        """`most`: characters of the summary. Quoted, as a memory is."""
        when = f"{self.start} to {self.end}" if self.start else "undated"
        summary = f', "{one_line(self.summary, most)}"' if self.summary else ""
        return f'{self.id} {when}, {self.photos} photos: "{self.name}"{summary}'


@dataclass(frozen=True)
class Result:
    """The outcome of a call.

    `rows`: the photos found, in the tool's order. `items`: the first of them with text. `note`: what else
    there is to say, in one line. `saved_as`: the subset that now holds the rows, "" if none. `data`: the
    tool's own answer (groups of `list`, records of `get` and `metadata`, the answer of `view`), as JSON.
    `presence`: of a search by text, the probability that the album holds what is meant at all; None for other
    tools. `events`: those that fit the words of `search` and `grep` best. `nearest`: where nothing is sure,
    the likeliest.
    """

    rows: tuple[int, ...] = ()
    items: tuple[Item, ...] = ()
    note: str = ""
    saved_as: str = ""
    data: Any = field(default=None)
    presence: float | None = None
    events: tuple[Occasion, ...] = ()
    nearest: tuple[int, ...] = ()

    def preview(self) -> str:
        """A few lines for a mind with a small context."""
        lines = [item.line() for item in self.items]
        if self.items and len(self.rows) > len(self.items):
            lines.append(f"and {len(self.rows) - len(self.items)} more")
        lines += [event.line() for event in self.events]
        if self.saved_as:
            lines.append(f"{len(self.rows)} photos kept as {self.saved_as}")
        return "\n".join([self.note, *lines] if self.note else lines) or "nothing found"

    def full(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {
            "found": len(self.rows),
            "photos": [asdict(item) for item in self.items],
            "events": [asdict(event) for event in self.events],
            "note": self.note,
            "saved_as": self.saved_as,
            "data": self.data,
            "presence": self.presence,
        }


def one_line(text: str, most: int) -> str:
    """`text` in one line of at most `most` printable characters, without double quotes."""
    return texts.one_line(text.replace('"', "'"), most, "…")
