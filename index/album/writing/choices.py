"""What an album's owner chose of entities and photos, by name, to be repeated in another album."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from ...entities.extract import canonical
from ...errors import AlbumError
from .. import preferences
from ..declarations.sealed import ENTITIES
from . import merging


@dataclass(frozen=True)
class Choices:
    """`merged`: (root, alias) of names that are not spellings of one. `split`: spellings on their own.

    `preferred`: (better, worse), ids of photos or names. `vectors`: name → its stored vector (scale, data).
    """

    merged: tuple[tuple[str, str], ...]
    split: tuple[str, ...]
    preferred: tuple[tuple[str, str], ...]
    vectors: dict[str, tuple[float, bytes]]


def of_album(db: apsw.Connection) -> Choices:
    names: list[Any] = db.execute(
        "SELECT e.name, e.split, e.scale, e.data, r.name FROM entities e "
        "LEFT JOIN entities r ON r.row = e.same_as ORDER BY e.row"
    ).fetchall()
    preferred: list[Any] = db.execute(
        "SELECT b.id, w.id FROM preferences p JOIN photos b ON b.row = p.better "
        "JOIN photos w ON w.row = p.worse WHERE p.kind = 'photo' "
        "UNION ALL SELECT b.name, w.name FROM preferences p JOIN entities b ON b.row = p.better "
        "JOIN entities w ON w.row = p.worse WHERE p.kind = 'entity'"
    ).fetchall()
    return Choices(
        tuple((root, name) for name, *_, root in names if root and canonical(root) != canonical(name)),
        tuple(name for name, split, _, _, root in names if split and not root),
        tuple(preferred),
        {name: (scale, data) for name, _, scale, data, _ in names if data is not None},
    )


def repeat(db: apsw.Connection, path: Path, choices: Choices) -> None:
    """Makes the same choices, in the caller's transaction; those of names that are not here are left out."""
    bare: list[Any] = db.execute(
        "SELECT row, name FROM entities WHERE data IS NULL AND same_as IS NULL"
    ).fetchall()
    for row, name in bare:
        if name in choices.vectors:
            db.execute("UPDATE entities SET scale=?, data=? WHERE row=?", (*choices.vectors[name], row))
            ENTITIES.seal(db, row)
    for name in choices.split:
        if db.execute("SELECT 1 FROM entities WHERE name=? AND same_as IS NOT NULL", (name,)).fetchone():
            merging.split(db, path, name)
    for root, alias in choices.merged:
        here = db.execute("SELECT count(*) FROM entities WHERE name IN (?, ?)", (root, alias)).fetchone()
        if here == (2,):
            with suppress(AlbumError):  # they are one already, through a third name
                merging.merge(db, path, root, alias)
    for better, worse in choices.preferred:
        with suppress(AlbumError):
            preferences.prefer(db, path, better, worse)
