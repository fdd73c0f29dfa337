"""The optional tables of collections: searches and selections of photos that the owner keeps under a name.

The first one that is kept makes them. FORMAT.md describes them for authors of other readers; change both
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from .sealed import Sealed
from .table_group import TableGroup

_DDL = """
CREATE TABLE collections(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, search TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE collection_photos(
    collection INTEGER NOT NULL, photo TEXT NOT NULL, PRIMARY KEY(collection, photo)) WITHOUT ROWID;
"""
MOST = 100  # of an album; the oldest makes room
MAX_NAME = 60
_SEALED = Sealed("collections", "id, name, search", "collection {}", cure="forget it")
COLLECTIONS = TableGroup(
    "collections",
    _DDL,
    of_photos=("collection_photos",),
    sealed=(_SEALED,),
    invariants=(
        (
            "photos of a collection that does not exist",
            "SELECT count(*) FROM collection_photos WHERE collection NOT IN (SELECT id FROM collections)",
        ),
    ),
)


@dataclass(frozen=True)
class Collection:
    """`search`: the page's address of a search, "" for a selection; `photos`: the ids of a selection."""

    id: int
    name: str
    search: str
    photos: tuple[str, ...]


def read(db: apsw.Connection, path: Path) -> tuple[Collection, ...]:
    """The newest first, without photos that are gone. Raises AlbumError for a damaged one."""
    if not COLLECTIONS.exist(db):
        return ()
    sql = """SELECT c.photo FROM collection_photos c JOIN photos p ON p.id = c.photo
        WHERE collection=? ORDER BY p.row"""
    rows = [*_SEALED.rows(db, path, "ORDER BY id DESC")]
    return tuple(
        Collection(key, name, search, tuple(photo for (photo,) in db.execute(sql, (key,))))
        for key, name, search in rows
    )


def keep(db: apsw.Connection, name: str, search: str, photos: Sequence[str]) -> None:
    """Keeps one in place of that of the same name; in the caller's transaction, as all that follows."""
    if not COLLECTIONS.exist(db):
        COLLECTIONS.create(db)
    forget(db, "name = ? OR id <= (SELECT max(id) FROM collections) - ?", name, MOST - 1)
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM collections").fetchone() or (0,)
    _SEALED.insert(db, (last + 1, name, search))
    db.executemany("INSERT OR IGNORE INTO collection_photos VALUES(?,?)", ((last + 1, one) for one in photos))


def rename(db: apsw.Connection, key: int, name: str) -> bool:
    """Whether there is one with this number; another of the new name makes room."""
    if not COLLECTIONS.exist(db):
        return False
    forget(db, "name = ? AND id <> ?", name, key)
    found = db.execute("UPDATE collections SET name=? WHERE id=? RETURNING 1", (name, key)).fetchall()
    if found:
        _SEALED.seal(db, key)
    return bool(found)


def forget(db: apsw.Connection, where: str, *given: str | int) -> bool:
    """Whether there was one."""
    if not COLLECTIONS.exist(db):
        return False
    gone = db.execute(f"DELETE FROM collections WHERE {where} RETURNING id", given).fetchall()
    db.executemany("DELETE FROM collection_photos WHERE collection=?", gone)
    return bool(gone)
