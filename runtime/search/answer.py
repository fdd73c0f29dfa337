"""What a search returns: hits, and a trace of what each layer did and how long it took.

Also what `similar` returns: the photos most like a given one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from gamer.index import Cube, EntityMatch

from .notebook import html
from .remarks import Remark

MODES = ("fused", "paper", "strict")  # how an engine ranks
REFINEMENTS = ("off", "fast", "llm")
LAYERS = ("cube", "kdtree", "refine", "graph", "vectors")


@dataclass(frozen=True)
class ClipMoment:
    """Of a hit that is a clip, or a part of one. All in seconds from its file's begin.

    `start`, `end`: of the clip or part. `second`: where what is meant is seen best.
    """

    start: float
    end: float
    second: float


@dataclass(frozen=True)
class Hit:
    """One photo of an answer.

    `taken_at`: milliseconds of wall time, as if UTC; show it without converting. `score`: comparable within
    one answer only; `parts` are its summands by name. `probability`: that the photo is one of those meant.
    `memory`: the text to show with the photo. `matched`: names of the chosen entities that it is linked to.
    `copies`: ids of its copies and of its burst's other photos, which are no hits of their own. `clip`: None
    of a photo.
    """

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
    copies: tuple[str, ...] = ()
    clip: ClipMoment | None = None


@dataclass(frozen=True)
class Trace:
    """What happened between the query and the hits, by layer (paper section 3.2).

    The photo counts correspond to the paper's Table 10, the milliseconds to its Table 3.

    `cues`: one line for each cue understood, and for each word of another language ("собака → dog, hound").
    `cubes`: the boxes given to the K-D tree; empty: all photos.
    `left`: number of photos after each layer, the album's size first. `linked`: how many of them are linked
    to a chosen entity node (in mode "fused" the graph only ranks and drops no photo). `milliseconds`: by
    LAYERS. `load_ms`: opening what this query was the first to need, which counts for no layer. `plan`: how
    the vectors were searched. `models`: backend, threads, allocation, and what was in memory. `refined_by`:
    "off" | "fast" | "llm" | "llm (rejected: …)". `widened`: no photo of known time and place fits the cues,
    so all were ranked. `adapted`: the query adapter made the vector that photos were ranked by. `remarks`:
    those that `cues` has in English.
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
    adapted: bool = False
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class Answer:
    """The hits, best first, and the trace.

    `presence`: the probability that the album holds what is meant at all; tell the user when it is low.
    `count`: how many photos belong to what is meant, copies counted once, where the query asks "how many".
    `note`: what to tell the user beside the hits ("none in 2025"), in English and lower case; `remark`: the
    same by its code.
    """

    hits: tuple[Hit, ...]
    trace: Trace
    presence: float
    count: int | None = None
    note: str | None = None
    remark: Remark | None = None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, rank: int) -> Hit:
        return self.hits[rank]

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each hit, for a data frame."""
        return [asdict(hit) for hit in self.hits]

    def _repr_html_(self) -> str:
        doubt = f"{self.note or 'probably not in this album'}; the nearest: " if self.doubtful else ""
        captions = [f"{hit.probability:.0%} {hit.memory or ''}" for hit in self.hits]
        paths = [hit.path for hit in self.hits]
        return html(f"{doubt}{self.trace.query}", list(zip(paths, captions, strict=True)))

    @property
    def doubtful(self) -> bool:
        """Whether the album more likely does not hold what is meant."""
        return self.presence < 0.5


@dataclass(frozen=True)
class SimilarPhoto:
    """A photo beside one that it is compared with.

    `cosine`: of their vectors, 1 for the photo itself. The other fields are as in Hit.
    """

    row: int
    id: str
    path: str | None
    taken_at: int | None
    lat: float | None
    lon: float | None
    cosine: float
    memory: str | None
    copies: tuple[str, ...] = ()
    clip: ClipMoment | None = None


@dataclass(frozen=True)
class SimilarPhotos:
    """The most similar `photos`, best first.

    `asked`: the given photo, with its copies, which are not among `photos`. `channel`: whose vectors were
    compared, "image" or, where the given photo has none there, "text". `plan`: how they were searched,
    "exact" or "hnsw".
    """

    asked: SimilarPhoto
    channel: str
    plan: str
    photos: tuple[SimilarPhoto, ...]

    def __iter__(self) -> Iterator[SimilarPhoto]:
        return iter(self.photos)

    def __len__(self) -> int:
        return len(self.photos)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each photo, for a data frame."""
        return [asdict(photo) for photo in self.photos]

    def _repr_html_(self) -> str:
        captions = [f"{photo.cosine:.2f} {photo.memory or ''}" for photo in self.photos]
        paths = [photo.path for photo in self.photos]
        return html(f"similar to {self.asked.id}", list(zip(paths, captions, strict=True)))


def photos(count: int) -> str:
    """ "1 photo", "3 photos"."""
    return f"{count} {'photo' if count == 1 else 'photos'}"
