"""Makes albums of any size, with known answers, out of photos from other albums, without encoding them again.

AlbumWriter writes them. Entity names keep the vectors that they have in the source albums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumWriter, Encoded, FloatArray
from gamer.runtime.indexing.encode import Encoder
from gamer.runtime.models.models import Models

from .album_rows import entities


def read_encoded(album: Path, models: Models) -> tuple[list[Encoded], dict[str, FloatArray]]:
    """Every photo of an album as `AlbumWriter.add` takes it, and the vectors of the album's entities by name.

    Mentions are extracted again from the memories.
    """
    with Album.open(album) as opened:
        photos = opened.photos(range(len(opened)))
        stored = {channel: opened.vectors(channel) for channel in opened.channels()}
    by_channel: dict[str, dict[int, FloatArray]] = {}
    for channel, (owners, vectors) in stored.items():
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        by_channel[channel] = dict(zip(owners[starts].tolist(), np.split(vectors, starts[1:]), strict=True))
    named, encoder = entities(album), Encoder(models)
    encoded = [
        Encoded(
            photo,
            {c: by_row[row] for c, by_row in by_channel.items() if row in by_row},
            encoder.mentions(photo),
        )
        for row, photo in enumerate(photos)
    ]
    return encoded, dict(zip(named.names, named.vectors, strict=True))


def write(
    out: Path, photos: Iterable[Encoded], names: dict[str, FloatArray], models: Models, like: Path
) -> int:
    """Writes the photos as an album with the encoders and δ of the album `like`; returns their number.

    `names`: vectors of entity names; a name without one is encoded.
    """
    with Album.open(like) as opened:
        meta = opened.meta
    taken = list(photos)

    def embed(wanted: Sequence[str]) -> FloatArray:
        if not wanted:
            return np.zeros((0, meta.dim), np.float32)
        return np.stack([names[name] if name in names else models.text.encode([name])[0] for name in wanted])

    with AlbumWriter.create(out, meta) as writer:
        writer.add(taken)
        writer.finish(embed)
    return len(taken)
