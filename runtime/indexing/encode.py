"""Encodes photos: image and text vectors, labels, place names, text in the picture (OCR), and mentions.

A clip is encoded by its frames: each has a vector in the channel "image", so that the best one says where in
the clip a query is met. Trained experts and OCR look at its middle frame alone. It has no vector in the
channel of copies: two clips may show the same picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gamer.index import (
    Clip,
    Encoded,
    Extractor,
    FloatArray,
    IngestError,
    Memory,
    Mention,
    Photo,
    Size,
    Skip,
    canonical,
    clips,
    extract,
    load_pixels,
)
from gamer.index.ingest.clips import clip_frames
from gamer.index.records import COPIES, FAVOURITE
from gamer.index.things import extract as thing_rules
from gamer.index.things.extract import ThingExtractor

from ..errors import RuntimeFailure
from ..glosses.bundled import Bundled
from ..glosses.letters import NOBODY
from ..models.models import ImageCode, Models
from .ahead import Ahead
from .likeness import likeness
from .ocr import MAX_SIDE, TextReader

# A label of lower probability is a guess: it counts in the image's vector, but gives no memory and no entity.
LABEL_FLOOR = 0.10
# Sources of memories that are generated at each encoding; they get no text vectors.
DERIVED = ("label", "place")
WINDOW = 64  # pictures that may have been looked at ahead of their turn
# Chunks of one photo's memories that are encoded, 65,000 words, or half of them where each is read in its
# language; longer text is found by its words only.
MAX_CHUNKS = 1024
# Characters of a chunk that is read in its language: words made up to look like compounds take 50 ms then.
MAX_READ = 1_000
# Entities of one photo, each of which is encoded, too; further names are found by their words only.
MAX_NAMES = 1024


@dataclass(frozen=True, eq=False)
class _Picture:
    """What the pixels of a photo, or of a clip's frames, say. `labels`: with their probabilities."""

    labels: tuple[tuple[str, float], ...]
    channels: dict[str, FloatArray]
    clip: Clip | None = None


@dataclass(frozen=True, eq=False)
class _Look:
    """A photo's picture and the text in it, or why there is none of these."""

    picture: _Picture | None
    words: str = ""
    problem: Exception | None = None


