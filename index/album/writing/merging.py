"""Merges entities that are the same: spellings of a name, aliases a user names, and near-identical vectors.

Merging only sets a pointer from one entity to another (`same_as`); its row, mentions and edges stay as they
were, so that a split undoes it exactly. Readers follow the pointers to the root (loader.entity_roots).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from ...entities.extract import canonical
from ...errors import AlbumError
from ..declarations.sealed import ENTITIES

# Prices and dates are left out: two of them are never the same entity, however similar their vectors.
_MERGED_BY_MEANING = ("person", "place", "thing")
_BLOCK = 1024
_ROOT = """WITH RECURSIVE up(row, same_as) AS (SELECT row, same_as FROM entities WHERE row = ?
    UNION SELECT e.row, e.same_as FROM entities e JOIN up ON e.row = up.same_as)
    SELECT row FROM up WHERE same_as IS NULL"""


def find(db: apsw.Connection, path: Path, name: str) -> int:
    """The row of an entity, by its name as written, else by its canonical form. Raises AlbumError if none."""
    spelled = " ".join(name.split())
    sql = """SELECT row FROM entities WHERE name=?1 OR canonical=?2
        ORDER BY name<>?1, same_as IS NOT NULL, row LIMIT 1"""
    record = db.execute(sql, (spelled, canonical(name))).fetchone()
    if not record:
        raise AlbumError(f"{path}: no entity named {name!r} in this album, and no photo with that id")
    return int(record[0])


def root_of(db: apsw.Connection, path: Path, name: str) -> int:
    return _root(db, find(db, path, name))


def _root(db: apsw.Connection, row: int) -> int:
    record = db.execute(_ROOT, (row,)).fetchone()
    if not record:
        raise ValueError(f"entity {row} is an alias of itself")
    return int(record[0])


def merge(db: apsw.Connection, path: Path, name: str, alias: str) -> None:
    row, alias_root = find(db, path, name), root_of(db, path, alias)
    if _root(db, row) == alias_root:
        raise AlbumError(f"{path}: {name!r} and {alias!r} are one entity already; nothing to merge")
    db.execute("UPDATE entities SET same_as=?, split=0 WHERE row=?", (_root(db, row), alias_root))


def split(db: apsw.Connection, path: Path, name: str) -> list[str]:
    return _split(db, path, find(db, path, name), name)


def _split(db: apsw.Connection, path: Path, row: int, name: str) -> list[str]:
    aliases: list[Any] = db.execute("SELECT row FROM entities WHERE same_as=?", (row,)).fetchall()
    freed = [row] if _root(db, row) != row else [int(alias) for (alias,) in aliases]
    if not freed:
        raise AlbumError(f"{path}: {name!r} is one entity with no alias; nothing to split")
    root = _root(db, row)
    for alias in freed:
        # An alias added as a new spelling has no vector: it gets a copy of its root's.
        db.execute(
            "UPDATE entities SET (scale, data) = (SELECT scale, data FROM entities WHERE row=?) "
            "WHERE row=? AND data IS NULL",
            (root, alias),
        )
        db.execute("UPDATE entities SET same_as=NULL, split=1 WHERE row=?", (alias,))
        ENTITIES.seal(db, alias)
    db.execute("UPDATE entities SET split=1 WHERE row=?", (root,))
    return [
        str(n) for alias in freed for (n,) in db.execute("SELECT name FROM entities WHERE row=?", (alias,))
    ]


def drop_choices(db: apsw.Connection, path: Path, names: Iterable[str]) -> None:
    """Leaves nothing that would keep an entity of these names when no photo mentions it any more."""
    for name in names:
        rows: list[Any] = db.execute(
            "SELECT row FROM entities WHERE canonical=?", (canonical(name),)
        ).fetchall()
        for (row,) in rows:
            db.execute("DELETE FROM preferences WHERE kind='entity' AND ?1 IN (better, worse)", (row,))
            with suppress(AlbumError):  # it is merged with nothing
                _split(db, path, row, name)


def merge_similar(db: apsw.Connection, threshold: float) -> list[tuple[str, str]]:
    """Merges root entities of one kind whose cosine is at least `threshold`; returns (root, alias) names.

    The most mentioned one stays the root. Entities that a user has split are never merged here.
    """
    if not 0.0 < threshold <= 1.0:
        raise AlbumError(f"threshold {threshold}: a cosine above 0 and at most 1 is needed")
    out = []
    for kind in _MERGED_BY_MEANING:
        for root, alias in _similar(db, kind, threshold):
            db.execute("UPDATE entities SET same_as=? WHERE row=?", (root[0], alias[0]))
            out.append((root[1], alias[1]))
    return out


_Node = tuple[int, str]


def _similar(db: apsw.Connection, kind: str, threshold: float) -> Iterator[tuple[_Node, _Node]]:
    rows: list[Any] = db.execute(
        """SELECT e.row, e.scale, e.data, e.name FROM entities e LEFT JOIN mentions m ON m.entity = e.row
        WHERE e.kind=? AND e.data IS NOT NULL AND e.same_as IS NULL AND e.split=0
        GROUP BY e.row ORDER BY count(m.photo) DESC, e.row""",
        (kind,),
    ).fetchall()
    if len(rows) < 2:
        return
    codes = np.stack([np.frombuffer(row[2], np.int8) for row in rows]).astype(np.float32)
    codes /= np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-9)
    merged: set[int] = set()
    for start in range(0, len(rows), _BLOCK):
        cosines = codes[start : start + _BLOCK] @ codes.T
        for at, other in np.argwhere(cosines >= threshold):
            root, alias = int(start + at), int(other)
            if (
                root < alias
                and not {root, alias} & merged
                and _digits(rows[root][3]) == _digits(rows[alias][3])
            ):
                merged.add(alias)
                yield (int(rows[root][0]), str(rows[root][3])), (int(rows[alias][0]), str(rows[alias][3]))


def _digits(name: str) -> list[str]:
    """The numbers in a name: "Hall 3" and "Hall 4" are never merged, however similar their vectors."""
    return re.findall(r"\d+", name)
