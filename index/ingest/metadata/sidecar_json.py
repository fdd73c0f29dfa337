"""JSON beside a picture: Google Takeout's, and the exiftool-style JSON of osxphotos and exiftool itself.

Takeout: photoTakenTime (true UTC), geoData, else geoDataExif (zeros mean unknown), description, people,
favorited. Its "title" is the file's name and no memory. Exiftool-style: one object in a list, keys with or
without their group ("XMP:Title", "Title").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ... import json_checked
from ...errors import IngestError
from ...records import FAVOURITE
from . import exif
from .moment import Moment, Position, instant, moment_of
from .photo_metadata import PhotoMetadata, memories_of

MAX_BYTES = 1 << 20
_TAKEOUT = ("photoTakenTime", "geoData", "geoDataExif", "googlePhotosOrigin", "imageViews")
_MARKS = (
    "SourceFile",
    "_CreatedBy",
    "ExifToolVersion",
    "DateTimeOriginal",
    "GPSLatitude",
    "PersonInImage",
    "Keywords",
)


def parse(data: bytes) -> PhotoMetadata | None:
    """None if the JSON is of another kind. Raises IngestError with one line if the data is not JSON."""
    try:
        content = json_checked.parse(data.decode("utf-8-sig"))
    except ValueError as error:
        raise IngestError(str(error)[:120]) from None
    if isinstance(content, dict) and any(key in content for key in _TAKEOUT):
        return _takeout(content)
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        plain = {key.rsplit(":", 1)[-1]: value for key, value in content[0].items()}
        return _exiftool(plain) if any(mark in plain for mark in _MARKS) else None
    return None


def _takeout(fields: Mapping[str, Any]) -> PhotoMetadata:
    position = _place(fields.get("geoData")) or _place(fields.get("geoDataExif"))
    people = fields.get("people")
    names = (
        [person.get("name") for person in people if isinstance(person, dict)]
        if isinstance(people, list)
        else []
    )
    return PhotoMetadata(
        _instant(fields.get("photoTakenTime"), position),
        position,
        memories_of("", _text(fields.get("description")), (), _texts(names))
        + ((FAVOURITE,) if fields.get("favorited") is True else ()),
    )


def _place(geo: Any) -> Position | None:
    if not isinstance(geo, dict):
        return None
    return exif.plausible(_number(geo.get("latitude")), _number(geo.get("longitude")))


def _instant(taken: Any, position: Position | None) -> Moment | None:
    stamp = taken.get("timestamp") if isinstance(taken, dict) else None
    try:
        seconds = int(stamp)  # type: ignore[arg-type]  # raises for a value that is no number
        return instant(datetime.fromtimestamp(seconds, UTC), position) if seconds else None
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _exiftool(fields: Mapping[str, Any]) -> PhotoMetadata:
    position = exif.plausible(*(_signed(fields, name, "SW") for name in ("GPSLatitude", "GPSLongitude")))
    moment = None
    for name, zone in (("DateTimeOriginal", "OffsetTimeOriginal"), ("CreateDate", "OffsetTimeDigitized")):
        naive = exif.to_datetime(fields.get(name))
        if naive is not None and moment is None:
            moment = moment_of(naive.replace(tzinfo=exif.to_offset(fields.get(zone))), position)
    keywords = [word for name in ("Keywords", "Subject", "TagsList") for word in _texts(fields.get(name))]
    description = (
        _text(fields.get("Description"))
        or _text(fields.get("ImageDescription"))
        or _text(fields.get("Caption-Abstract"))
    )
    return PhotoMetadata(
        moment,
        position,
        memories_of(_text(fields.get("Title")), description, keywords, _texts(fields.get("PersonInImage"))),
    )


def _signed(fields: Mapping[str, Any], name: str, negative: str) -> float | None:
    """A signed coordinate. Exiftool writes either a positive number and a reference (N/S, E/W), or a signed
    number.
    """
    value, ref = _number(fields.get(name)), _text(fields.get(name + "Ref"))[:1].upper()
    return -value if value is not None and value > 0 and ref and ref in negative else value


def _number(value: Any) -> float | None:
    number: float | None = json_checked.read_or_none(float, value)
    return number


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> Iterable[str]:
    return (
        [value]
        if isinstance(value, str)
        else [item for item in value if isinstance(item, str)]
        if isinstance(value, list)
        else []
    )