@dataclass(frozen=True, eq=False)
class _PhotoPixels:
    """A photo, and what its pixels say, or None without pixels."""

    photo: Photo
    picture: _Picture | None


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
        self.glosses = Bundled(models)
        self._ahead = Ahead(self._looked, WINDOW)

    def ahead(self, photo: Photo) -> None:
        """Says that a photo will be encoded: its picture is looked at by a thread meanwhile."""
        self._ahead.add(photo)

    def close(self) -> None:
        """Gives up looking ahead; photos are encoded all the same."""
        self._ahead.close()

    def encode(self, photos: Sequence[Photo], skips: list[Skip], *, keep: bool = False) -> list[Encoded]:
        """Encodes the photos that can be read; appends to `skips` those that cannot.

        A photo whose pixels cannot be read is still encoded if it has memories or `keep` is set.
        """
        return self._told(
            [result for photo in photos if (result := self._look(photo, skips, keep)) is not None]
        )

    def retold(self, photos: Sequence[Photo]) -> list[Encoded]:
        """Encodes the memories of photos alone, as they are; the pictures are not read."""
        return self._told([_PhotoPixels(photo, None) for photo in photos])

    def _told(self, seen: Sequence[_PhotoPixels]) -> list[Encoded]:
        texts: list[str] = []
        spans: list[tuple[int, int]] = []
        for item in seen:
            every = (
                text
                for memory in item.photo.memories
                if memory.source not in DERIVED and memory != FAVOURITE
                for text in self._texts(memory)
            )
            chunks = list(islice(every, MAX_CHUNKS))
            spans.append((len(texts), len(texts) + len(chunks)))
            texts += chunks
        vectors = self.models.text.encode(texts)
        return [
            self._encoded(item, vectors[start:end]) for item, (start, end) in zip(seen, spans, strict=True)
        ]

    def _texts(self, memory: Memory) -> Iterator[str]:
        """The windows of a memory, and behind each that is in another language the same in English words.

        So an encoder of English finds it by English queries; its own words stay those of the text index.
        Names alone are in no language: Pilar is no column.
        """
        reader = None if memory.source == "people" else self.glosses.reader
        for window in self.models.text.chunks(memory.text):
            yield window
            if reader is None or len(window) > MAX_READ:
                continue
            if (reading := reader.read(window, NOBODY, None)) is not None:
                yield reading.english

    def names(self, names: Sequence[str]) -> FloatArray:
        return self.models.text.encode(names)

    def _encoded(self, item: _PhotoPixels, text: FloatArray) -> Encoded:
        channels = {} if item.picture is None else dict(item.picture.channels)
        if len(text):
            channels["text"] = text
        clip = None if item.picture is None else item.picture.clip
        return Encoded(item.photo, channels, self.mentions(item.photo), clip)

    def cut(self, photos: Sequence[Photo], skips: list[Skip]) -> list[Photo]:
        """The photos, with each long clip replaced by its parts (clip_frames.parts).

        Leaves clips out that cannot be read and have no memories, and appends to `skips` why.
        """
        out: list[Photo] = []
        for photo in photos:
            if not clips.is_clip(photo.path) or clips.part_of(photo.id) is not None:
                out.append(photo)
                continue
            try:
                parts = clip_frames.parts(Path(photo.path or ""))
            except IngestError as error:
                if photo.memories:  # `encode` says why its picture is missing
                    out.append(photo)
                else:
                    skips.append(_skip(photo, error))
                continue
            out += [photo] if len(parts) == 1 else [clips.part(photo, *part) for part in parts]
        return out

    def _look(self, photo: Photo, skips: list[Skip], keep: bool) -> _PhotoPixels | None:
        look = _Look(None) if photo.path is None else self._ahead.result(photo)
        if look.problem is not None:
            skips.append(_skip(photo, look.problem))
            if look.picture is None and not photo.memories and not keep:
                return None
        return _PhotoPixels(self._completed(photo, look.picture, look.words), look.picture)

    def _looked(self, photo: Photo) -> _Look:
        """Decodes a picture for the encoder and the likeness, and again, larger, where text is read in it.

        Called by threads.
        """
        path, picture = Path(photo.path or ""), None
        try:
            if not path.is_file():  # reading a pipe or a terminal would block
                raise IngestError(f"{path}: no such file")
            if clips.is_clip(photo.path):
                picture, pixels = self._watched(photo, path)
                large = partial(np.asarray, pixels)
            else:
                pixels = load_pixels(path, least=self._least)
                large = partial(load_pixels, path, least=replace(self._least, longer=MAX_SIDE))
                code = self.models.encode_image(pixels)
                channels = {"image": code.embedding[None]} | self._projected(code)
                picture = _Picture(code.labels, channels | {COPIES: likeness(pixels)[None]})
            words = "" if self._reader is None else self._reader.read(path, pixels, picture.labels, large)
            return _Look(picture, words)
        except (IngestError, RuntimeFailure) as error:
            return _Look(picture, "", error)

    @cached_property
    def _least(self) -> Size:
        return Size(self.models.manifest.pixels().least)

    def _watched(self, photo: Photo, path: Path) -> tuple[_Picture, NDArray[np.uint8]]:
        """What the frames of a clip say, and the pixels in which text is read."""
        part = clips.part_of(photo.id)
        found = clip_frames.frames(path, part)
        start, end = part or (0, found.length)
        if start >= found.length:
            raise IngestError(
                f"{path}: its part {clips.fragment(photo.id)} is no longer in it: index it again"
            )
        codes = [self.models.encode_image(pixels) for pixels in found.pixels]
        middle = len(codes) // 2
        channels = {"image": np.stack([code.embedding for code in codes])} | self._projected(codes[middle])
        clip = Clip(start, min(end, found.length), found.length, found.times)
        pixels = found.pixels[middle] if self._reader is None else clip_frames.poster(path, part)
        return _Picture(_mean(codes), channels, clip), pixels

    def _projected(self, code: ImageCode) -> dict[str, FloatArray]:
        """v_I by channel, float32 [1, H], where the bundle's experts are trained."""
        names = [channel.name for channel in self.models.manifest.channels]
        return {name: self.models.photo_vector(code.patches)[None] for name in names}

    def _completed(self, photo: Photo, picture: _Picture | None, words: str) -> Photo:
        """Adds memories derived on the device: OCR text and labels from pixels, place from the position.

        Their sources are "ocr", "label" and "place".
        """
        old = tuple(
            m for m in photo.memories if m.source not in DERIVED or (m.source == "label" and picture is None)
        )
        # What was read before, by whatever program, is not said twice.
        added = [Memory("ocr", words)] if words and all(m.source != "ocr" for m in old) else []
        if picture is not None and (names := [name for name, p in picture.labels if p >= LABEL_FLOOR]):
            added.append(Memory("label", ", ".join(names)))
        if photo.lat is not None and photo.lon is not None:
            place = self.models.gazetteer.nearest(photo.lat, photo.lon)
            if place is not None:
                added.append(Memory("place", f"{place.name}, {place.country_code}"))
        return replace(photo, memories=old + tuple(added))

    def mentions(self, photo: Photo) -> tuple[Mention, ...]:
        """The first MAX_NAMES entities that the photo's memories name, each once."""
        by_name: dict[str, Mention] = {}
        for memory in photo.memories:
            for mention in self._of(memory):
                by_name.setdefault(canonical(mention.name), mention)
            if len(by_name) >= MAX_NAMES:
                break
        return tuple(by_name.values())[:MAX_NAMES]

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


def _mean(codes: Sequence[ImageCode]) -> tuple[tuple[str, float], ...]:
    """The labels of several frames by the mean of their probabilities, the likeliest first."""
    sums: dict[str, float] = {}
    for code in codes:
        for name, probability in code.labels:
            sums[name] = sums.get(name, 0.0) + probability
    means = [(name, total / len(codes)) for name, total in sums.items()]
    return tuple(sorted(means, key=lambda pair: -pair[1]))


def _skip(photo: Photo, error: Exception) -> Skip:
    where = photo.path or photo.id
    return Skip(where, str(error).removeprefix(f"{where}: "))
