"""Which files are clips (videos), and how the parts of a long one are named: `beach.mp4#t=12.5,30`.

The fragment is that of W3C's Media Fragments: the part's begin and end in seconds. A clip that is one item
has none. Knows no pixels and no album.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from .records import Photo

CLIPS = frozenset({".mp4", ".mov", ".m4v", ".3gp", ".webm", ".mkv"})
LONGEST = 24 * 3_600_000  # ms; a longer clip is cut off here, so that every time fits 32 bits
# A second clip of one name has a mark before its fragment.
_PART = re.compile(r"#t=(\d{1,7}(?:\.\d{1,3})?),(\d{1,7}(?:\.\d{1,3})?)$", re.ASCII)


def is_clip(path: str | Path | None) -> bool:
    """Whether a file is a video, by its name alone."""
    return path is not None and Path(path).suffix.lower() in CLIPS


def part_of(photo_id: str) -> tuple[int, int] | None:
    """Begin and end, in ms, of the part of a clip that an id names; None if it names no part."""
    match = _PART.search(photo_id)
    if match is None:
        return None
    start, end = (round(1000 * float(seconds)) for seconds in match.groups())
    return (start, end) if start < end else None


def whole(photo_id: str) -> str:
    """The id without the part that it names."""
    return _PART.sub("", photo_id) if part_of(photo_id) is not None else photo_id


def part(photo: Photo, start: int, end: int) -> Photo:
    """A part of a clip as an item of its own, taken when the part begins. `start`, `end`: ms."""
    taken = None if photo.taken_at is None else photo.taken_at + start
    return replace(photo, id=f"{whole(photo.id)}#t={_seconds(start)},{_seconds(end)}", taken_at=taken)


def fragment(photo_id: str) -> str:
    """What an id says of the part, with its `#`; "" for a whole."""
    return photo_id[len(whole(photo_id)) :]


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.3f}".rstrip("0").rstrip(".")
