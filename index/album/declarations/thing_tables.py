"""The optional tables of the bank of things: their declarations, and the checks of a file.

The first thing that is seen makes them; FORMAT.md describes them for authors of other readers; change both
together. They have a version of their own, in `thing_meta`. `gamer.index.things` reads and writes them.
"""

from __future__ import annotations

from .sealed import Sealed
from .table_group import TableGroup

_DDL = """
CREATE TABLE thing_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE things(
    id INTEGER PRIMARY KEY, head TEXT NOT NULL, same_as INTEGER, apart INTEGER NOT NULL,
    forgotten INTEGER NOT NULL);
CREATE INDEX things_head ON things(head);
CREATE TABLE thing_sightings(
    photo TEXT NOT NULL, place INTEGER NOT NULL, thing INTEGER NOT NULL, head TEXT NOT NULL,
    category TEXT NOT NULL, subcategory TEXT NOT NULL, color TEXT NOT NULL, texture TEXT NOT NULL,
    shape TEXT NOT NULL, material TEXT NOT NULL, brand TEXT NOT NULL, style TEXT NOT NULL,
    pattern TEXT NOT NULL, feature TEXT NOT NULL, usage TEXT NOT NULL, status TEXT NOT NULL,
    owned INTEGER NOT NULL, crc INTEGER NOT NULL, PRIMARY KEY(photo, place)) WITHOUT ROWID;
CREATE INDEX thing_sightings_thing ON thing_sightings(thing);
CREATE TABLE thing_photos(photo TEXT PRIMARY KEY, words INTEGER NOT NULL) WITHOUT ROWID;
"""
SEALED = Sealed(
    "thing_sightings",
    "photo, place, head, category, subcategory, color, texture, shape, material, brand, style, pattern, "
    "feature, usage, status, owned",
    "thing of photo {!r}",
    key="photo",
    cure="run verify",
)
_INVARIANTS = (
    ("sightings of a thing that does not exist",
        "SELECT count(*) FROM thing_sightings WHERE thing NOT IN (SELECT id FROM things)"),
    ("things that are another that does not exist, or that is itself another", """SELECT count(*) FROM things
        WHERE same_as NOT IN (SELECT id FROM things WHERE same_as IS NULL)"""),
    ("sightings of photos that were not read",
        "SELECT count(*) FROM thing_sightings WHERE photo NOT IN (SELECT photo FROM thing_photos)"),
)  # fmt: skip


THINGS = TableGroup(
    "a bank of things",
    _DDL,
    of_photos=("thing_sightings", "thing_photos"),
    version=1,
    sealed=(SEALED,),
    invariants=_INVARIANTS,
)
