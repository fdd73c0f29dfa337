"""Photos → what the models say of them: image and text vectors, labels, place, words in the picture,
mentions.
"""

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

from ..errors import RuntimeFailure
from ..models.models import ImageCode, Models
from .ocr import TextReader

LABEL_FLOOR = 0.10  # below this probability a label is a guess; it stays in the vector and makes no entity
DERIVED = (
    "label",
    "place",
)  # memories that the device writes itself, anew at each encoding; they are no text to search by meaning
MAX_CHUNKS = 1024  # of one photo's memories: 65,000 words; those of a longer one are found by word only


@dataclass(frozen=True, eq=False)
class _Seen:
    photo: Photo
    code: ImageCode | None


class Encoder:
    """`encode` is all. `reader`: OCR, or None. `extractor`: memory text → mentions."""

    def __init__(
        self, models: Models, reader: TextReader | None = None, extractor: Extractor = extract
    ) -> None:
        self.models, self._reader, self._extract = models, reader, extractor

    def encode(self, photos: Sequence[Photo], skips: list[Skip], *, keep: bool = False) -> list[Encoded]:
        """A photo whose pixels cannot be read is kept if it has memories or `keep` is set, else skipped;
        either way `skips` says so.
        """
        seen = [found for photo in photos if (found := self._look(photo, skips, keep)) is not None]
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        for item in seen:
            chunks = [
                c
                for memory in item.photo.memories
                if memory.source not in DERIVED
                for c in self.models.text.chunks(memory.text)
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
        channels = {} if item.code is None else {"image": item.code.embedding[None]}
        if len(text):
            channels["text"] = text
        return Encoded(item.photo, channels, self.mentions(item.photo))

    def _look(self, photo: Photo, skips: list[Skip], keep: bool) -> _Seen | None:
        code, words = None, ""
        if photo.path is not None:
            try:
                if not Path(photo.path).is_file():  # a pipe or a terminal would block, a folder is no photo
                    raise IngestError(f"{photo.path}: no such file")
                pixels = load_pixels(Path(photo.path))
                code = self.models.encode_image(pixels)
                words = (
                    "" if self._reader is None else self._reader.read(Path(photo.path), pixels, code.labels)
                )
            except (IngestError, RuntimeFailure) as error:
                skips.append(Skip(photo.path, str(error).removeprefix(f"{photo.path}: ")))
                if code is None and not photo.memories and not keep:
                    return None
        return _Seen(self._completed(photo, code, words), code)

    def _completed(self, photo: Photo, code: ImageCode | None, words: str) -> Photo:
        """Adds what the device itself knows: words and labels from the pixels, the place from the position.
        Each is marked as such.
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
        """The entities that its memories name, once each."""
        found: dict[str, Mention] = {}
        for memory in photo.memories:
            for mention in self._of(memory):
                found.setdefault(canonical(mention.name), mention)
        return tuple(found.values())

    def _of(self, memory: Memory) -> tuple[Mention, ...]:
        if memory.source == "label":
            return tuple(Mention(name, "thing") for name in memory.text.split(", "))
        if memory.source == "people":
            return tuple(Mention(name, "person") for name in memory.text.split(", "))
        if memory.source == "place":
            return (Mention(memory.text.rsplit(", ", 1)[0], "place"),)
        return self._extract(memory.text)
