"""What the API takes and gives, beside the engine's own Answer: frozen, plain, typed; the OpenAPI schema is
made of these.

Times are integers, milliseconds of wall time as if UTC; positions are degrees, WGS 84.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ..search.answer import Answer
from ..search.engine import MAX_QUERY

MAX_PHOTOS = 200
LAST_DAY = 4_102_444_800_000  # 2100-01-01

Mode = Literal["fused", "paper"]
Refine = Literal["off", "fast", "llm"]


def _number(value: object) -> object:
    """JSON's 5 and 5.0 are integers, its "5" and true are not."""
    if isinstance(value, bool | str):
        raise ValueError("a number is wanted")
    return value


class SearchRequest(BaseModel):
    """`query` holds at least one character that is neither space nor control.

    `now`: the day that "last spring" counts from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_QUERY,
            pattern=r"[^\s\x00-\x1f\x7f-\x9f]",
            examples=["coffee last spring"],
        ),
    ]
    k: Annotated[int, Field(ge=1, le=MAX_PHOTOS), BeforeValidator(_number)] | None = None
    mode: Mode = "fused"
    refine: Refine = "fast"
    now: Annotated[int, Field(ge=0, le=LAST_DAY), BeforeValidator(_number)] | None = None


@dataclass(frozen=True)
class EntityNode:
    """An entity node over δ. `photos`: how many of the photos left it leads to."""

    row: int
    name: str
    kind: str
    similarity: float
    photos: int


@dataclass(frozen=True)
class Subgraph:
    """What layer 2 walked, as far as the hits go.

    `mentions`: (entity row, photo row); `relations`: (entity row, entity row).
    """

    entities: tuple[EntityNode, ...]
    mentions: tuple[tuple[int, int], ...]
    relations: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SearchResult:
    """`answer`: the engine's, with file names for paths, and of each entity's photos those among the hits.
    `doubtful`: what is meant is likelier not in this album."""

    answer: Answer
    doubtful: bool
    subgraph: Subgraph


@dataclass(frozen=True)
class MemoryView:
    source: str
    text: str


@dataclass(frozen=True)
class PhotoView:
    """`name`: the file's name, without its folder.

    `here`: whether the file still lies where the album found it.
    """

    row: int
    id: str
    name: str | None
    here: bool
    taken_at: int | None
    tz_source: str
    lat: float | None
    lon: float | None
    memories: tuple[MemoryView, ...]
    sharing: str | None
    sensitivity: str | None


@dataclass(frozen=True)
class Month:
    """`start`: its first millisecond."""

    start: int
    photos: int


@dataclass(frozen=True)
class Place:
    """The photos of one grid cell, at their mean position.

    `name`: of the nearest city; the smaller cells of a wide album have none.
    """

    lat: float
    lon: float
    photos: int
    name: str | None


@dataclass(frozen=True)
class Overview:
    """The album at a glance, for the page's timeline and map: months and cells that hold photos, and what has
    no time or place.
    """

    months: tuple[Month, ...]
    undated: int
    places: tuple[Place, ...]
    unplaced: int


@dataclass(frozen=True)
class Stats:
    """Counts, what encoded the album, the default K, and queries that fit it."""

    photos: int
    with_time: int
    with_place: int
    memories: int
    entities: int
    file_bytes: int
    text_encoder: str
    image_encoder: str
    delta: float
    k: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Health:
    """`token`: whether the rest of the API wants one."""

    status: Literal["ok"]
    version: str
    token: bool
