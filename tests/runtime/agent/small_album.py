"""A small album of plain memories and times for the tests of agents, over real models or made-up ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, Event, Memory, Photo, event_id, image_id
from gamer.runtime.indexing.encode import Encoder
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine


def photo(name: str, taken: str | None, *memories: str | tuple[str, str], **more: Any) -> Photo:
    """A photo with wall time `taken`. `memories`: notes, or (source, text)."""
    listed = tuple(Memory(*m) if isinstance(m, tuple) else Memory("note", m) for m in memories)
    if taken is None:
        return Photo(name, memories=listed, **more)
    when = datetime.fromisoformat(taken)
    offset = when.utcoffset()
    ms = (when.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(milliseconds=1)
    if offset is None:
        return Photo(name, taken_at=ms, memories=listed, **more)
    minutes = offset // timedelta(minutes=1)
    return Photo(
        name, taken_at=ms - 60_000 * minutes, tz_source="offset", utc_offset=minutes, memories=listed, **more
    )


def engine_over(
    models: Models, folder: Path, photos: Sequence[Photo], events: Sequence[Event] = ()
) -> Engine:
    """The memories are stored as given, labels and places too, which an import would make itself."""
    encoder, manifest, path = Encoder(models), models.manifest, folder / "a.gamer"
    encoded = encoder.encode(photos, [])
    meta = AlbumMeta(manifest.text_encoder, manifest.image_encoder, manifest.dim, manifest.thresholds.delta)
    with AlbumWriter.create(path, meta) as writer:
        writer.add([_as_given(one, whole) for one, whole in zip(encoded, photos, strict=True)])
        if events:
            writer.set_events(events)
        writer.finish(encoder.names)
    return Engine(models, Album.open(path))


def _as_given(encoded: Encoded, whole: Photo) -> Encoded:
    return replace(encoded, photo=replace(encoded.photo, memories=whole.memories))


def event(name: str, *photos: str) -> Event:
    return Event(event_id(photos[0]), name, "", photos)


def names(engine: Engine, rows: Sequence[int]) -> list[str]:
    return [p.id for p in engine.album.photos(rows)]


def short(name: str) -> str:
    return image_id(name)
