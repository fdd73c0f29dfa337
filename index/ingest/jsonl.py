"""Reads album JSONL files, one photo per line (its keys: docs/commands.md). A malformed line yields a Skip.

Time and place that a line does not give are read from the picture, if there is one.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Annotated, Literal, cast, get_args

from ..clips import is_clip
from ..errors import IngestError
from ..fields import FIELDS, Details, Field, detailed, one_line, values
from ..json_checked import STORABLE, Between, Text, parse, read_as
from ..records import Level, Memory, Photo, Skip
from .metadata import file_names
from .metadata.moment import Moment, Position, moment_of, taken_at
from .metadata.photo_metadata import PhotoMetadata, first_of
from .picture import header, sha256

WrittenSource = Literal["chat", "social", "ocr", "caption", "note", "people"]
WRITTEN_SOURCES: tuple[str, ...] = get_args(WrittenSource)
WORDS = rf"(?=.*\S){STORABLE}"
_Words = Annotated[str, Text(pattern=WORDS, form="with text in it that can be stored")]
_MAX_MALFORMED = 10_000  # lines, and as many empty ones beyond those of photos: KB of gzip can hold millions
_MAX_LINE = 8 << 20  # bytes of one JSONL line, so that a file without line ends cannot fill the memory


@dataclass(frozen=True)
class _Memory:
    source: WrittenSource
    text: _Words
    sharing: Level | None = None
    sensitivity: Level | None = None


@dataclass(frozen=True, kw_only=True)
class _Line(Details):
    id: _Words
    path: _Words | None = None
    memories: tuple[_Memory, ...] | None = None
    lat: Annotated[float, Between(-90, 90)] | None = None
    lon: Annotated[float, Between(-180, 180)] | None = None
    taken_at: _Words | None = None
    sharing: Level | None = None
    sensitivity: Level | None = None


def count(source: Path) -> int:
    try:
        with _lines(source) as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
    except (OSError, EOFError, zlib.error):
        return 0  # `scan` reports the error


def scan(source: Path) -> Iterator[Photo | Skip]:
    seen: set[str] = set()
    number = malformed = blank = 0
    try:
        with _lines(source) as file:
            while line := file.readline(_MAX_LINE):
                number += 1
                where = f"{source.name}:{number}"
                if not line.strip():
                    blank += 1
                    if blank >= _MAX_MALFORMED + len(seen):
                        yield Skip(where, f"{blank} lines are empty; the rest of the file is not read")
                        return
                    continue
                if len(line) >= _MAX_LINE:
                    yield Skip(
                        where,
                        f"the line is longer than {_MAX_LINE >> 20} MB; the rest of the file is not read",
                    )
                    return
                item = _scan_line(source.parent, where, line)
                if isinstance(item, Photo) and item.id in seen:
                    item = Skip(where, f"the id {item.id!r} was already given by an earlier line")
                if isinstance(item, Photo):
                    seen.add(item.id)
                yield item
                malformed += isinstance(item, Skip)
                if malformed >= _MAX_MALFORMED:
                    yield Skip(where, f"{malformed} lines are malformed; the rest of the file is not read")
                    return
    except (OSError, EOFError, zlib.error) as error:
        yield Skip(f"{source.name}:{number + 1}", f"the file cannot be read further ({error})")


def _lines(source: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(source, "rb")) if source.name.endswith(".gz") else source.open("rb")


def _scan_line(folder: Path, where: str, line: bytes) -> Photo | Skip:
    try:
        return _photo(folder, read_as(_Line, parse(line.decode("utf-8-sig")), "the line", extra=True))
    except UnicodeDecodeError:
        return Skip(where, "the line is not UTF-8")
    except (ValueError, OSError) as error:
        return Skip(where, str(error))


def _photo(folder: Path, line: _Line) -> Photo:
    """The photo of a line. Raises ValueError with the reason if the line is malformed.

    Time and place that the line does not give are read from the picture, if there is one.
    """
    path = None if line.path is None else (folder / line.path).absolute()
    if path is None and not line.memories:
        raise ValueError('neither "path" nor "memories": there is nothing to find this photo by')
    metadata = _line_metadata(line)
    digest = None
    if path is not None and path.is_file():
        digest = sha256(path)
        metadata = _completed(path, metadata)
    lat, lon = metadata.position or (None, None)
    moment, zone, offset = taken_at(metadata.moment)
    photo = Photo(
        id=line.id,
        path=None if path is None else str(path),
        taken_at=moment,
        tz_source=zone,
        lat=lat,
        lon=lon,
        memories=tuple(Memory(m.source, m.text, m.sharing, m.sensitivity) for m in line.memories or ()),
        sharing=line.sharing,
        sensitivity=line.sensitivity,
        sha256=digest,
        utc_offset=offset,
    )
    return detailed(photo, values(metadata))


def _line_metadata(line: _Line) -> PhotoMetadata:
    if (line.lat is None) != (line.lon is None):
        raise ValueError("the line: must have lat and lon, or neither")
    position = None if line.lat is None or line.lon is None else (line.lat, line.lon)
    details = {
        field.name: _detail(value, field)
        for field in FIELDS
        if (value := getattr(line, field.name)) is not None
    }
    return detailed(PhotoMetadata(_taken_at(line.taken_at, position), position), details)


def _detail(value: str, field: Field) -> str:
    at = f"the line.{field.name}"
    text = one_line(read_as(_Words, value, at))
    if field.choices and not field.fits(text):
        raise ValueError(f"{at}: must be {field.rule}")
    return text


def _completed(path: Path, metadata: PhotoMetadata) -> PhotoMetadata:
    if metadata.moment is not None and metadata.position is not None:
        return metadata
    try:
        exif, embedded = header(path)
        clip = embedded if is_clip(path) else []
        return first_of([metadata, exif, *clip, PhotoMetadata(file_names.moment(path.name))])
    except IngestError:  # the build reports it when it decodes the pixels; the memories can still be used
        return metadata


def _taken_at(text: str | None, position: Position | None) -> Moment | None:
    if text is None:
        return None
    try:
        moment = moment_of(datetime.fromisoformat(text), position)
    except ValueError:
        moment = None
    if moment is None:
        raise ValueError(f"the line.taken_at: must be an ISO 8601 date and time, not {text[:40]!r}")
    return moment
