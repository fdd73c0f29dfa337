"""Reads a picture's embedded metadata other than EXIF time and place: XMP, IPTC-IIM, EXIF description.

Lightroom, Photos, Photo Mechanic, digiKam and exiftool write captions there. IPTC: datasets 2:05 (title),
2:25 (keywords), 2:120 (caption), 1:90 (character set). A malformed block is
ignored; the photo is kept.
"""

from __future__ import annotations

from typing import Any

from ..errors import IngestError
from . import xmp
from .photo_metadata import PhotoMetadata, memories_of

_PACKETS = ("xmp", "XML:com.adobe.xmp")  # PNG's text chunk comes under its own name
_CHARACTER_SET, _TITLE, _KEYWORDS, _CAPTION = (1, 90), (2, 5), (2, 25), (2, 120)
_UTF8 = b"\x1b%G"
_DESCRIPTION = 0x010E
_MAX_TEXT = 64 << 10


def read(image: Any, tags: Any) -> list[PhotoMetadata]:
    """`image`: opened by Pillow. `tags`: its EXIF. Never raises."""
    description = tags.get(_DESCRIPTION)
    exif = PhotoMetadata(
        memories=memories_of("", description if isinstance(description, str) else "", (), ())
    )
    return [_packet(image), _iptc(image), exif]


def _packet(image: Any) -> PhotoMetadata:
    found = next((image.info[key] for key in _PACKETS if key in image.info), None)
    data = found.encode("utf-8", "replace") if isinstance(found, str) else found
    if not isinstance(data, bytes) or len(data) > xmp.MAX_BYTES:
        return PhotoMetadata()
    try:
        return xmp.parse(
            data, xmp.TAKEN
        )  # in a picture, xmp:CreateDate is the day when a program made the file
    except IngestError:
        return PhotoMetadata()


def _iptc(image: Any) -> PhotoMetadata:
    from PIL import IptcImagePlugin

    try:
        found = IptcImagePlugin.getiptcinfo(image) or {}
        utf8 = found.get(_CHARACTER_SET) == _UTF8
        title, caption = (_text(found.get(key), utf8) for key in (_TITLE, _CAPTION))
        keywords = found.get(_KEYWORDS) or []
        words = [_text(word, utf8) for word in (keywords if isinstance(keywords, list) else [keywords])]
    except Exception:  # Pillow's parser meets arbitrary bytes and raises arbitrary errors
        return PhotoMetadata()
    return PhotoMetadata(memories=memories_of(title, caption, words, ()))


def _text(value: Any, utf8: bool) -> str:
    """Without a character set, UTF-8 where it fits, else Latin-1, which always does."""
    if not isinstance(value, bytes):
        return ""
    try:
        return value[:_MAX_TEXT].decode("utf-8", "replace" if utf8 else "strict")
    except UnicodeDecodeError:
        return value[:_MAX_TEXT].decode("latin-1")
