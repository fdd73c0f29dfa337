"""Detects truncated HEIC files, which libheif decodes without an error and with most of the picture missing.

The check compares the file's size with the lengths of its top-level boxes (ISO/IEC 14496-12) and with the
extents listed in `iloc`. It decodes nothing.
"""

from __future__ import annotations

import struct
from pathlib import Path

from ..errors import IngestError
from .clips.boxes import boxes

_MAX_META = 16 << 20  # bytes; the meta box holds tables, no pixels, so a larger one is not read


def check_complete(path: Path) -> None:
    """Raises IngestError if the file ends before the boxes or the picture's extents do."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for kind, start, end in boxes(file, 0, size):
            if end > size:
                raise _cut(path, size, end)
            if kind == b"meta" and end - start <= _MAX_META:
                file.seek(start)
                needed = _extents_end(file.read(end - start))
                if needed > size:
                    raise _cut(path, size, needed)


def _cut(path: Path, size: int, needed: int) -> IngestError:
    return IngestError(
        f"{path}: cut off after {size} of at least {needed} bytes: most of the picture is missing; copy it "
        "again"
    )


def _extents_end(meta: bytes) -> int:
    """The end of the last extent in `iloc`, as an offset in the file.

    0 if there is no `iloc` or it is malformed, which the decoder will report.
    """
    at = 4  # version and flags
    while at + 8 <= len(meta):
        length, kind = struct.unpack_from(">I4s", meta, at)
        if length < 8:
            return 0
        if kind == b"iloc":
            try:
                return _iloc_end(meta[at + 8 : at + length])
            except (struct.error, IndexError):
                return 0
        at += length
    return 0


def _iloc_end(box: bytes) -> int:
    version, sizes, more = box[0], box[4], box[5]
    offset_size, length_size, base_size, index_size = (
        sizes >> 4,
        sizes & 15,
        more >> 4,
        (more & 15) if version else 0,
    )
    wide = version >= 2
    at, last = 6, 0
    items, at = _number(box, at, 4 if wide else 2)
    for _ in range(items):
        at += 4 if wide else 2
        method = 0
        if version:
            method, at = _number(box, at, 2)
        base, at = _number(box, at + 2, base_size)  # after two bytes of data reference index
        extents, at = _number(box, at, 2)
        for _ in range(extents):
            offset, at = _number(box, at + index_size, offset_size)
            length, at = _number(box, at, length_size)
            if method & 15 == 0:  # methods 1 and 2 give offsets into other boxes
                last = max(last, base + offset + length)
    return last


def _number(box: bytes, at: int, size: int) -> tuple[int, int]:
    if at + size > len(box):
        raise IndexError(at)
    return int.from_bytes(box[at : at + size], "big"), at + size
