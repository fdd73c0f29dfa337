"""Feedback of the form "A is better than B", stored as an acyclic graph that reorders rankings.

A preference takes effect only where both A and B match. Between two entities, a photo linked only to the
better one outranks a photo linked only to the worse one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

import apsw

from ..errors import AlbumError

Pair = tuple[int, int]  # (better, worse)


@dataclass(frozen=True)
class Preferences:
    """`photos`: pairs of photo rows; `entities`: pairs of entity rows; each (better, worse)."""

    photos: tuple[Pair, ...] = ()
    entities: tuple[Pair, ...] = ()


def reorder(ranked: Sequence[int], better_than: Iterable[Pair]) -> list[int]:
    """`ranked`, with each better item moved directly before the first item it is better than.

    Other items keep their order. Pairs of which one is not in `ranked` have no effect. Pairs in a cycle (from
    a damaged file) neither drop nor repeat an item.
    """
    place = {row: at for at, row in enumerate(ranked)}
    betters: dict[int, list[int]] = {}
    for better, worse in better_than:
        if better in place and worse in place:
            betters.setdefault(worse, []).append(better)
    out: list[int] = []
    begun: set[int] = set()
    for first in ranked:
        stack = [] if first in begun else [first]
        while stack:
            row = stack[-1]
            if row not in begun:
                begun.add(row)
                waiting = sorted(
                    {b for b in betters.get(row, ()) if b not in begun}, key=place.__getitem__, reverse=True
                )
                stack += waiting
                if waiting:
                    continue
            stack.pop()
            if row not in place:
                continue
            out.append(row)
            del place[row]
    return out


def between_photos(entities: Iterable[Pair], linked: Mapping[int, AbstractSet[int]]) -> list[Pair]:
    """Preferences between entities as pairs of photos. `linked`: photo row → the entities it is linked to."""
    out = []
    for better, worse in entities:
        ours = [row for row, names in linked.items() if better in names and worse not in names]
        theirs = [row for row, names in linked.items() if worse in names and better not in names]
        out += [(a, b) for a in ours for b in theirs]
    return out


def prefer(db: apsw.Connection, path: Path, better: str, worse: str) -> None:
    """Stores the preference; raises AlbumError if it would close a cycle through other preferences.

    The opposite preference, if stored, is deleted: the latest one counts.
    """
    kind, first, second = _resolve(db, path, better, worse)
    if first == second:
        raise AlbumError(f"{path}: {better!r} and {worse!r} are the same {kind}; name two")
    db.execute("DELETE FROM preferences WHERE kind=? AND better=? AND worse=?", (kind, second, first))
    if _reaches(db, kind, second, first):
        raise AlbumError(
            f"{path}: {worse!r} is already better than {better!r} through others; reverse one of those first"
        )
    db.execute("INSERT OR IGNORE INTO preferences VALUES(?,?,?)", (kind, first, second))


def _resolve(db: apsw.Connection, path: Path, better: str, worse: str) -> tuple[str, int, int]:
    photos = [db.execute("SELECT row FROM photos WHERE id=?", (name,)).fetchone() for name in (better, worse)]
    if photos[0] and photos[1]:
        return "photo", int(photos[0][0]), int(photos[1][0])
    if photos[0] or photos[1]:
        unknown = worse if photos[0] else better
        raise AlbumError(
            f"{path}: no photo with id {unknown!r} in this album; give two photo ids, or two entity names"
        )
    from .writing.merging import root_of  # imported here because readers never need it

    first, second = (root_of(db, path, name) for name in (better, worse))
    return "entity", first, second


def _reaches(db: apsw.Connection, kind: str, start: int, goal: int) -> bool:
    sql = """WITH RECURSIVE below(row) AS
            (VALUES(?) UNION SELECT worse FROM preferences JOIN below ON better = row WHERE kind = ?)
        SELECT 1 FROM below WHERE row = ?"""
    return db.execute(sql, (start, kind, goal)).fetchone() is not None
