"""Notes with their entities and relations, and queries with their words of time and place, marked by hand.

They were written for this measurement and belong to nobody's album.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class Note:
    """A memory. `relations`: (head, tail), where the tail describes the head."""

    text: str
    entities: tuple[str, ...]
    relations: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Question:
    """A query. `time`, `place`: the words that say when and where, "" where none does."""

    text: str
    time: str
    place: str


@dataclass(frozen=True)
class Gold:
    notes: tuple[Note, ...]
    questions: tuple[Question, ...]


@cache
def gold() -> Gold:
    raw = json.loads(files(__package__).joinpath("gold.json").read_text(encoding="utf-8"))
    notes = tuple(
        Note(n["text"], tuple(n["entities"]), tuple((head, tail) for head, tail in n["relations"]))
        for n in raw["notes"]
    )
    return Gold(notes, tuple(Question(**q) for q in raw["queries"]))
