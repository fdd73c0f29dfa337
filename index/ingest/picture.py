"""Reads one picture or clip as a Photo: header, captions, sidecars and hash, but no pixels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from ..clips import is_clip
from ..errors import IngestError
from ..fields import detailed, values
from ..fields import read as read_fields
from ..records import Memory, Photo, Skip
from ..text import shown
from .clips import clip_header
from .metadata import embedded, exif, file_names, sidecar_json, xmp
from .metadata.moment import Moment, by_clock, instant, moment_of, taken_at
from .metadata.photo_metadata import PhotoMetadata, first_of
from .metadata.sidecars import Sidecars
from .pixels import opened, tags_of


def read(path: Path, photo_id: str, sidecars: Sidecars) -> Iterator[Photo | Skip]:
    """Yields a Skip for each sidecar that cannot be read, then the photo.

    Raises IngestError or OSError if the picture cannot be read.
    """
    exif_metadata, embedded_metadata = header(path)
    sidecar_metadata: list[PhotoMetadata] = []
    for sidecar in (sidecars.xmp_of(path.name), sidecars.json_of(path.name)):
        if sidecar is not None:
            try:
                sidecar_metadata += _sidecar(sidecar)
            except (IngestError, OSError) as error:
                yield Skip(shown(sidecar), f"this sidecar is not used: {error}")
    named = PhotoMetadata(file_names.moment(path.name))
    together = first_of([*sidecar_metadata, exif_metadata, *embedded_metadata, named])
    # A clip's header has UTC alone, and its name often the wall time.
    moment = _zoned(together, named.moment if is_clip(path) else exif_metadata.moment)
    lat, lon = together.position or (None, None)
    taken, zone, offset = taken_at(moment)
    photo = Photo(
        id=photo_id,
        path=str(path.absolute()),
        taken_at=taken,
        tz_source=zone,
        lat=lat,
        lon=lon,
        memories=together.memories,
        sha256=sha256(path),
        utc_offset=offset,
    )
    yield detailed(photo, values(together))


def header(path: Path) -> tuple[PhotoMetadata, list[PhotoMetadata]]:
    """Moment, position and fields, and the file's other embedded metadata, which is all that a clip has.

    Raises IngestError.
    """
    if is_clip(path):
        return PhotoMetadata(), [clip_header.read(path).metadata]
    with opened(path) as image:
        try:
            tags = tags_of(path, image)
            exif_metadata = PhotoMetadata(exif.taken_at(tags), exif.position(tags))
        except Exception:  # after a malformed EXIF block the photo is read without its fields
            tags, exif_metadata = {}, PhotoMetadata()
        details = read_fields(exif.header(image, tags, path))
        return detailed(exif_metadata, details), embedded.read(image, tags)


def rendered(path: Path) -> Literal["screenshot", "no camera", ""]:
    """ "screenshot" if the picture's name, folder or EXIF comment says so; "no camera" if its EXIF names no
    camera; else "". Never raises.
    """
    try:
        with opened(path) as image:
            tags = tags_of(path, image)
            if "medium" in read_fields(exif.header(image, tags, path)):
                return "screenshot"
            return "" if exif.by_camera(tags) else "no camera"
    except Exception:  # the error is reported when the pixels are read
        return ""


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sidecar(path: Path) -> Iterable[PhotoMetadata]:
    parse: Callable[[bytes], PhotoMetadata | None]
    parse, limit = (
        (xmp.parse, xmp.MAX_BYTES)
        if path.suffix.lower() == ".xmp"
        else (sidecar_json.parse, sidecar_json.MAX_BYTES)
    )
    if not path.is_file():  # a pipe or a device might never end
        raise IngestError("not a regular file")
    if path.stat().st_size > limit:
        raise IngestError(f"larger than {limit >> 20} MB")
    metadata = parse(path.read_bytes())
    return [] if metadata is None else [metadata]


def _zoned(metadata: PhotoMetadata, header: Moment | None) -> Moment | None:
    """Completes a moment without an offset from the other sources.

    The position gives the time zone; without one, a true UTC time gets its offset from the wall time in the
    picture's header.
    """
    moment = metadata.moment
    if moment is None or moment.offset is not None or moment.tz == "name":
        return moment
    if metadata.position is None:
        return moment if moment.tz == "local" or header is None else by_clock(moment, header.wall)
    utc = datetime.fromtimestamp(moment.ms / 1000, UTC)
    completed = (
        moment_of(utc.replace(tzinfo=None), metadata.position)
        if moment.tz == "local"
        else instant(utc, metadata.position)
    )
    return completed or moment


def with_memories(photo: Photo, memories: tuple[Memory, ...]) -> Photo:
    return replace(photo, memories=tuple(dict.fromkeys(photo.memories + memories))) if memories else photo
