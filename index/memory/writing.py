"""Changes of the person's tables, each inside the caller's transaction: turns and memories in, and out again.

Of the memories of one kind and key the latest is current, by the time at which it was said, and the others
are past. The order in which turns arrive does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from ..album import person_tables
from ..album.person_tables import ITEM_COLUMNS, TURN_COLUMNS
from .records import PROCEDURAL, NewItem, Turn


def next_id(db: apsw.Connection, table: str) -> int:
    """One more than any id that the table has ever had: a forgotten turn's number is not given again."""
    (most,) = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone() or (0,)
    kept = db.execute("SELECT value FROM person_meta WHERE key=?", (f"last {table}",)).fetchone()
    return max(int(most), int(kept[0]) if kept else 0) + 1


def add_turn(db: apsw.Connection, turn: Turn) -> int | None:
    """The turn's id; that of the stored turn if there is one with its uid; None if that was forgotten."""
    if found := db.execute("SELECT id FROM person_turns WHERE uid=?", (turn.uid,)).fetchone():
        return int(found[0])
    if db.execute("SELECT 1 FROM person_forgotten WHERE uid=?", (turn.uid,)).fetchone():
        return None
    row = next_id(db, "person_turns")
    values = (
        turn.uid, turn.chat, turn.speaker, turn.at, turn.text, "\n".join(turn.pictures), turn.sharing,
    )  # fmt: skip
    db.execute(
        f"INSERT INTO person_turns(id, {TURN_COLUMNS}, crc) VALUES(?,?,?,?,?,?,?,?,?)",
        (row, *values, person_tables.crc_of(values)),
    )
    db.execute("INSERT INTO person_words(rowid, text) VALUES(?,?)", (row, turn.text))
    _link(db, "turn", row, turn.drawn)
    return row


def put(db: apsw.Connection, item: NewItem) -> int:
    """Stores a memory, or links its sources to the one that says the same; returns its id."""
    if not item.key:  # a person's own note
        return _insert(db, item, past=False)
    same: list[Any] = db.execute(
        "SELECT id, at, text, past, ends FROM person_items WHERE kind=? AND key=? ORDER BY at DESC, id DESC",
        (item.kind, item.key),
    ).fetchall()
    earlier = [(row, at, ends) for row, at, _, past, ends in same if past and ends is not None]
    for row, at, text, past, _ in same:
        if text.casefold() == item.text.casefold() and (not past or at == item.at):
            _link(db, "item", row, item.sources)
            _seal(db, row)
            return int(row)
    for row, at, ends in earlier:  # what was current until a value that is later than this one
        if at <= item.at < ends:
            _end(db, row, item.at)
    later = [at for _, at, _, _, _ in same if at > item.at]
    if later:
        return _insert(db, item, past=True, ends=min(later))
    for row, _, _, past, _ in same:
        if not past:
            _end(db, row, item.at)
    row = _insert(db, item, past=False)
    if item.kind == "procedural":
        _keep_five(db)
    return row


def correct(db: apsw.Connection, row: int, item: NewItem) -> int:
    """Stores the new value of a memory, whose key it takes over; returns the new one's id."""
    db.execute("UPDATE person_items SET key=?, past=1, ends=? WHERE id=?", (item.key, item.at, row))
    _seal(db, row)
    return put(db, item)


def _keep_five(db: apsw.Connection) -> None:
    current: list[Any] = db.execute(
        "SELECT id, at FROM person_items WHERE kind='procedural' AND past=0 ORDER BY at DESC, id DESC"
    ).fetchall()
    for row, _ in current[PROCEDURAL:]:
        _end(db, row, current[0][1])


def _end(db: apsw.Connection, row: int, at: int) -> None:
    db.execute("UPDATE person_items SET past=1, ends=? WHERE id=?", (at, row))
    _seal(db, row)


def _insert(db: apsw.Connection, item: NewItem, past: bool, ends: int | None = None) -> int:
    row = next_id(db, "person_items")
    values = (
        item.kind, item.key, item.text, " ".join(item.keywords), item.at, item.ends if ends is None else ends,
        int(past), item.origin, item.sharing,
    )  # fmt: skip
    db.execute(
        f"INSERT INTO person_items(id, {ITEM_COLUMNS}, crc) VALUES(?,?,?,?,?,?,?,?,?,?,0)", (row, *values)
    )
    _link(db, "item", row, item.sources)
    _seal(db, row)
    return row


