"""LoCoMo's conversations as turns in an album's memory, and their questions with the turns that answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from gamer.index import AlbumMeta, AlbumWriter
from gamer.index.memory.records import Turn
from gamer.index.memory.store import MemoryStore
from gamer.index.records import FloatArray
from gamer.runtime.memory.recall import Encoder
from gamer.runtime.memory.update import Updater, spoken

from ..retrieval import datasets

_APART_MS = 1_000  # the turns of a session have one time in the data; they follow each other by a second
_LATER_MS = 10 * 86_400_000


@dataclass(frozen=True)
class Question:
    """`evidence`: the ids in the store of the turns that answer it."""

    text: str
    kind: str
    evidence: frozenset[int]


@dataclass(frozen=True, eq=False)
class Talk:
    """`vectors`: float32 [turns, d], of turn 1, 2, …; `now`: some days after the last turn."""

    name: str
    turns: tuple[Turn, ...]
    vectors: FloatArray
    questions: tuple[Question, ...]
    now: datetime


def read(folder: Path, name: str, encoder: Encoder) -> Talk:
    """Raises DatasetError if the files are not as LoCoMo's are."""
    rows = list(datasets.read_jsonl(folder / f"{name}.corpus.jsonl.gz", "id", "timestamp", "text", "speaker"))
    place = {row["id"]: number for number, row in enumerate(rows, 1)}
    turns, last, seen = [], "", 0
    for row in rows:
        seen = seen + 1 if row["timestamp"] == last else 0
        last = row["timestamp"]
        said = row["text"].removeprefix(f"{row['speaker']}: ") or row["text"]
        turns.append(Turn(row["id"], name, row["speaker"], _ms(last) + seen * _APART_MS, said))
    asked = datasets.read_jsonl(folder / f"{name}.queries.jsonl.gz", "query", "relevant", "category")
    questions = tuple(
        Question(row["query"], row["category"], frozenset(place[one] for one in row["relevant"]))
        for row in asked
    )
    vectors = np.stack([encoder.encode(spoken(turn)) for turn in turns])
    now = datetime.fromtimestamp((turns[-1].at + _LATER_MS) / 1000)
    return Talk(name, tuple(turns), vectors, questions, now)


def _ms(timestamp: str) -> int:
    return int(datetime.fromisoformat(timestamp + "+00:00").timestamp() * 1000)


def new_album(path: Path) -> Path:
    """An album without photos, for memories."""
    with AlbumWriter.create(path, AlbumMeta("none", "none", 8, 0.5)) as writer:
        writer.finish(lambda names: np.zeros((len(names), 8), np.float32))
    return path


def stored(talk: Talk, path: Path, encoder: Encoder) -> MemoryStore:
    """The conversation, said and digested; the caller closes the store. Turn 1 is the first."""
    store = MemoryStore.open(new_album(path))
    store.add_turns(talk.turns)
    known = {spoken(turn): vector for turn, vector in zip(talk.turns, talk.vectors, strict=True)}
    told = replace(encoder, encode=lambda text: known[text] if text in known else encoder.encode(text))
    Updater(store, told, owner=talk.turns[0].speaker).run(talk.turns[-1].at + _LATER_MS)
    return store
