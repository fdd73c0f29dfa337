"""Walks the boxes of a file after ISO/IEC 14496-12: HEIC, MP4 and QuickTime. Knows what no box means."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

_MAX_BOXES = 10_000


def boxes(file: BinaryIO, at: int, size: int) -> Iterator[tuple[bytes, int, int]]:
    """(type, start of content, end) of each box from `at` on, in order, up to the position `size`.

    The last one's end may lie beyond `size`. A length of 0 means: up to `size`.
    """
    for _ in range(_MAX_BOXES):
        if at >= size:
            return
        file.seek(at)
        head = file.read(16)
        if len(head) < 8:
            return
        length, kind = struct.unpack_from(">I4s", head)
        start = at + 8
        if length == 1 and len(head) == 16:
            (length,), start = struct.unpack_from(">Q", head, 8), at + 16
        end = size if length == 0 else at + length
        if end < start:
            return
        yield kind, start, end
        at = end
