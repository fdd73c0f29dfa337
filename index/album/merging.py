"""Merges entities that are the same: spellings of a name, aliases a user names, and near-identical vectors.

Merging only sets a pointer from one entity to another (`same_as`); its row, mentions and edges stay as they
were, so that a split undoes it exactly. Readers follow the pointers to the root (loader.entity_roots).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from ..entities.extract import canonical
from ..errors import AlbumError
from . import loader
from .rows import seal_entity

# Not prices and dates: two of them stay two, however near their vectors are.
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
    found = db.execute(sql, (spelled, canonical(name))).fetchone()
    if not found:
        raise AlbumError(f"{path}: no entity named {name!r} in this album, and no photo with that id")
    return int(found[0])


def root_of(db: apsw.Connection, path: Path, name: str) -> int:
    return _root(db, find(db, path, name))


def _root(db: apsw.Connection, row: int) -> int:
    found = db.execute(_ROOT, (row,)).fetchone()
    if not found:
        raise ValueError(f"entity {row} is an alias of itself")
    return int(found[0])


def merge(db: apsw.Connection, path: Path, name: str, alias: str) -> None:
    one, other = find(db, path, name), root_of(db, path, alias)
    if _root(db, one) == other:
        raise AlbumError(f"{path}: {name!r} and {alias!r} are one entity already; nothing to merge")
    db.execute("UPDATE entities SET same_as=?, split=0 WHERE row=?", (_root(db, one), other))


def split(db: apsw.Connection, path: Path, name: str) -> list[str]:
    row = find(db, path, name)
    aliases: list[Any] = db.execute("SELECT row FROM entities WHERE same_as=?", (row,)).fetchall()
    freed = [row] if _root(db, row) != row else [int(alias) for (alias,) in aliases]
    if not freed:
        raise AlbumError(f"{path}: {name!r} is one entity with no alias; nothing to split")
    root = _root(db, row)
    for alias in freed:
        # A spelling has no vector of its own: it starts with a copy of its root's vector.
        db.execute(
            "UPDATE entities SET (scale, data) = (SELECT scale, data FROM entities WHERE row=?) "
            "WHERE row=? AND data IS NULL",
            (root, alias),
        )
        db.execute("UPDATE entities SET same_as=NULL, split=1 WHERE row=?", (alias,))
        seal_entity(db, alias)
    db.execute("UPDATE entities SET split=1 WHERE row=?", (root,))
    return [
        str(n) for alias in freed for (n,) in db.execute("SELECT name FROM entities WHERE row=?", (alias,))
    ]


def merge_similar(db: apsw.Connection, threshold: float) -> list[tuple[str, str]]:
    """Merges root entities of one kind whose cosine is at least `threshold`; returns (kept, alias) names.

    The most mentioned one is kept. Entities that a user has split are never merged here.
    """
    if not 0.0 < threshold <= 1.0:
        raise AlbumError(f"threshold {threshold}: a cosine above 0 and at most 1 is needed")
    out = []
    for kind in _MERGED_BY_MEANING:
        for kept, alias in _similar(db, kind, threshold):
            db.execute("UPDATE entities SET same_as=? WHERE row=?", (kept[0], alias[0]))
            out.append((kept[1], alias[1]))
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
    codes = loader.vector_set([(row, scale, data) for row, scale, data, _ in rows], "entities").codes.astype(
        np.float32
    )
    codes /= np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-9)
    gone: set[int] = set()
    for start in range(0, len(rows), _BLOCK):
        near = codes[start : start + _BLOCK] @ codes.T
        for at, other in np.argwhere(near >= threshold):
            kept, alias = int(start + at), int(other)
            if (
                kept < alias
                and not {kept, alias} & gone
                and _digits(rows[kept][3]) == _digits(rows[alias][3])
            ):
                gone.add(alias)
                yield (int(rows[kept][0]), str(rows[kept][3])), (int(rows[alias][0]), str(rows[alias][3]))


def _digits(name: str) -> list[str]:
    """The numbers in a name: "Hall 3" and "Hall 4" are never merged, however near their vectors are."""
    return re.findall(r"\d+", name)
