"""Parses XMP metadata, as written by Adobe, Apple Photos, osxphotos, Immich, digiKam and darktable.

Read: date (exif:DateTimeOriginal, photoshop:DateCreated, xmp:CreateDate), GPS, dc:title, dc:description,
dc:subject and digiKam's tags, people (Iptc4xmpExt:PersonInImage). Both forms of RDF are read: attributes and
elements. defusedxml parses it: entities and DTDs are rejected, and nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ...errors import IngestError
from . import exif
from .moment import Moment, Position, moment_of
from .photo_metadata import PhotoMetadata, memories_of

MAX_BYTES = 16 << 20  # Lightroom keeps brush masks in its sidecars
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DC = "{http://purl.org/dc/elements/1.1/}"
_EXIF = "{http://ns.adobe.com/exif/1.0/}"
TAKEN = (f"{_EXIF}DateTimeOriginal", "{http://ns.adobe.com/photoshop/1.0/}DateCreated")
_DATES = (*TAKEN, "{http://ns.adobe.com/xap/1.0/}CreateDate")
_PEOPLE = "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}PersonInImage"
_TAGS = "{http://www.digikam.org/ns/1.0/}TagsList"
_COORDINATE = re.compile(
    r"\s*([+-]?\d{1,3}(?:\.\d+)?)(?:,(\d{1,2}(?:\.\d+)?))?(?:,(\d{1,2}(?:\.\d+)?))?\s*([NSEW])?\s*", re.ASCII
)


def parse(data: bytes, dates: tuple[str, ...] = _DATES) -> PhotoMetadata:
    """`dates`: the date fields to try, the most reliable first.

    Raises IngestError with one line for data that is not XMP; a malformed field is ignored.
    """
    from defusedxml.ElementTree import fromstring

    try:
        root = fromstring(data.rstrip(b"\x00 \r\n"), forbid_dtd=True)
    except Exception as error:  # ParseError, DefusedXmlException, LookupError of a strange encoding, ...
        raise IngestError(
            f"not readable as XMP ({' '.join(str(error).split())[:120] or type(error).__name__})"
        ) from None
    position = exif.plausible(
        *(_coordinate(_first(root, f"{_EXIF}GPS{name}")) for name in ("Latitude", "Longitude"))
    )
    keywords = [*_values(root, f"{_DC}subject"), *(tag.rsplit("/", 1)[-1] for tag in _values(root, _TAGS))]
    memories = memories_of(
        _first(root, f"{_DC}title"), _first(root, f"{_DC}description"), keywords, _values(root, _PEOPLE)
    )
    return PhotoMetadata(_moment(root, position, dates), position, memories)


def _values(root: Any, name: str) -> Iterator[str]:
    """The values of a property in every rdf:Description: as attribute, element text, or items of a list."""
    for description in root.iter(f"{_RDF}Description"):
        if name in description.attrib:
            yield description.attrib[name]
        for child in description.findall(name):
            items = [
                item.text or "" for item in child.findall(f"*/{_RDF}li")
            ]  # no deeper: nested lists would take time quadratic in their size
            yield from items or [child.text or ""]


def _first(root: Any, name: str) -> str:
    return next((value.strip() for value in _values(root, name) if value.strip()), "")


def _moment(root: Any, position: Position | None, dates: tuple[str, ...]) -> Moment | None:
    for name in dates:
        value = _first(root, name)
        try:
            taken = datetime.fromisoformat(value) if len(value) >= 10 else None
        except ValueError:
            taken = exif.to_datetime(value)
        moment = None if taken is None else moment_of(taken, position)
        if moment is not None:
            return moment
    return None


def _coordinate(value: str) -> float | None:
    """ "39,3.08W", "39,3,4.8W" or "-39.0513"."""
    match = _COORDINATE.fullmatch(value)
    if match is None:
        return None
    degrees = float(match[1]) + float(match[2] or 0) / 60.0 + float(match[3] or 0) / 3600.0
    return -degrees if match[4] in ("S", "W") else degrees
