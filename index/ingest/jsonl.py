"""Reads album JSONL files, one photo per line (its keys: docs/commands.md). A malformed line yields a Skip.

Time and place that a line does not give are read from the picture, if there is one.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, cast

from ..clips import is_clip
from ..errors import IngestError
from ..fields import FIELDS, Field, detailed, one_line, values
from ..records import Level, Memory, Photo, Skip
from .metadata import file_names
from .metadata.moment import Moment, Position, moment_of, taken_at
from .metadata.photo_metadata import PhotoMetadata, first_of
from .picture import header, sha256

WRITTEN_SOURCES = ("chat", "social", "ocr", "caption", "note", "people")
_MAX_MALFORMED = 10_000  # lines, and as many empty ones beyond those of photos: KB of gzip can hold millions
_MAX_LINE = 8 << 20  # bytes of one JSONL line, so that a file without line ends cannot fill the memory


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
        return _parse(folder, json.loads(line.decode("utf-8-sig")))
    except RecursionError:
        return Skip(where, "the line is nested too deeply")
    except UnicodeDecodeError:
        return Skip(where, "the line is not UTF-8")
    except json.JSONDecodeError as error:
        return Skip(where, f"the line is not JSON ({error.msg} at character {error.pos})")
    except (ValueError, OSError) as error:
        return Skip(where, str(error))


def _parse(folder: Path, line: Any) -> Photo:
    """The photo of a line. Raises ValueError with the reason if the line is malformed.

    Time and place that the line does not give are read from the picture, if there is one.
    """
    if not isinstance(line, dict):
        raise ValueError("the line is not a JSON object")
    photo_id = _string(line.get("id"), "id")
    memories = _memories(line.get("memories"))
    raw_path = line.get("path")
    path = None if raw_path is None else (folder / _string(raw_path, "path")).absolute()
    if path is None and not memories:
        raise ValueError('neither "path" nor "memories": there is nothing to find this photo by')
    metadata = _line_metadata(line)
    digest = None
    if path is not None and path.is_file():
        digest = sha256(path)
        metadata = _completed(path, metadata)
    lat, lon = metadata.position or (None, None)
    moment, zone, offset = taken_at(metadata.moment)
    sharing, sensitivity = (
        _level(line.get("sharing"), "sharing"),
        _level(line.get("sensitivity"), "sensitivity"),
    )
    photo = Photo(
        id=photo_id,
        path=None if path is None else str(path),
        taken_at=moment,
        tz_source=zone,
        lat=lat,
        lon=lon,
        memories=memories,
        sharing=sharing,
        sensitivity=sensitivity,
        sha256=digest,
        utc_offset=offset,
    )
    return detailed(photo, values(metadata))


def _line_metadata(line: dict[str, Any]) -> PhotoMetadata:
    lat, lon = line.get("lat"), line.get("lon")
    position = (
        None if lat is None and lon is None else (_degrees(lat, "lat", 90.0), _degrees(lon, "lon", 180.0))
    )
    details = {
        field.name: _detail(line[field.name], field) for field in FIELDS if line.get(field.name) is not None
    }
    return detailed(PhotoMetadata(_taken_at(line.get("taken_at"), position), position), details)


def _completed(path: Path, metadata: PhotoMetadata) -> PhotoMetadata:
    if metadata.moment is not None and metadata.position is not None:
        return metadata
    try:
        exif, embedded = header(path)
        clip = embedded if is_clip(path) else []
        return first_of([metadata, exif, *clip, PhotoMetadata(file_names.moment(path.name))])
    except IngestError:  # the build reports it when it decodes the pixels; the memories can still be used
        return metadata


def _string(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'"{name}" is not a text')
    if "\x00" in value or any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise ValueError(f'"{name}" holds characters that cannot be stored')
    return value


def _detail(value: Any, field: Field) -> str:
    text = one_line(_string(value, field.name))
    if field.choices and not field.fits(text):
        raise ValueError(f'"{field.name}" must be {field.rule}')
    return text


def _memories(value: Any) -> tuple[Memory, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError('"memories" is not a list')
    out = []
    for item in value:
        if not isinstance(item, dict) or item.get("source") not in WRITTEN_SOURCES:
            raise ValueError(f'a memory is not {{"source": one of {", ".join(WRITTEN_SOURCES)}, "text"}}')
        labels = _level(item.get("sharing"), "sharing"), _level(item.get("sensitivity"), "sensitivity")
        out.append(Memory(item["source"], _string(item.get("text"), "text"), *labels))
    return tuple(out)


def _taken_at(value: Any, position: Position | None) -> Moment | None:
    if value is None:
        return None
    try:
        moment = moment_of(datetime.fromisoformat(_string(value, "taken_at")), position)
    except ValueError:
        moment = None
    if moment is None:
        raise ValueError(f'"taken_at" is not an ISO 8601 date and time: {str(value)[:40]!r}')
    return moment


def _degrees(value: Any, name: str, limit: float) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or abs(value) > limit
        or not math.isfinite(value)
    ):
        raise ValueError(f'"{name}" is not a number of degrees within ±{limit:g} (lat and lon come together)')
    return float(value)


def _level(value: Any, name: str) -> Level | None:
    if value not in (None, "low", "high"):
        raise ValueError(f'"{name}" is neither "low" nor "high"')
    return cast("Level | None", value)
