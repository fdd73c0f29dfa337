"""What an album notes about itself in its `meta` table, and no reader needs: its bundle, what was removed.

FORMAT.md describes the same for authors of other readers; change both together.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from .. import clips
from ..json_checked import stored

BUNDLE, REMOVED = "bundle", "removed"


def read(db: apsw.Connection, key: str) -> str | None:
    record = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if record is None else str(record[0])


def write(db: apsw.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))


def removed(db: apsw.Connection) -> frozenset[str]:
    """SHA-256 of pictures and ids of photos without one; none where the note is damaged."""
    keys = stored(tuple[Any, ...], read(db, REMOVED) or "[]") or ()
    return frozenset(key for key in keys if isinstance(key, str))


def keys_of(db: apsw.Connection, photo_ids: Iterable[str]) -> frozenset[str]:
    """By what those photos, and parts of clips, are recognised when they come again."""
    ids = list(photo_ids)
    records = (db.execute("SELECT sha256 FROM photos WHERE id = ?", (i,)).fetchone() for i in ids)
    return frozenset(key_of(i, r[0]) for i, r in zip(ids, records, strict=True) if r is not None)


def key_of(photo_id: str, sha256: Any) -> str:
    """The SHA-256, and of a clip's part which part; the id of a photo without a SHA-256."""
    return f"{sha256}{clips.fragment(photo_id)}" if sha256 else photo_id
