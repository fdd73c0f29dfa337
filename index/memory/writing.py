"""Changes of the person's tables, each inside the caller's transaction: turns and memories in, and out again.

Of the memories of one kind and key the latest is current, by the time at which it was said, and the others
are past. The order in which turns arrive does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import apsw

from .. import json_checked
from ..album.declarations import person_tables
from ..album.declarations.checksums import AMONG
from ..album.declarations.person_tables import ITEMS, OBJECTS, TURNS
from ..json_checked import Between, read_or_none
from ..records import FloatArray
from ..vectors.quantize import quantize
from .records import PROCEDURAL, Named, NewItem, Turn

KEYED = "kind IN ('core', 'procedural')"  # of a key of these kinds one value is current
_FEW_LATE = 3  # turns of a wrong clock, in an album that has only a few turns
_KEPT_CHANGES = 64  # after more of them, a reader reads all turns again
_CHANGES = "changes"
_Count = Annotated[int, Between(0, 1 << 62)]


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
    TURNS.insert(db, values, id=row)
    db.execute("INSERT INTO person_words(rowid, text) VALUES(?,?)", (row, turn.text))
    _link(db, "turn", row, turn.drawn)
    _link_says(db, row, turn.says)
    return row


def put(db: apsw.Connection, item: NewItem) -> int:
    """Stores a memory, or links its sources to the one that says the same; returns its id."""
    if not item.key:  # a person's own note
        return _insert(db, item, past=False)
    before, after = _around(db, item)
    if before is not None and before.holds(item) and (item.sources or before.at == item.at):
        return _confirm(db, before.row, item.sources)
    if before is not None and (before.ends is None or before.ends > item.at):
        if later := _said_after(db, before.row, item.at):
            after = _split(db, before, later)
        _end(db, before.row, item.at)
    if after is not None and after.says(item) and item.sources:  # it held from an earlier time on
        db.execute("UPDATE person_items SET at=? WHERE id=?", (item.at, after.row))
        return _confirm(db, after.row, item.sources)
    row = _insert(db, item, after is not None, None if after is None else after.at)
    if item.kind == "procedural":
        _keep_five(db)
    return row


def name_objects(db: apsw.Connection, item: int, objects: Iterable[Named]) -> None:
    """Notes what the pictures show that came with a memory."""
    for one in objects:
        scale, data = (None, None) if one.vector is None else stored(one.vector)
        values = (item, one.name, one.picture, one.encoder, scale, data)
        OBJECTS.insert(db, values)


def stored(vector: FloatArray) -> tuple[float, bytes]:
    """A vector as the columns `scale` and `data` have it."""
    codes, scales = quantize(vector.reshape(1, -1))
    return float(scales[0]), codes.tobytes()


@dataclass(frozen=True)
class _Value:
    """One of the values of a key, from `at` until `ends`; None while it is current."""

    row: int
    at: int
    text: str
    ends: int | None

    def says(self, item: NewItem) -> bool:
        return self.text.casefold() == item.text.casefold()

    def holds(self, item: NewItem) -> bool:
        return self.says(item) and (self.ends is None or item.at < self.ends or self.at == item.at)


def _around(db: apsw.Connection, item: NewItem) -> tuple[_Value | None, _Value | None]:
    """The value that held when the item was said, or that was the last to, and the one that came next."""
    rows: list[Any] = db.execute(
        "SELECT id, at, text, past, ends FROM person_items WHERE kind=? AND key=? ORDER BY at, id",
        (item.kind, item.key),
    ).fetchall()
    values = [_Value(row, at, text, (at if ends is None else ends) if past else None)
              for row, at, text, past, ends in rows]  # fmt: skip
    before = [value for value in values if value.at <= item.at]
    after = [value for value in values if value.at > item.at]
    same = [value for value in before if value.at == item.at and value.says(item)]
    held = same or before
    return (held[-1] if held else None), (after[0] if after else None)


def _confirm(db: apsw.Connection, row: int, sources: Iterable[int]) -> int:
    _link(db, "item", row, sources)
    ITEMS.seal(db, row)
    return row


def _said_after(db: apsw.Connection, row: int, at: int) -> list[int]:
    """The turns, by time, that said a memory again after `at`."""
    found = db.execute(
        "SELECT t.id FROM person_sources s JOIN person_turns t ON t.id = s.turn "
        "WHERE s.child='item' AND s.id=? AND t.at > ? ORDER BY t.at, t.id",
        (row, at),
    )
    return [int(turn) for (turn,) in found]


def _split(db: apsw.Connection, value: _Value, turns: list[int]) -> _Value:
    """Makes a memory of its own of what these turns said again, because another value held in between."""
    new = next_id(db, "person_items")
    (at,) = db.execute("SELECT at FROM person_turns WHERE id=?", (turns[0],)).fetchone() or (value.at,)
    db.execute(
        f"INSERT INTO person_items(id, {ITEMS.columns}, crc) SELECT ?, kind, key, text, keywords, ?, ends, "
        "past, origin, sharing, 0 FROM person_items WHERE id=?",
        (new, at, value.row),
    )
    listed = json.dumps(turns)
    db.execute(
        f"UPDATE person_sources SET id=? WHERE child='item' AND id=? AND turn {AMONG}",
        (new, value.row, listed),
    )
    ITEMS.seal(db, new)
    return _Value(new, int(at), value.text, value.ends)


def redate(db: apsw.Connection, latest: int) -> None:
    """Puts the keyed memories that a wrong clock has dated after `latest` where they belong.

    They count as said when the last turn before theirs was that has a possible time, or else just before the
    next one. Where many turns are that late, it is the clock of now that is wrong, and nothing is done.
    """
    late, all_ = db.execute(
        "SELECT count(*) FILTER (WHERE at > ?), count(*) FROM person_turns", (latest,)
    ).get
    if late > max(_FEW_LATE, all_ // 10):
        return
    rows: list[Any] = db.execute(
        f"SELECT id, {ITEMS.columns} FROM person_items WHERE {KEYED} AND at > ? ORDER BY at, id", (latest,)
    ).fetchall()
    for row, kind, key, text, keywords, at, _, _, origin, sharing in rows:
        sources, replies = person_tables.sources(db, "item", row), saying(db, [row])
        when = _possible(db, sources, latest)
        delete_items(db, [row])
        ended_by: list[Any] = db.execute(
            "UPDATE person_items SET past=0, ends=NULL WHERE kind=? AND key=? AND ends=? RETURNING id",
            (kind, key, at),
        ).fetchall()
        for (ended,) in ended_by:
            ITEMS.seal(db, int(ended))
        words = tuple(keywords.split())
        new = put(db, NewItem(kind, key, text, when, words, None, origin, sharing, sources))
        for turn in replies:
            _link_says(db, turn, [new])


def _possible(db: apsw.Connection, sources: Sequence[int], latest: int) -> int:
    """The time of the last turn before these that is not after `latest`, or just before that of the next."""
    first = min(sources, default=0)
    for than, order, sooner in (("<", "DESC", 0), (">", "ASC", 1)):
        found = db.execute(
            f"SELECT at FROM person_turns WHERE id {than} ? AND at <= ? ORDER BY id {order} LIMIT 1",
            (first, latest),
        ).fetchone()
        if found:
            return int(found[0]) - sooner
    return latest


def correct(db: apsw.Connection, row: int, item: NewItem) -> int:
    """Stores the new value of a memory, whose key it takes over; returns the new one's id."""
    db.execute("UPDATE person_items SET key=?, past=1, ends=? WHERE id=?", (item.key, item.at, row))
    ITEMS.seal(db, row)
    return put(db, item)


