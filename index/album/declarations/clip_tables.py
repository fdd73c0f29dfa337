"""The optional table of clips: what the album knows of a video, or of a part of one, beyond a photo.

The first clip creates it; an album of photos alone does not have it. FORMAT.md describes it for authors of
other readers; change both together. It holds no pixels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from ...clips import LONGEST
from ...errors import AlbumError
from ...records import Clip
from . import checksums
from .sealed import Sealed
from .table_group import TableGroup

_DDL = """
CREATE TABLE clips(
    photo TEXT PRIMARY KEY, starts INTEGER NOT NULL, ends INTEGER NOT NULL, length INTEGER NOT NULL,
    frames TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
"""
MAX_FRAMES = 64  # of one item
_FRAMES = re.compile(r"(?:\d{1,8}(?: \d{1,8}){0,63})?", re.ASCII)
_SEALED = Sealed("clips", "photo, starts, ends, length, frames", "clip {!r}", key="photo")
_INVARIANTS = (
    ("clips with another number of vectors than of frames", """SELECT count(*) FROM clips c
        JOIN photos p ON p.id = c.photo WHERE (SELECT count(*) FROM vectors v
        WHERE v.channel = 'image' AND v.photo = p.row) NOT IN (0, length(frames) -
        length(replace(frames, ' ', '')) + (frames <> ''))"""),
)  # fmt: skip


def write(db: apsw.Connection, photo_id: str, clip: Clip | None) -> None:
    """Stores what is known of a clip, and forgets it for None; in the caller's transaction."""
    if clip is None:
        CLIPS.drop_photo(db, photo_id)
        return
    values = (photo_id, clip.start, clip.end, clip.length, " ".join(map(str, clip.frames)))
    if _clip(*values[1:]) is None:
        raise AlbumError(f"{photo_id}: not the times of a clip: {clip}; check the decoder")
    if not CLIPS.exist(db):
        CLIPS.create(db)
    _SEALED.insert(db, values)


def read(db: apsw.Connection, path: Path, photo_ids: Sequence[str]) -> dict[str, Clip]:
    """Id → clip, of those that are clips. Raises AlbumError for a row that does not fit its checksum."""
    if not CLIPS.exist(db):
        return {}
    out = {}
    for photo, *times in _SEALED.rows(db, path, f"WHERE photo {checksums.AMONG}", [json.dumps([*photo_ids])]):
        clip = _clip(*times)
        if clip is None:
            raise _SEALED.damaged(path, photo)
        out[str(photo)] = clip
    return out


def _clip(start: Any, end: Any, length: Any, frames: Any) -> Clip | None:
    """The clip of a row's values; None if no clip has such times."""
    if not all(isinstance(ms, int) for ms in (start, end, length)) or not isinstance(frames, str):
        return None
    if not 0 <= start < end <= length <= LONGEST or _FRAMES.fullmatch(frames) is None:
        return None
    times = tuple(int(ms) for ms in frames.split())
    return Clip(start, end, length, times) if all(ms <= length for ms in times) else None


def _problems(db: apsw.Connection) -> list[str]:
    damaged = {*_SEALED.wrong(db)}
    rows = db.execute(f"SELECT {_SEALED.columns} FROM clips")
    return [
        f"clip {photo!r}: its times are those of no clip"
        for photo, *times in rows
        if photo not in damaged and _clip(*times) is None
    ]


CLIPS = TableGroup(
    "clips", _DDL, of_photos=("clips",), sealed=(_SEALED,), invariants=_INVARIANTS, find_problems=_problems
)
