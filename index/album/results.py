"""The data classes that an album returns. Rows are dense photo numbers 0..n-1 within one album."""

from __future__ import annotations

from dataclasses import dataclass

from ..records import FloatArray, RowArray


@dataclass(frozen=True)
class AlbumMeta:
    """The encoders that an album was built with.

    `delta`: the entity similarity threshold calibrated for `text_encoder`. `dim`: entity vectors' length.
    """

    text_encoder: str
    image_encoder: str
    dim: int
    delta: float


@dataclass(frozen=True, eq=False)
class TextResult:
    """`rows`: photos, best first; `scores`: the sum over the query's words of the BM25 of the photo's best
    memory for that word, positive, higher is better.
    """

    rows: RowArray
    scores: FloatArray


@dataclass(frozen=True)
class NamedEntity:
    """An entity. `aliases`: names merged into it; `photos`: how many photos mention any of these names."""

    name: str
    kind: str
    photos: int
    aliases: tuple[str, ...]


@dataclass(frozen=True)
class ChannelStats:
    name: str
    dim: int
    vectors: int
    bytes: int


@dataclass(frozen=True)
class SegmentStats:
    """`behind`: number of photos added or changed since it was built, which a search scans in addition."""

    name: str
    bytes: int
    behind: int


@dataclass(frozen=True)
class AlbumStats:
    """Counts and bytes, by layer.

    `*_bytes` are payload; `file_bytes` is the size of the file, including SQLite's own data. `entities`
    counts merged entities once, `aliases` the names merged into them, `unembedded` those still without a
    vector. `kept_home`: photos that may not leave the device in an export or a prompt.
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
    events: int
    kept_home: int
    channels: tuple[ChannelStats, ...]
    segments: tuple[SegmentStats, ...]
    file_bytes: int