def _keep_five(db: apsw.Connection) -> None:
    current: list[Any] = db.execute(
        "SELECT id, at FROM person_items WHERE kind='procedural' AND past=0 ORDER BY at DESC, id DESC"
    ).fetchall()
    for row, _ in current[PROCEDURAL:]:
        _end(db, row, current[0][1])


def _end(db: apsw.Connection, row: int, at: int) -> None:
    db.execute("UPDATE person_items SET past=1, ends=? WHERE id=?", (at, row))
    ITEMS.seal(db, row)


def _insert(db: apsw.Connection, item: NewItem, past: bool, ends: int | None = None) -> int:
    row = next_id(db, "person_items")
    values = (
        item.kind, item.key, item.text, " ".join(item.keywords), item.at, item.ends if ends is None else ends,
        int(past), item.origin, item.sharing,
    )  # fmt: skip
    ITEMS.insert(db, values, id=row)
    _link(db, "item", row, item.sources)
    ITEMS.seal(db, row)
    return row


def _link(db: apsw.Connection, child: str, row: int, turns: Iterable[int]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO person_sources SELECT ?, ?, id FROM person_turns WHERE id=?",
        [(child, row, turn) for turn in turns],
    )


def _link_says(db: apsw.Connection, turn: int, items: Iterable[int]) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO person_sources SELECT 'says', id, ? FROM person_items WHERE id=?",
        [(turn, item) for item in items],
    )


