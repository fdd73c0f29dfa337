"""Replays the paper's example (its Table 9) layer by layer in a small album, and keeps what each did.

The album's memories and the queries say in other words what the paper's say: a son at an airport more than
once, the last time before a business trip to Seattle, and a chair at IKEA that cost $119 (its Figure 2). The
first query is also searched with a refinement that adds what the paper's adds. It shows how a query goes
through the layers; it measures no quality.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions

from ..study.declaration import NoSettings, Run, Work

QUERIES = ("the photo of my son at the airport last time", "the chair at IKEA")
GIVEN = "my son at the airport before the business trip to Seattle"  # Q̂ with the words that the paper's adds
NOW = datetime(2024, 9, 1, 12, 0)
MODE, K = "paper", 3
# (id, taken, what the person wrote)
MEMORIES: tuple[tuple[str, str, str], ...] = (
    (
        "airport-2022",
        "2022-07-03T09:10:00",
        "My son waves at the gate of the airport before his first flight",
    ),
    (
        "airport-2024",
        "2024-06-21T16:40:00",
        "My son at the airport, before we fly to Seattle for a business trip",
    ),
    ("airport-taxi", "2023-02-11T05:30:00", "A taxi in the rain on the way to the airport"),
    ("birthday", "2023-05-14T15:00:00", "My son blows out the candles on his cake"),
    ("chair", "2024-03-09T11:25:00", "The chair at IKEA costs $119"),
    ("desk", "2024-03-09T11:31:00", "A white desk with two drawers at IKEA"),
    ("kitchen", "2024-03-16T18:05:00", "Our old chair in the kitchen has a broken leg"),
    ("harbour", "2024-08-02T20:15:00", "Fishing boats in the harbour at sunset"),
)


@dataclass(frozen=True)
class Replayed:
    """One query. `entities`: names of nodes over δ with their similarity; `left`: photos after each layer.

    `hits`: ids, best first.
    """

    query: str
    refined_by: str
    cues: tuple[str, ...]
    cubes: tuple[str, ...]
    refined: str
    entities: tuple[tuple[str, float], ...]
    left: dict[str, int]
    hits: tuple[str, ...]


@dataclass(frozen=True)
class Replay:
    bundle: str
    delta: float
    replayed: tuple[Replayed, ...]


def measure(run: Run[NoSettings]) -> Replay:
    """Replays QUERIES in mode paper, refined by rules and by the language model if the bundle has one."""
    models = run.models
    language = any((a.role, a.target) == ("llm_decoder", "onnx") for a in models.manifest.artifacts)
    with (
        tempfile.TemporaryDirectory() as aside,
        Engine.over(models, _album(Path(aside), models)) as engine,
    ):
        replayed = _replayed(engine, ("fast", "llm") if language else ("fast",))
    thresholds = models.manifest.thresholds
    return Replay(run.recipe, thresholds.paper_delta or thresholds.delta, replayed)


def _album(folder: Path, models: Models) -> Path:
    rows = [
        {"id": name, "taken_at": taken, "memories": [{"source": "note", "text": text}]}
        for name, taken, text in MEMORIES
    ]
    lines = folder / "replay.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    build(lines, models, folder / "replay.gamer")
    return folder / "replay.gamer"


def _replayed(engine: Engine, refinements: Sequence[str]) -> tuple[Replayed, ...]:
    ways = [(query, by, SearchOptions()) for query in QUERIES for by in refinements]
    ways.insert(len(refinements), (QUERIES[0], refinements[0], SearchOptions(refined=GIVEN)))
    out = []
    for query, refined_by, options in ways:
        answer = engine.search(query, K, mode=MODE, refined_by=refined_by, now=NOW, options=options)
        trace = answer.trace
        out.append(
            Replayed(
                query=query,
                refined_by=trace.refined_by,
                cues=trace.cues,
                cubes=trace.cube_lines,
                refined=trace.refined,
                entities=tuple((m.name, round(float(m.similarity), 3)) for m in trace.entities),
                left=trace.left,
                hits=tuple(hit.id for hit in answer.hits),
            )
        )
    return tuple(out)


def tables(result: Replay) -> list[str]:
    return [
        f"{one.query}: {'; '.join(one.cues) or 'no cue'} → {one.refined} → {', '.join(one.hits)}"
        for one in result.replayed
    ]


WORK = Work(NoSettings, measure, tables)
