"""Makes again what an album derives from memories, with vectors of names instead of models."""

from __future__ import annotations

from collections.abc import Sequence

from gamer.index import Encoded, FloatArray, Mention, Photo, extract
from tests.index.conftest import name_vectors


class Retelling:
    def mentions(self, photo: Photo) -> tuple[Mention, ...]:
        return tuple(dict.fromkeys(mention for memory in photo.memories for mention in extract(memory.text)))

    def retold(self, photos: Sequence[Photo]) -> list[Encoded]:
        return [self.encoded(photo) for photo in photos]

    def names(self, names: Sequence[str]) -> FloatArray:
        return name_vectors(list(names))

    def encoded(self, photo: Photo) -> Encoded:
        """The photo as a build encodes it, its picture included, of which the id says all."""
        texts = [memory.text for memory in photo.memories]
        vectors = {"text": name_vectors(texts)} if texts else {}
        return Encoded(photo, vectors, self.mentions(photo))