def saying(db: apsw.Connection, items: Iterable[int]) -> set[int]:
    """The program's turns that repeat one of these memories."""
    listed = json.dumps(sorted(items))
    found = db.execute(f"SELECT turn FROM person_sources WHERE child='says' AND id {AMONG}", (listed,))
    return {int(turn) for (turn,) in found}


def delete_items(db: apsw.Connection, items: list[int]) -> list[str]:
    keep_numbers(db, "person_items")
    listed = json.dumps(items)
    rows: list[Any] = db.execute(
        f"SELECT CAST(text AS TEXT) FROM person_items WHERE id {AMONG}", (listed,)
    ).fetchall()
    db.execute(f"DELETE FROM person_sources WHERE child IN ('item', 'says') AND id {AMONG}", (listed,))
    db.execute(f"DELETE FROM person_objects WHERE item {AMONG}", (listed,))
    db.execute(f"DELETE FROM person_items WHERE id {AMONG}", (listed,))
    return [text for (text,) in rows]


def keep_numbers(db: apsw.Connection, table: str) -> None:
    last = next_id(db, table) - 1
    db.execute("INSERT OR REPLACE INTO person_meta VALUES(?,?)", (f"last {table}", str(last)))


def own_encoder(db: apsw.Connection, name: str) -> bool:
    """Whether the turns' vectors are this encoder's; the first one that is named becomes it."""
    db.execute("INSERT OR IGNORE INTO person_meta VALUES('encoder', ?)", (name,))
    return bool(db.execute("SELECT value FROM person_meta WHERE key='encoder'").get == name)


def use_encoder(db: apsw.Connection, name: str) -> None:
    """From now on the turns' vectors are this encoder's; those of another are deleted."""
    if db.execute("SELECT value FROM person_meta WHERE key='encoder'").get != name:
        db.execute("UPDATE person_turns SET scale=NULL, data=NULL WHERE data IS NOT NULL")
        db.execute("INSERT OR REPLACE INTO person_meta VALUES('encoder', ?)", (name,))


def note_change(db: apsw.Connection, lowest: int) -> None:
    """Notes that turns from this id on may have changed, for `reading.changed_since`."""
    number, lows = changes(db)
    kept = [*lows, lowest][-_KEPT_CHANGES:]
    db.execute("INSERT OR REPLACE INTO person_meta VALUES(?, ?)", (_CHANGES, json.dumps([number + 1, kept])))


def changes(db: apsw.Connection) -> tuple[int, list[int]]:
    """How many changes of turns there were, and the lowest turn of each of the last ones; none, if that note
    is damaged: after the next, a reader reads all turns again.
    """
    found: Any = db.execute("SELECT value FROM person_meta WHERE key=?", (_CHANGES,)).get
    noted = json_checked.stored(tuple[Any, ...], found) if isinstance(found, str | bytes) else None
    number, lows = noted if noted is not None and len(noted) == 2 else (None, None)
    count, turns = read_or_none(_Count, number), read_or_none(tuple[_Count, ...], lows)
    return (0, []) if count is None or turns is None else (count, list(turns))
