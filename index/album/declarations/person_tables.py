"""The optional tables of what an album knows about its owner: their declarations, and the checks of a file.

The first memory creates them; an album without memories does not have them. FORMAT.md describes them for
authors of other readers; change both together. They have a version of their own, in `person_meta`, so that
the format of the album stays what it is. `gamer.index.memory` reads and writes them.
"""

from __future__ import annotations

import apsw

from .sealed import Sealed
from .table_group import TableGroup

_DDL = """
CREATE TABLE person_meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE person_turns(
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, chat TEXT NOT NULL, speaker TEXT NOT NULL,
    at INTEGER NOT NULL, text TEXT NOT NULL, pictures TEXT NOT NULL, sharing TEXT, session INTEGER,
    traits INTEGER, scale REAL, data BLOB, crc INTEGER NOT NULL);
CREATE INDEX person_turns_chat ON person_turns(chat, id);
CREATE INDEX person_turns_open ON person_turns(id) WHERE traits IS NULL;
CREATE INDEX person_turns_loose ON person_turns(chat, at) WHERE session IS NULL;
CREATE TABLE person_items(
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL, keywords TEXT NOT NULL,
    at INTEGER NOT NULL, ends INTEGER, past INTEGER NOT NULL, origin TEXT NOT NULL, sharing TEXT,
    crc INTEGER NOT NULL);
CREATE INDEX person_items_key ON person_items(kind, key, past);
CREATE TABLE person_sources(
    child TEXT NOT NULL, id INTEGER NOT NULL, turn INTEGER NOT NULL, PRIMARY KEY(child, id, turn))
    WITHOUT ROWID;
CREATE INDEX person_sources_turn ON person_sources(turn);
CREATE TABLE person_objects(
    item INTEGER NOT NULL, name TEXT NOT NULL, picture TEXT NOT NULL, encoder TEXT NOT NULL, scale REAL,
    data BLOB, crc INTEGER NOT NULL, PRIMARY KEY(item, name, picture)) WITHOUT ROWID;
CREATE TABLE person_forgotten(uid TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE person_words USING
    fts5(text, content='person_turns', content_rowid='id', tokenize='porter unicode61');
"""
# FTS5 erases a deleted row's words from its index only if it is told to.
_ERASE = "INSERT INTO person_words(person_words, rank) VALUES('secure-delete', 1)"
ROWS = (
    "person_meta", "person_turns", "person_items", "person_sources", "person_objects", "person_forgotten",
)  # fmt: skip
_LABELS = "NOT coalesce(sharing, 'low') IN ('low', 'high')"
_INVARIANTS = (
    ("turns or memories of the person with an unknown sharing label", f"""SELECT
        (SELECT count(*) FROM person_turns WHERE {_LABELS})
        + (SELECT count(*) FROM person_items WHERE {_LABELS})"""),
    ("memories of the person of an unknown kind", """SELECT count(*) FROM person_items
        WHERE kind NOT IN ('core', 'semantic', 'episodic', 'procedural') OR past NOT IN (0, 1)"""),
    ("keys of the person with two current values", """SELECT count(*) FROM (SELECT 1 FROM person_items
        WHERE past = 0 AND kind IN ('core', 'procedural') GROUP BY kind, key HAVING count(*) > 1)"""),
    ("links to a turn, or from a memory, that does not exist", """SELECT count(*) FROM person_sources
        WHERE turn NOT IN (SELECT id FROM person_turns)
        OR child IN ('item', 'says') AND id NOT IN (SELECT id FROM person_items)
        OR child = 'turn' AND id NOT IN (SELECT id FROM person_turns)
        OR child NOT IN ('item', 'turn', 'says')"""),
    ("objects of a memory that does not exist",
        "SELECT count(*) FROM person_objects WHERE item NOT IN (SELECT id FROM person_items)"),
    ("turns missing from their index of words",
        "SELECT (SELECT count(*) FROM person_turns) <> (SELECT count(*) FROM person_words_docsize)"),
)  # fmt: skip


def sources(db: apsw.Connection, child: str, row: int) -> tuple[int, ...]:
    """The turns that an item, or an assistant's turn, was drawn from, ascending."""
    found = db.execute("SELECT turn FROM person_sources WHERE child=? AND id=? ORDER BY turn", (child, row))
    return tuple(int(turn) for (turn,) in found)


TURNS = Sealed(
    "person_turns",
    "uid, chat, speaker, at, text, pictures, sharing",
    "turn t{}",
    cure="forget it, or restore a copy",
)
ITEMS = Sealed(
    "person_items",
    "kind, key, text, keywords, at, ends, past, origin, sharing",
    "memory m{}",
    cure="forget it, or restore a copy",
    more=lambda db, row: sources(db, "item", row),
)
OBJECTS = Sealed(
    "person_objects",
    "item, name, picture, encoder, scale, data",
    "object of m{}",
    key="item",
    cure="forget the memory",
)
PERSON = TableGroup(
    "memories of the person",
    _DDL,
    full_text=("person_words",),
    version=2,
    added=frozenset({"person_objects"}),
    settings=_ERASE,
    sealed=(OBJECTS, TURNS, ITEMS),
    invariants=_INVARIANTS,
)
