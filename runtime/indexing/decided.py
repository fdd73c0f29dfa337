"""What an album's owner decided, taken over into the album that is built in its place.

A new build comes from photos alone: without this, what was removed, merged, split, preferred or forgotten by
hand would be undone without a word. Faces with their names (faces.py) and the memories of the person
(gamer.index.memory.carrying) are taken over on ways of their own.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import apsw

from gamer.index import Album, AlbumError, AlbumWriter
from gamer.index.album.declarations import collection_tables
from gamer.index.album.declarations.collection_tables import Collection
from gamer.index.album.writing import choices
from gamer.index.things import bank

_NOTHING = choices.Choices((), (), (), {})


@dataclass(frozen=True)
class Decided:
    """`removed`: what was removed for good. `chosen`: of names and photos. `things`: None for no bank.

    `collections`: the newest first.
    """

    removed: frozenset[str] = frozenset()
    chosen: choices.Choices = _NOTHING
    things: bank.Stored | None = None
    collections: tuple[Collection, ...] = ()


def decided(album: Path) -> Decided:
    """Of the album that is to be replaced; nothing if there is none, and only what stands before damage."""
    if not album.exists():
        return Decided()
    made = Decided()
    with suppress(AlbumError), Album.open(album) as old:
        # What was removed comes first: damage further on takes nothing of it along.
        made = replace(made, removed=old.removed)
        chosen = old.reading(lambda db, _: choices.of_album(db))
        # The new album's names get vectors of their own, maybe of another encoder.
        made = replace(made, chosen=replace(chosen, vectors={}))
        made = replace(made, things=old.reading(bank.stored), collections=old.reading(collection_tables.read))
    return made


def repeat(writer: AlbumWriter, made: Decided) -> None:
    """Makes the same decisions in the new album, whose photos are there; what it lacks is left out."""
    writer.repeat_choices(made.chosen)
    if (things := made.things) is not None:
        writer.change_optional(lambda db, _: bank.restore(db, things))
    for one in reversed(made.collections):
        writer.change_optional(partial(_keep, one))


def _keep(one: Collection, db: apsw.Connection, path: Path) -> None:
    collection_tables.keep(db, one.name, one.search, one.photos)
