"""Photos → album: scan, look, read, write in batches. Knows models and the index's writer; decides no format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from gamer.index import AlbumMeta, AlbumWriter, Encoded, IngestError, Memory, Mention, Photo, Skip, canonical, extract, load_pixels, scan

from .errors import RuntimeFailure
from .models import ImageCode, Models

BATCH = 64
LABEL_FLOOR = 0.10  # below this probability a label is a guess; it stays in the vector and makes no entity


@dataclass(frozen=True)
class Built:
    """What a build did. `skips`: inputs that were not taken, with the reason."""

    path: Path
    photos: int
    seen: int
    skips: tuple[Skip, ...]


def build(source: Path, models: Models, out: Path, progress: Callable[[int, str], None] | None = None) -> Built:
    """Builds the album file `out` from a folder of photos or an album JSONL. Written aside, renamed when whole.

    Raises RuntimeFailure when nothing could be taken; AlbumError and IngestError from the index.
    """
    manifest = models.manifest
    skips: list[Skip] = []
    seen = count = 0
    meta = AlbumMeta(manifest.text_encoder, manifest.image_encoder, manifest.dim, manifest.thresholds.delta)
    with AlbumWriter.create(out, meta) as writer:
        photos = _taken(scan(source), skips)
        while batch := list(islice(photos, BATCH)):
            encoded = encode(batch, models, skips)
            for item in encoded:
                seen += "image" in item.vectors
            writer.add(encoded)
            count += len(encoded)
            if progress:
                progress(count, batch[-1].id)
        if not count:
            first = f"; first: {skips[0].where}: {skips[0].reason}" if skips else ""
            raise RuntimeFailure(f"{source}: no photo could be taken ({len(skips)} skipped{first})")
        writer.finish(models.text.encode)
    return Built(out, count, seen, tuple(skips))


def _taken(found: Iterator[Photo | Skip], skips: list[Skip]) -> Iterator[Photo]:
    for item in found:
        if isinstance(item, Skip):
            skips.append(item)
        else:
            yield item


def encode(photos: list[Photo], models: Models, skips: list[Skip]) -> list[Encoded]:
    """Looks at each photo and reads its memories. A photo whose pixels cannot be read is kept if it has memories, else skipped."""
    out: list[tuple[Photo, ImageCode | None]] = []
    for photo in photos:
        code = None
        if photo.path is not None:
            try:
                if not Path(photo.path).is_file():  # a pipe or a terminal would block, a folder is no photo
                    raise IngestError(f"{photo.path}: no such file")
                code = models.see(load_pixels(Path(photo.path)))
            except IngestError as error:
                skips.append(Skip(photo.path, str(error).removeprefix(f"{photo.path}: ")))
                if not photo.memories:
                    continue
        out.append((_completed(photo, code, models), code))
    texts: list[str] = []
    spans: list[tuple[int, int]] = []
    for photo, _ in out:
        chunks = [c for memory in photo.memories if memory.source not in ("label", "place") for c in models.text.chunks(memory.text)]
        spans.append((len(texts), len(texts) + len(chunks)))
        texts += chunks
    vectors = models.text.encode(texts)
    encoded = []
    for (photo, code), (start, end) in zip(out, spans, strict=True):
        channels = {} if code is None else {"image": code.embedding[None]}
        if end > start:
            channels["text"] = vectors[start:end]
        encoded.append(Encoded(photo, channels, _mentions(photo)))
    return encoded


def _completed(photo: Photo, code: ImageCode | None, models: Models) -> Photo:
    """Adds what the device itself knows: labels from the pixels, the place from the position. Both are marked as such."""
    added: list[Memory] = []
    if code is not None:
        names = [name for name, p in code.labels if p >= LABEL_FLOOR]
        if names:
            added.append(Memory("label", ", ".join(names)))
    if photo.lat is not None and photo.lon is not None:
        place = models.gazetteer.nearest(photo.lat, photo.lon)
        if place is not None:
            added.append(Memory("place", f"{place.name}, {place.country_code}"))
    return replace(photo, memories=photo.memories + tuple(added)) if added else photo


def _mentions(photo: Photo) -> tuple[Mention, ...]:
    found: dict[str, Mention] = {}
    for memory in photo.memories:
        if memory.source == "label":
            mentions: tuple[Mention, ...] = tuple(Mention(name, "thing") for name in memory.text.split(", "))
        elif memory.source == "place":
            mentions = (Mention(memory.text.rsplit(", ", 1)[0], "place"),)
        else:
            mentions = extract(memory.text)
        for mention in mentions:
            found.setdefault(canonical(mention.name), mention)
    return tuple(found.values())
