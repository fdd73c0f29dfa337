"""What an album answers with: frozen, plain. Rows are dense photo numbers 0..n-1 inside one album. Knows
nothing of how they were found.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..records import FloatArray, RowArray


@dataclass(frozen=True)
class AlbumMeta:
    """What encoded the album.

    `delta`: the entity similarity threshold calibrated for `text_encoder`. `dim`: entity vectors' length.
    """

    text_encoder: str
    image_encoder: str
    dim: int
    delta: float


@dataclass(frozen=True, eq=False)
class TextResult:
    """`scores`: BM25 of the best memory of each photo, positive, higher is better, best first."""

    rows: RowArray
    scores: FloatArray


@dataclass(frozen=True)
class ChannelStats:
    name: str
    dim: int
    vectors: int
    bytes: int


@dataclass(frozen=True)
class SegmentStats:
    """`behind`: photos added or changed since it was built, which a search scans on top."""

    name: str
    bytes: int
    behind: int


@dataclass(frozen=True)
class AlbumStats:
    """Counts and bytes, by layer. `*_bytes` are payload; `file_bytes` is the whole file with SQLite's own
    pages.

    `entities` counts those that are one as one, `aliases` the names merged into them, `unembedded` those
    still without a vector. `kept_home`: photos that no export and no prompt may take along.
    """

    generation: int
    photos: int
    with_time: int
    with_place: int
    memories: int
    memory_bytes: int
    entities: int
    mentions: int
    edges: int
    entity_bytes: int
    aliases: int
    unembedded: int
    preferences: int
    kept_home: int
    channels: tuple[ChannelStats, ...]
    segments: tuple[SegmentStats, ...]
    file_bytes: int
