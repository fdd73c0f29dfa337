"""Reads a picture's embedded metadata other than EXIF time and place: XMP, IPTC-IIM, EXIF description.

Lightroom, Photos, Photo Mechanic, digiKam and exiftool write captions there. IPTC: datasets 2:05 (title),
2:25 (keywords), 2:120 (caption), 1:90 (character set). A malformed block is ignored, and the photo is read
without it.
"""

from __future__ import annotations

from typing import Any

from ...errors import IngestError
from . import xmp
from .photo_metadata import PhotoMetadata, memories_of

_PACKETS = ("xmp", "XML:com.adobe.xmp")  # Pillow's keys; the second is the name of PNG's text chunk
_CHARACTER_SET, _TITLE, _KEYWORDS, _CAPTION = (1, 90), (2, 5), (2, 25), (2, 120)
_UTF8 = b"\x1b%G"
_DESCRIPTION = 0x010E
_MAX_TEXT = 64 << 10


def read(image: Any, tags: Any) -> list[PhotoMetadata]:
    """Metadata from XMP, IPTC and the EXIF description, in that order. Never raises.

    `image`: opened by Pillow. `tags`: its EXIF.
    """
    description = tags.get(_DESCRIPTION)
    exif = PhotoMetadata(
        memories=memories_of("", description if isinstance(description, str) else "", (), ())
    )
    return [_packet(image), _iptc(image), exif]


def _packet(image: Any) -> PhotoMetadata:
    packet = next((image.info[key] for key in _PACKETS if key in image.info), None)
    data = packet.encode("utf-8", "replace") if isinstance(packet, str) else packet
    if not isinstance(data, bytes) or len(data) > xmp.MAX_BYTES:
        return PhotoMetadata()
    try:
        return xmp.parse(
            data, xmp.TAKEN
        )  # in a picture, xmp:CreateDate is the date on which a program created the file
    except IngestError:
        return PhotoMetadata()


def _iptc(image: Any) -> PhotoMetadata:
    from PIL import IptcImagePlugin

    try:
        datasets = IptcImagePlugin.getiptcinfo(image) or {}
        utf8 = datasets.get(_CHARACTER_SET) == _UTF8
        title, caption = (_text(datasets.get(key), utf8) for key in (_TITLE, _CAPTION))
        keywords = datasets.get(_KEYWORDS) or []
        words = [_text(word, utf8) for word in (keywords if isinstance(keywords, list) else [keywords])]
    except Exception:  # Pillow's parser raises arbitrary errors for arbitrary bytes
        return PhotoMetadata()
    return PhotoMetadata(memories=memories_of(title, caption, words, ()))


def _text(value: Any, utf8: bool) -> str:
    """Decoded as UTF-8 if `utf8`; else as UTF-8 if it is valid, or as Latin-1, which accepts any bytes."""
    if not isinstance(value, bytes):
        return ""
    try:
        return value[:_MAX_TEXT].decode("utf-8", "replace" if utf8 else "strict")
    except UnicodeDecodeError:
        return value[:_MAX_TEXT].decode("latin-1")
