"""What goes with a turn or a memory that is forgotten, and its deletion, inside the caller's transaction.

Damaged rows go like any others: nothing here needs what they say to be whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from ..album.declarations import checksums, person_tables
from ..album.declarations.checksums import AMONG
from ..album.declarations.person_tables import TURNS
from .writing import delete_items, keep_numbers, saying


def remove(
    db: apsw.Connection, turns: Sequence[int], items: Sequence[int], at: int
) -> tuple[tuple[int, ...], tuple[int, ...], list[str]]:
    """Deletes turns and memories, and what was drawn from them; returns the ids and the deleted texts.

    A memory takes the turns along that it was drawn from, since they say the same. Other memories of these
    turns go too, and the program's turns that repeat what goes. A session that loses a turn is open again,
    without its episodes; so are turns that say what a deleted memory said, and remain.
    """
    gone, lost = set(turns) | _turns_of(db, items), set(items)
    size = -1
    while len(gone) + len(lost) > size:
        size = len(gone) + len(lost)
        gone = _all_drawn(db, gone | saying(db, lost))
        lost |= _items_of(db, gone)
    touched = _turns_of(db, lost) | gone
    sessions = _sessions_of(db, touched)
    # The rest of a session will be told in other episodes.
    lost |= _episodes_of(db, sessions)
    touched |= _turns_of(db, lost)
    texts = delete_items(db, sorted(lost)) + _delete_turns(db, sorted(gone), at)
    db.execute(f"UPDATE person_turns SET traits=NULL WHERE id {AMONG}", (json.dumps(sorted(touched)),))
    db.execute(f"UPDATE person_turns SET session=NULL WHERE session {AMONG}", (json.dumps(sessions),))
    # The personality was computed from these turns too: it is computed again from those that are left.
    db.execute("DELETE FROM person_meta WHERE key='personality'")
    return tuple(sorted(gone)), tuple(sorted(lost)), texts


def _items_of(db: apsw.Connection, turns: Iterable[int]) -> set[int]:
    found = db.execute(
        f"SELECT id FROM person_sources WHERE child='item' AND turn {AMONG}", (json.dumps(sorted(turns)),)
    )
    return {int(row) for (row,) in found}


def _sessions_of(db: apsw.Connection, turns: Iterable[int]) -> list[int]:
    found = db.execute(
        f"SELECT DISTINCT session FROM person_turns WHERE id {AMONG} AND session IS NOT NULL",
        (json.dumps(sorted(turns)),),
    )
    return [int(session) for (session,) in found]


def _episodes_of(db: apsw.Connection, sessions: list[int]) -> set[int]:
    found = db.execute(
        "SELECT DISTINCT i.id FROM person_turns t JOIN person_sources s ON s.turn = t.id AND s.child='item' "
        f"JOIN person_items i ON i.id = s.id AND i.kind='episodic' WHERE t.session {AMONG}",
        (json.dumps(sessions),),
    )
    return {int(row) for (row,) in found}


def _turns_of(db: apsw.Connection, items: Iterable[int]) -> set[int]:
    return {turn for item in items for turn in person_tables.sources(db, "item", item)}


def _all_drawn(db: apsw.Connection, turns: set[int]) -> set[int]:
    """These turns, and the assistant's that repeat one of them."""
    gone, new = set(turns), set(turns)
    while new:
        found = db.execute(
            f"SELECT id FROM person_sources WHERE child='turn' AND turn {AMONG}", (json.dumps(sorted(new)),)
        )
        new = {row for (row,) in found} - gone
        gone |= new
    return gone


def _delete_turns(db: apsw.Connection, turns: list[int], at: int) -> list[str]:
    keep_numbers(db, "person_turns")
    listed, texts = json.dumps(turns), []
    rows: list[Any] = db.execute(
        f"SELECT id, crc, {TURNS.columns} FROM person_turns WHERE id {AMONG}", (listed,)
    ).fetchall()
    sound = True
    for row, crc, *values in rows:
        uid, text = str(values[0]), str(values[4])
        sound = sound and checksums.of_values(tuple(values)) == crc
        db.execute("INSERT INTO person_words(person_words, rowid, text) VALUES('delete',?,?)", (row, text))
        db.execute("INSERT OR REPLACE INTO person_forgotten VALUES(?,?)", (uid, at))
        texts.append(text)
    db.execute(f"DELETE FROM person_sources WHERE turn {AMONG}", (listed,))
    db.execute(f"DELETE FROM person_sources WHERE child='turn' AND id {AMONG}", (listed,))
    db.execute(f"DELETE FROM person_turns WHERE id {AMONG}", (listed,))
    if not sound:  # the index of words was made of what a damaged turn said before
        db.execute("INSERT INTO person_words(person_words) VALUES('rebuild')")
    return texts
