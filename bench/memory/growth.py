"""How the memory grows: one, three and ten years of turns, what a retrieval and an update take, and the file.

The turns and their vectors are made by a seeded program, in the size that a bundle's text tower has. An
update is a turn said, digested and taken up by the next retrieval; its vector is not computed.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import apsw
import numpy as np

from gamer.index.memory import writing
from gamer.index.memory.records import NewItem, Turn
from gamer.index.memory.store import MemoryStore
from gamer.index.records import FloatArray
from gamer.runtime.memory.recall import Encoder, Recall
from gamer.runtime.memory.response import Responder
from gamer.runtime.memory.update import Updater
from gamer.runtime.memory.words import traits
from gamer.runtime.wall_time import milliseconds

from .talks import new_album

DIM = 384
YEARS = {1: 10_000, 3: 30_000, 10: 100_000}  # years → turns
_WORDS = 3_000
_START = datetime(2016, 1, 1, 9)


@dataclass(frozen=True)
class Grown:
    """`recall_ms`: of the turns alone; `retrieval_ms`: of the whole stage; `update_ms`: p50 and p95."""

    years: int
    turns: int
    recall_ms: tuple[float, float]
    retrieval_ms: tuple[float, float]
    update_ms: tuple[float, float]
    mb: float


def measure(tell: Callable[[str], None], years: dict[int, int] = YEARS, asked: int = 60) -> tuple[Grown, ...]:
    out = []
    for count, turns in years.items():
        tell(f"{turns} turns: saying them")
        with tempfile.TemporaryDirectory() as aside:
            path = new_album(Path(aside) / "grown.gamer")
            with MemoryStore.open(path) as store:
                out.append(_grown(count, turns, store, asked, tell))
    return tuple(out)


def _grown(years: int, turns: int, store: MemoryStore, asked: int, tell: Callable[[str], None]) -> Grown:
    chance = random.Random(years)
    made = np.random.default_rng(years)
    encode: Callable[[str], FloatArray] = lambda text: _unit(made.standard_normal(DIM))  # noqa: E731
    encoder = Encoder("made", encode, encode)
    _fill(store, turns, chance, encoder)
    updater, recall = Updater(store, encoder), Recall(store, encoder)
    responder = Responder(store, recall, updater)
    now = _START + timedelta(days=365 * years)
    recall.candidates("anything")
    tell(f"{turns} turns: asking")
    found, retrieved, updated = [], [], []
    for number in range(asked):
        question = f"What about the {_word(chance)} and the {_word(chance)}?"
        found.append(_ms(lambda question=question: recall.candidates(question)))  # type: ignore[misc]
        retrieved.append(_ms(lambda question=question: responder.respond(question, now)))  # type: ignore[misc]
        turn = Turn(f"new {number}", "today", "me", milliseconds(now) + 1_000 * number, _said(chance))

        def update(turn: Turn = turn) -> None:
            store.add_turns([turn])
            updater.run(turn.at)
            recall.refresh()

        updated.append(_ms(update))
    size = round(store.path.stat().st_size / 2**20, 1)
    return Grown(years, turns, _percentiles(found), _percentiles(retrieved), _percentiles(updated), size)


def _fill(store: MemoryStore, turns: int, chance: random.Random, encoder: Encoder) -> None:
    """Says and digests all turns, in sessions of ten. The vectors are added in batches."""
    at, batch = milliseconds(_START), []
    for number in range(turns):
        at += 60_000 if number % 10 else 3 * 3_600_000
        batch.append(Turn(f"u{number}", "years", "me" if number % 2 else "assistant", at, _said(chance)))
        if len(batch) == 1_000 or number == turns - 1:
            rows = [row for row in store.add_turns(batch) if row is not None]
            _digest_all(store, rows, batch, encoder)
            batch = []


def _digest_all(store: MemoryStore, rows: Sequence[int], batch: Sequence[Turn], encoder: Encoder) -> None:
    """As the update stage leaves them, but in one transaction: 100,000 of them would take an hour."""

    def change(db: apsw.Connection) -> None:
        for row, turn in zip(rows, batch, strict=True):
            db.execute(
                "UPDATE person_turns SET traits=?, session=? WHERE id=?",
                (traits(turn.text), row // 10 + 1, row),
            )
            if turn.speaker == "me":
                words = tuple(turn.text.casefold().rstrip(".").split())
                item = NewItem("semantic", f"turn {row}", turn.text, turn.at, words, sources=(row,))
                writing.put(db, item)
        for start in range(0, len(rows), 10):
            of = tuple(rows[start : start + 10])
            first = batch[start]
            writing.put(
                db, NewItem("episodic", f"turn {of[0]}", first.text, first.at, (), first.at, sources=of)
            )

    store._write(change)
    store.add_vectors([(row, encoder.encode("")) for row in rows], encoder.name)


def _said(chance: random.Random) -> str:
    return "I saw the " + " ".join(_word(chance) for _ in range(9)) + "."


def _word(chance: random.Random) -> str:
    """Words as in language: few are frequent."""
    return f"word{int(_WORDS ** chance.random())}x"


def _unit(vector: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def _ms(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1_000 * (time.perf_counter() - start)


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.percentile(values, [50, 95])
    return round(float(low), 2), round(float(high), 2)
