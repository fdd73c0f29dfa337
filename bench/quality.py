"""Quality: builds an album per user of a data set, asks every query, scores the ranking. The run can be written for an outside scorer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gamer.runtime.engine import Engine
from gamer.runtime.indexing import build
from gamer.runtime.models import Models

from . import datasets, machine, metrics

TOP = 10


@dataclass(frozen=True)
class UserScores:
    user: str
    photos: int
    queries: int
    scores: metrics.Scores
    p50_ms: float


@dataclass(frozen=True)
class Quality:
    """Macro over users, and each user. `mode`: the engine's ranking mode."""

    machine: machine.Machine
    dataset: str
    mode: str
    text_encoder: str
    macro: metrics.Scores
    users: tuple[UserScores, ...]
    when: str


def evaluate(
    bundle: Path, folder: Path, mode: str, threads: int, cache: Path | None, progress: Callable[[str], None]
) -> tuple[Quality, dict[str, list[str]]]:
    """Scores every user of the data set `folder`. Returns the figures and the run {query id: ids, best first}.

    `cache`: a directory that keeps the albums between runs (they are rebuilt when another encoder made them).
    """
    models = Models.open(bundle, "onnx", threads)
    run: dict[str, list[str]] = {}
    rows = []
    with tempfile.TemporaryDirectory() as aside:
        home = cache or Path(aside)
        home.mkdir(parents=True, exist_ok=True)
        for user in datasets.users(folder):
            album = album_of(folder, user, models, home, progress)
            engine = Engine.open(bundle, album, threads=threads)
            progress(f"{user}: asking")
            rows.append(_ask(engine, user, datasets.queries(folder, user), mode, run))
            engine.close()
    macro = metrics.mean([r.scores for r in rows])
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    return Quality(machine.read(), folder.name, mode, models.manifest.text_encoder, macro, tuple(rows), when), run


def album_of(folder: Path, user: str, models: Models, home: Path, progress: Callable[[str], None]) -> Path:
    """The user's album in `home`, built if it is not there. An album keeps its corpus, its encoder's vectors and δ: another of any is another."""
    made_by = models.manifest.artifact("text_tower", "onnx").sha256[:8]
    album = home / f"{folder.name}-{user}-{datasets.fingerprint(folder, user)}-{made_by}-{models.manifest.thresholds.delta}.gamer"
    if not album.exists():
        progress(f"{user}: building")
        lines = home / f"{user}.jsonl"
        datasets.write_album(folder, user, lines)
        built = build(lines, models, album)
        lines.unlink()
        if built.skips:
            raise datasets.DatasetError(f"{folder}: {built.skips[0].where} of {user}: {built.skips[0].reason}")
    return album


def _ask(engine: Engine, user: str, queries: list[datasets.Query], mode: str, run: dict[str, list[str]]) -> UserScores:
    scores, spent = [], []
    for query in queries:
        answer = engine.search(query.text, TOP, mode=mode)
        run[query.id] = [hit.id for hit in answer.hits]
        scores.append(metrics.score(run[query.id], query.relevant))
        spent.append(sum(answer.trace.milliseconds.values()))
    return UserScores(user, len(engine.album), len(queries), metrics.mean(scores), round(sorted(spent)[len(spent) // 2], 2))
