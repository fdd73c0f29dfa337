"""Encodes photos: image and text vectors, labels, place names, text in the picture (OCR), and mentions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gamer.index import (
    Encoded,
    Extractor,
    FloatArray,
    IngestError,
    Memory,
    Mention,
    Photo,
    Skip,
    canonical,
    extract,
    load_pixels,
)
from gamer.index.records import COPIES, FAVOURITE
from gamer.index.things import extract as thing_rules
from gamer.index.things.extract import ThingExtractor

from ..errors import RuntimeFailure
from ..models.models import ImageCode, Models
from .likeness import likeness
from .ocr import TextReader

# A label of lower probability is a guess: it counts in the image's vector, but gives no memory and no entity.
LABEL_FLOOR = 0.10
# Sources of memories that are generated at each encoding; they get no text vectors.
DERIVED = ("label", "place")
# Chunks of one photo's memories that are encoded, 65,000 words; longer text is found by its words only.
MAX_CHUNKS = 1024


@dataclass(frozen=True, eq=False)
class _Seen:
    """A photo, its image code, and its vectors in the channels from pixels; none without pixels."""

    photo: Photo
    code: ImageCode | None
    channels: dict[str, FloatArray]


class Encoder:
    """Encodes photos with a bundle's models. `reader`: OCR, or None. `extractor`: memory text → mentions.

    `things`: memory text → things of the owner, for the bank of them.
    """

    def __init__(
        self,
        models: Models,
        reader: TextReader | None = None,
        extractor: Extractor = extract,
        things: ThingExtractor = thing_rules.extract,
    ) -> None:
        self.models, self._reader, self._extract, self.things = models, reader, extractor, things

    def encode(self, photos: Sequence[Photo], skips: list[Skip], *, keep: bool = False) -> list[Encoded]:
        """Encodes the photos that can be read; appends to `skips` those that cannot.

        A photo whose pixels cannot be read is still encoded if it has memories or `keep` is set.
        """
        seen = [result for photo in photos if (result := self._look(photo, skips, keep)) is not None]
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        for item in seen:
            chunks = [
                chunk
                for memory in item.photo.memories
                if memory.source not in DERIVED and memory != FAVOURITE
                for chunk in self.models.text.chunks(memory.text)
            ]
            chunks = chunks[:MAX_CHUNKS]
            spans.append((len(texts), len(texts) + len(chunks)))
            texts += chunks
        vectors = self.models.text.encode(texts)
        return [
            self._encoded(item, vectors[start:end]) for item, (start, end) in zip(seen, spans, strict=True)
        ]

    def names(self, names: Sequence[str]) -> FloatArray:
        return self.models.text.encode(names)

    def _encoded(self, item: _Seen, text: FloatArray) -> Encoded:
        channels = {} if item.code is None else {"image": item.code.embedding[None]} | item.channels
        if len(text):
            channels["text"] = text
        return Encoded(item.photo, channels, self.mentions(item.photo))

    def _look(self, photo: Photo, skips: list[Skip], keep: bool) -> _Seen | None:
        code, words, channels = None, "", dict[str, FloatArray]()
        if photo.path is not None:
            try:
                if not Path(photo.path).is_file():  # reading a pipe or a terminal would block
                    raise IngestError(f"{photo.path}: no such file")
                pixels = load_pixels(Path(photo.path))
                code = self.models.encode_image(pixels)
                channels = self._projected(code) | {COPIES: likeness(pixels)[None]}
                words = (
                    "" if self._reader is None else self._reader.read(Path(photo.path), pixels, code.labels)
                )
            except (IngestError, RuntimeFailure) as error:
                skips.append(Skip(photo.path, str(error).removeprefix(f"{photo.path}: ")))
                if code is None and not photo.memories and not keep:
                    return None
        return _Seen(self._completed(photo, code, words), code, channels)

    def _projected(self, code: ImageCode) -> dict[str, FloatArray]:
        """v_I by channel, float32 [1, H], where the bundle's experts are trained."""
        names = [channel.name for channel in self.models.manifest.channels]
        return {name: self.models.photo_vector(code.patches)[None] for name in names}

    def _completed(self, photo: Photo, code: ImageCode | None, words: str) -> Photo:
        """Adds memories derived on the device: OCR text and labels from pixels, place from the position.

        Their sources are "ocr", "label" and "place".
        """
        old = tuple(
            m for m in photo.memories if m.source not in DERIVED or (m.source == "label" and code is None)
        )
        added = [Memory("ocr", words)] if words and all(m.text != words for m in old) else []
        if code is not None and (names := [name for name, p in code.labels if p >= LABEL_FLOOR]):
            added.append(Memory("label", ", ".join(names)))
        if photo.lat is not None and photo.lon is not None:
            place = self.models.gazetteer.nearest(photo.lat, photo.lon)
            if place is not None:
                added.append(Memory("place", f"{place.name}, {place.country_code}"))
        return replace(photo, memories=old + tuple(added))

    def mentions(self, photo: Photo) -> tuple[Mention, ...]:
        """The entities that the photo's memories name, each once."""
        by_name: dict[str, Mention] = {}
        for memory in photo.memories:
            for mention in self._of(memory):
                by_name.setdefault(canonical(mention.name), mention)
        return tuple(by_name.values())

    def _of(self, memory: Memory) -> tuple[Mention, ...]:
        if memory == FAVOURITE:
            return ()
        if memory.source == "label":
            return tuple(Mention(name, "thing") for name in memory.text.split(", "))
        if memory.source == "people":
            return tuple(Mention(name, "person") for name in memory.text.split(", "))
        if memory.source == "place":
            return (Mention(memory.text.rsplit(", ", 1)[0], "place"),)
        return self._extract(memory.text)
