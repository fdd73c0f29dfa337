"""Exports an album as JSON lines, which `gamer index build` can read.

Photos and memories marked low-sharing or high-sensitivity are left out unless requested. Labels and places
that the program derived are left out too: a build derives them again. The file is written under a temporary
name and renamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ..errors import AlbumBusy, AlbumError
from ..fields import values
from ..records import Memory, Photo
from ..replacing import replacing
from .album import Album
from .schema import check_output
from .sharing import leaving, may_leave
from .writing.storage import WriterLock

_DERIVED = ("label", "place")
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Exported:
    """The counts of an export.

    `kept_photos`, `kept_memories`: how many were left out because of their sharing or sensitivity label. All
    memories of an omitted photo count.
    """

    path: Path
    photos: int
    memories: int
    kept_photos: int
    kept_memories: int


def export_jsonl(album: Album, path: Path, *, everything: bool = False) -> Exported:
    """Writes `path`. `everything`: also photos and memories whose labels keep them on the device.

    Raises AlbumError.
    """
    path = Path(path)
    check_output(path)
    try:
        lock = WriterLock(path)
    except AlbumBusy:
        raise AlbumError(f"{path}: another export is writing it; wait until it is done, or stop it") from None
    try:
        return _written(album, path, everything)
    finally:
        lock.release()


def _written(album: Album, path: Path, everything: bool) -> Exported:
    """Writes beside `path` and renames. What a killed export left there is deleted; no link is followed."""
    exported = memories = withheld = withheld_memories = 0

    def failure(why: str) -> AlbumError:
        return AlbumError(f"{path}: cannot be written ({why}); check the folder and the free space")

    with replacing(path, failure) as aside, aside.open("w", encoding="utf-8", newline="\n") as file:
        for photo in _photos(album):
            allowed = photo.memories if everything else leaving(photo)
            if everything or may_leave(photo):
                written = [memory for memory in allowed if memory.source not in _DERIVED]
                exported, memories, withheld_memories = (
                    exported + 1,
                    memories + len(written),
                    withheld_memories + len(photo.memories) - len(allowed),
                )
                file.write(json.dumps(_line(photo, written), ensure_ascii=False) + "\n")
            else:
                withheld, withheld_memories = withheld + 1, withheld_memories + len(photo.memories)
    return Exported(path, exported, memories, withheld, withheld_memories)


def _photos(album: Album) -> Iterator[Photo]:
    for row in range(len(album)):
        yield album.photo(row)


def _line(photo: Photo, memories: list[Memory]) -> dict[str, Any]:
    line: dict[str, Any] = {"id": photo.id, "path": photo.path}
    if photo.wall is not None:
        zone = (
            None
            if photo.tz_source in ("local", "name", "chat")
            else timezone(timedelta(minutes=photo.utc_offset or 0))
        )
        line["taken_at"] = (_EPOCH + timedelta(milliseconds=photo.wall)).replace(tzinfo=zone).isoformat()
    if photo.lat is not None:
        line |= {"lat": photo.lat, "lon": photo.lon}
    line |= values(photo)
    line["memories"] = [
        _given({"source": m.source, "text": m.text, "sharing": m.sharing, "sensitivity": m.sensitivity})
        for m in memories
    ]
    return _given(line | {"sharing": photo.sharing, "sensitivity": photo.sensitivity})


def _given(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if value is not None}
