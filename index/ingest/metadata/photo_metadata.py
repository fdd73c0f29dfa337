"""Metadata of a photo from one source (EXIF, sidecar, ...): moment, position and memories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...fields import Details, detailed, values
from ...records import Memory
from ...text import clean, names
from .moment import Moment, Position

# Texts that cameras and phones write into the caption fields.
_CAMERAS = re.compile(
    r"\W*(?:(?:[\w.]+ )?digital (?:still )?camera|sony dsc|samsung|(?:dsc|dcim|img|mvi)[\w\\/.\- ]*"
    r"|default|untitled|(?:jpeg )?exif[\w ]*)\W*",
    re.I,
)


_CAMERA_TEXT = 100  # characters


@dataclass(frozen=True)
class PhotoMetadata(Details):
    moment: Moment | None = None
    position: Position | None = None
    memories: tuple[Memory, ...] = ()


def _written_by_camera(text: str) -> bool:
    """Whether a camera, not a person, wrote the text.

    Texts longer than _CAMERA_TEXT are not matched: cameras write short ones, and the pattern's time grows
    with the square of the length.
    """
    return len(text) <= _CAMERA_TEXT and _CAMERAS.fullmatch(text) is not None


def memories_of(
    title: str, description: str, keywords: Iterable[str], people: Iterable[str]
) -> tuple[Memory, ...]:
    """Memories: title and description as captions, keywords as one note, people as one `people` memory."""
    title, description, persons = clean(title), clean(description), names(people)
    out = [
        Memory("caption", text)
        for text in dict.fromkeys((title, description))
        if text and not _written_by_camera(text)
    ]
    words = [word for word in names(keywords) if word not in persons]
    if words:
        out.append(Memory("note", ", ".join(words)))
    if persons:
        out.append(Memory("people", ", ".join(persons)))
    return tuple(out)


def first_of(sources: Iterable[PhotoMetadata]) -> PhotoMetadata:
    """Combines sources in order of trust: the first moment, position and value of each
    field, all distinct memories.
    """
    sources = list(sources)
    moment = next((s.moment for s in sources if s.moment is not None), None)
    position = next((s.position for s in sources if s.position is not None), None)
    memories = tuple(dict.fromkeys(m for s in sources for m in s.memories))
    details = {name: value for s in reversed(sources) for name, value in values(s).items()}
    return detailed(PhotoMetadata(moment, position, memories), details)
