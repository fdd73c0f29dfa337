"""What a search returns: hits, and a trace that says what each layer did, how long it took, and why each hit
ranks where it does.
"""

from __future__ import annotations

from dataclasses import dataclass

from gamer.index import Cube, EntityMatch

MODES = ("fused", "paper")  # how an engine ranks
REFINEMENTS = ("off", "fast", "llm")
LAYERS = ("cube", "kdtree", "refine", "graph", "vectors")


@dataclass(frozen=True)
class Hit:
    """One photo. `taken_at`: milliseconds of wall time as if UTC, to be shown as it is. `score` is comparable
    within one answer only; `parts` are its summands by name. `probability`: that it is one that is meant."""

    row: int
    id: str
    path: str | None
    taken_at: int | None
    lat: float | None
    lon: float | None
    score: float
    probability: float
    parts: dict[str, float]
    memory: str | None
    matched: tuple[str, ...]


@dataclass(frozen=True)
class Trace:
    """What happened between the query and the hits (paper section 3.2; photos left as its Table 10,
    milliseconds as its Table 3).

    `cues`: one line each, as understood. `cubes`: the boxes that the K-D tree was asked for; none: the whole
    tree. `left`: photos after each layer, the album's size first. `linked`: how many of them a chosen entity
    node leads to (in mode "fused" the graph ranks and drops none). `milliseconds` by LAYERS; `load_ms`:
    opening what this query was the first to need, outside the layers. `plan`: how the vectors were searched.
    `models`: backend, threads, allocation, and what was in memory. `refined_by`: "off" | "fast" | "llm" |
    "llm (rejected: …)". `widened`: no photo of known time and place fits the cues, so that all were ranked.
    """

    query: str
    cues: tuple[str, ...]
    cube_lines: tuple[str, ...]
    cubes: tuple[Cube, ...]
    refined: str
    refined_by: str
    delta: float
    entities: tuple[EntityMatch, ...]
    left: dict[str, int]
    linked: int
    widened: bool
    load_ms: float
    milliseconds: dict[str, float]
    plan: str
    mode: str
    models: str


@dataclass(frozen=True)
class Answer:
    """Hits, best first, and the trace.

    `presence`: the probability that the album holds what is meant at all; say so when it is small.
    """

    hits: tuple[Hit, ...]
    trace: Trace
    presence: float

    @property
    def doubtful(self) -> bool:
        """Whether what is meant is likelier not in this album."""
        return self.presence < 0.5
