"""Reads an album's graph with the standard library's SQLite: entities, mentions and edges.

index/FORMAT.md says that stock SQLite can read an album.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gamer.index import FloatArray, RowArray, dequantize


@dataclass(frozen=True, eq=False)
class Entities:
    """The entities of an album; merged ones count as one.

    `vectors`: float32 [m, D], zeros for an entity without a vector. `mentions`: int64 [2, p] of (entity,
    photo row); `edges`: int64 [2, e] of (parent, child). Entities are positions in `names`. Neither repeats a
    pair.
    """

    names: tuple[str, ...]
    vectors: FloatArray
    mentions: RowArray
    edges: RowArray


def entities(path: Path) -> Entities:
    with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT name, scale, data, same_as FROM entities ORDER BY row").fetchall()
        links = {
            name: _pairs(db, sql)
            for name, sql in (
                ("m", "SELECT entity, photo FROM mentions"),
                ("e", "SELECT parent, child FROM edges"),
            )
        }
    root_of = np.arange(len(rows))
    for row, (*_, same_as) in enumerate(rows):
        root_of[row] = row if same_as is None else same_as
    while not np.array_equal(root_of, root_of[root_of]):
        root_of = root_of[root_of]
    roots = np.flatnonzero(root_of == np.arange(len(rows)))
    position = np.zeros(len(rows), np.int64)
    position[roots] = np.arange(len(roots))
    position = position[root_of]
    mentions = np.stack([position[links["m"][0]], links["m"][1]])
    edges = position[links["e"]]
    floats = _floats([rows[row][1:3] for row in roots])
    return Entities(
        tuple(str(rows[row][0]) for row in roots),
        floats,
        np.unique(mentions, axis=1),
        np.unique(edges[:, edges[0] != edges[1]], axis=1),
    )


def _pairs(db: sqlite3.Connection, sql: str) -> RowArray:
    return np.array(db.execute(sql).fetchall(), np.int64).reshape(-1, 2).T


def _floats(rows: list[tuple[float | None, bytes | None]]) -> FloatArray:
    dim = max((len(data) for _, data in rows if data is not None), default=0)
    codes = np.frombuffer(b"".join(data or bytes(dim) for _, data in rows), np.int8).reshape(len(rows), dim)
    return dequantize(codes, np.array([scale or 0.0 for scale, _ in rows], np.float32))