def _link(db: apsw.Connection, child: str, row: int, turns: Iterable[int]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO person_sources SELECT ?, ?, id FROM person_turns WHERE id=?",
        [(child, row, turn) for turn in turns],
    )


def _seal(db: apsw.Connection, row: int) -> None:
    values = db.execute(f"SELECT {ITEM_COLUMNS} FROM person_items WHERE id=?", (row,)).fetchone() or ()
    crc = person_tables.crc_of((*values, *person_tables.sources(db, "item", row)))
    db.execute("UPDATE person_items SET crc=? WHERE id=?", (crc, row))


_AMONG = "IN (SELECT value FROM json_each(?))"


def remove(
    db: apsw.Connection, turns: Sequence[int], items: Sequence[int], at: int
) -> tuple[tuple[int, ...], tuple[int, ...], list[str]]:
    """Deletes turns and memories, and what was drawn from them; returns the ids and the deleted texts.

    A memory takes the turns along that it was drawn from, since they say the same. Other memories of these
    turns go too. An episode that loses a turn is deleted, and the rest of its session is open again; so are
    turns that say what a deleted memory said, and remain.
    """
    gone = _all_drawn(db, set(turns) | _turns_of(db, items))
    listed = json.dumps(sorted(gone))
    found = db.execute(
        f"SELECT DISTINCT id FROM person_sources WHERE child='item' AND turn {_AMONG}", (listed,)
    )
    lost = sorted(set(items) | {row for (row,) in found})
    touched = json.dumps(sorted(_turns_of(db, lost) | gone))
    texts = _delete_items(db, lost)
    sessions = db.execute(
        f"SELECT DISTINCT session FROM person_turns WHERE id {_AMONG} AND session IS NOT NULL", (touched,)
    ).fetchall()
    texts += _delete_turns(db, sorted(gone), at)
    db.execute(f"UPDATE person_turns SET traits=NULL WHERE id {_AMONG}", (touched,))
    for (session,) in sessions:
        db.execute("UPDATE person_turns SET session=NULL WHERE session=?", (session,))
    # The personality was computed from these turns too: it is computed again from those that are left.
    db.execute("DELETE FROM person_meta WHERE key='personality'")
    return tuple(sorted(gone)), tuple(lost), texts


def _turns_of(db: apsw.Connection, items: Sequence[int]) -> set[int]:
    return {turn for item in items for turn in person_tables.sources(db, "item", item)}


def _all_drawn(db: apsw.Connection, turns: set[int]) -> set[int]:
    """These turns, and the assistant's that repeat one of them."""
    gone, new = set(turns), set(turns)
    while new:
        found = db.execute(
            f"SELECT id FROM person_sources WHERE child='turn' AND turn {_AMONG}", (json.dumps(sorted(new)),)
        )
        new = {row for (row,) in found} - gone
        gone |= new
    return gone


def _delete_items(db: apsw.Connection, items: list[int]) -> list[str]:
    _keep_numbers(db, "person_items")
    listed = json.dumps(items)
    rows: list[Any] = db.execute(f"SELECT text FROM person_items WHERE id {_AMONG}", (listed,)).fetchall()
    db.execute(f"DELETE FROM person_sources WHERE child='item' AND id {_AMONG}", (listed,))
    db.execute(f"DELETE FROM person_items WHERE id {_AMONG}", (listed,))
    return [text for (text,) in rows]


def _delete_turns(db: apsw.Connection, turns: list[int], at: int) -> list[str]:
    _keep_numbers(db, "person_turns")
    listed, texts = json.dumps(turns), []
    rows: list[Any] = db.execute(
        f"SELECT id, uid, text FROM person_turns WHERE id {_AMONG}", (listed,)
    ).fetchall()
    for row, uid, text in rows:
        db.execute("INSERT INTO person_words(person_words, rowid, text) VALUES('delete',?,?)", (row, text))
        db.execute("INSERT OR REPLACE INTO person_forgotten VALUES(?,?)", (uid, at))
        texts.append(text)
    db.execute(f"DELETE FROM person_sources WHERE turn {_AMONG}", (listed,))
    db.execute(f"DELETE FROM person_sources WHERE child='turn' AND id {_AMONG}", (listed,))
    db.execute(f"DELETE FROM person_turns WHERE id {_AMONG}", (listed,))
    return texts


def _keep_numbers(db: apsw.Connection, table: str) -> None:
    last = next_id(db, table) - 1
    db.execute("INSERT OR REPLACE INTO person_meta VALUES(?,?)", (f"last {table}", str(last)))
