"""All groups of tables that an album may have or lack."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from . import field_tables
from .clip_tables import CLIPS
from .collection_tables import COLLECTIONS
from .face_tables import FACES
from .person_tables import PERSON
from .table_group import TableGroup
from .thing_tables import THINGS

GROUPS: tuple[TableGroup, ...] = (PERSON, FACES, CLIPS, THINGS, COLLECTIONS, *field_tables.GROUPS.values())
NAMES = frozenset(name for group in GROUPS for name in group.names)
SHADOWED = frozenset(name for group in GROUPS for name in group.full_text)


def fits(kind: str, name: str, sql: object) -> bool:
    """Whether a name of NAMES is declared as its group declares it."""
    return any(group.fits(kind, name, sql) for group in GROUPS if name in group.names)


def lacking(names: Iterable[str]) -> str | None:
    """Of a file with these tables and indexes: one that belongs to a group of which it has others."""
    present = set(names)
    for group in GROUPS:
        if group.names & present and (missing := group.names - group.added - present):
            return min(missing)
    return None


def drop_photo(db: apsw.Connection, photo_id: str) -> None:
    """Deletes what belongs to a photo in any group."""
    for group in GROUPS:
        group.drop_photo(db, photo_id)
