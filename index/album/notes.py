"""What an album notes about itself in its `meta` table, and no reader needs: its bundle, what was removed.

FORMAT.md describes the same for authors of other readers; change both together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import apsw

BUNDLE, REMOVED = "bundle", "removed"


def read(db: apsw.Connection, key: str) -> str | None:
    record = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if record is None else str(record[0])


def write(db: apsw.Connection, key: str, value: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))


def removed(db: apsw.Connection) -> frozenset[str]:
    """SHA-256 of pictures and ids of photos without one; none where the note is damaged."""
    try:
        keys = json.loads(read(db, REMOVED) or "[]")
    except ValueError:
        return frozenset()
    return frozenset(key for key in keys if isinstance(key, str)) if isinstance(keys, list) else frozenset()


def keys_of(db: apsw.Connection, photo_ids: Iterable[str]) -> frozenset[str]:
    """By what those photos are recognised when they come again."""
    records = (db.execute("SELECT sha256 FROM photos WHERE id = ?", (i,)).fetchone() for i in photo_ids)
    return frozenset(str(r[0] or i) for i, r in zip(photo_ids, records, strict=True) if r is not None)
