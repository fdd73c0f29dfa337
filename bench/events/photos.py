"""The photos of a data set's user as moments, each with the event that the data set says it is in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from gamer.index import FloatArray
from gamer.runtime.events.segment import Moment, in_order
from gamer.runtime.models.models import Models
from gamer.runtime.vectors import unit

from ..retrieval import datasets


@dataclass(frozen=True)
class Labelled:
    """A user's photos in order of time, those without an event left out. `events`: the event of each."""

    user: str
    moments: tuple[Moment, ...]
    events: tuple[str, ...]


def read(folder: Path, user: str, models: Models, cache: Path | None) -> Labelled:
    """Raises DatasetError if the corpus cannot be read or names no event.

    `cache`: a folder that keeps the vectors between runs.
    """
    rows = list(datasets.read_jsonl(folder / f"{user}.corpus.jsonl.gz", "id", "timestamp", "text"))
    vectors = _vectors(folder, user, models, [str(row["text"]) for row in rows], cache)
    event_of, moments = {}, []
    for row, vector in zip(rows, vectors, strict=True):
        if row.get("event_id") is None:
            continue
        wall = datetime.fromisoformat(row["timestamp"]).replace(tzinfo=UTC)
        moments.append(
            Moment(row["id"], round(wall.timestamp() * 1000), text=vector, memories=(str(row["text"]),))
        )
        event_of[row["id"]] = str(row["event_id"])
    if len(moments) < 2:
        raise datasets.DatasetError(f"{folder}: no photos of {user} with an event_id: give camroll-mpr")
    ordered = tuple(in_order(moments))
    return Labelled(user, ordered, tuple(event_of[m.id] for m in ordered))


def _vectors(folder: Path, user: str, models: Models, texts: list[str], cache: Path | None) -> FloatArray:
    """float32 [len(texts), D]: the mean of each text's chunks, of unit length, as an album gives them."""
    tower = models.manifest.artifact("text_tower", models.backend).sha256[:8]
    path = cache and cache / f"{folder.name}-{user}-{datasets.fingerprint(folder, user)}-{tower}.npy"
    if path is not None and path.exists():
        kept: FloatArray = np.load(path, allow_pickle=False)
        if kept.shape[0] == len(texts):
            return kept
    encoder = models.text
    vectors = np.stack([unit(encoder.encode(encoder.chunks(text)).mean(axis=0)) for text in texts])
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, vectors)
    return vectors
