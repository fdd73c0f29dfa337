"""Reads of the person's tables: rows checked against their checksums, columns of all turns, and words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from ..album.declarations import person_tables
from ..album.declarations.person_tables import ITEMS, OBJECTS, PERSON, TURNS
from . import writing
from .records import Heads, Item, Kind, Named, NewItem, StoredTurn, Turn

_TURN = f"SELECT id, crc, session, traits IS NOT NULL, {TURNS.columns} FROM person_turns"
_ITEM = f"SELECT id, crc, {ITEMS.columns} FROM person_items"
# A query reads at most this many places of its words; the rarest come first.
_POSTINGS = 6_000
_MAX_WORDS = 32
_WORD = re.compile(r"\w+")
_VOCABULARY = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.person_vocabulary USING fts5vocab(main, person_words, row)"
)
_NO_TURN = "NOT EXISTS (SELECT 1 FROM person_sources s WHERE s.child='item' AND s.id=person_items.id)"
_EMPTY = np.zeros(0, np.int64)
NO_HEADS = Heads(
    _EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY, _EMPTY, np.zeros((0, 0), np.int8), np.zeros(0, np.float32), ()
)


def loose(db: apsw.Connection) -> list[tuple[int, str, int]]:
    rows = db.execute(
        "SELECT id, chat, at FROM person_turns WHERE session IS NULL AND traits IS NOT NULL "
        "ORDER BY chat, at, id"
    )
    return [(int(row), str(chat), int(at)) for row, chat, at in rows]


def latest(
    db: apsw.Connection, path: Path, kind: Kind, past: bool, limit: int, skip: int
) -> tuple[list[Item], int]:
    where = "WHERE kind = ?" + ("" if past else " AND past = 0")
    (total,) = db.execute(f"SELECT count(*) FROM person_items {where}", (kind,)).fetchone() or (0,)
    page = f"{where} ORDER BY at DESC, id DESC LIMIT ? OFFSET ?"
    return items(db, path, page, kind, limit, skip), int(total)


def notes(db: apsw.Connection, path: Path) -> list[Item]:
    # A memory that the rules drew has a key "turn 12": thanks to the index these are not read.
    return [
        item
        for kind in ("semantic", "episodic")
        for keys in ("key < 'turn '", "key > 'turn :'")
        for item in items(db, path, f"WHERE kind=? AND past=0 AND {keys} AND {_NO_TURN}", kind)
    ]


def objects(db: apsw.Connection, path: Path) -> list[tuple[int, Named]]:
    if not PERSON.is_current(db):
        return []
    columns = ", ".join(f"o.{column}" for column in OBJECTS.columns.split(", "))
    records = db.execute(
        f"SELECT o.crc, {columns} FROM person_objects o JOIN person_items i ON i.id = o.item "
        "WHERE i.past = 0 ORDER BY i.at DESC, i.id DESC, o.name, o.picture"
    )
    return [_object(path, record) for record in records]


def count_objects(db: apsw.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM person_objects").get) if PERSON.is_current(db) else 0


def _object(path: Path, record: Any) -> tuple[int, Named]:
    crc, *values = record
    item, name, picture, encoder, scale, data = values
    OBJECTS.check(path, item, crc, values)
    vector = None if data is None else np.frombuffer(data, np.int8).astype(np.float32) * np.float32(scale)
    return int(item), Named(name, picture, vector, encoder)


def turns(db: apsw.Connection, path: Path, rest: str, *given: apsw.SQLiteValue) -> list[StoredTurn]:
    """The turns that a SELECT with this end gives."""
    return [_turn(db, path, record) for record in db.execute(f"{_TURN} {rest}", given).fetchall()]


def items(db: apsw.Connection, path: Path, rest: str, *given: apsw.SQLiteValue) -> list[Item]:
    """The memories that a SELECT with this end gives."""
    return [_item(db, path, record) for record in db.execute(f"{_ITEM} {rest}", given).fetchall()]


def _turn(db: apsw.Connection, path: Path, record: Any) -> StoredTurn:
    row, crc, session, digested, *values = record
    TURNS.check(path, row, crc, values)
    uid, chat, speaker, at, text, pictures, sharing = values
    drawn = person_tables.sources(db, "turn", row)
    said = db.execute("SELECT id FROM person_sources WHERE child='says' AND turn=? ORDER BY id", (row,))
    says = tuple(int(item) for (item,) in said)
    shown = tuple(pictures.split("\n")) if pictures else ()
    turn = Turn(uid, chat, speaker, at, text, shown, sharing, drawn, says)
    return StoredTurn(row, turn, session, bool(digested))


def _item(db: apsw.Connection, path: Path, record: Any) -> Item:
    row, crc, *values = record
    sources = person_tables.sources(db, "item", row)
    ITEMS.check(path, row, crc, (*values, *sources))
    kind, key, text, keywords, at, ends, past, origin, sharing = values
    words = tuple(keywords.split())
    return Item(row, NewItem(kind, key, text, at, words, ends, origin, sharing, sources), bool(past))


def heads(db: apsw.Connection, first: int) -> Heads:
    rows: list[Any] = db.execute(
        "SELECT id, at, chat, speaker, coalesce(session, -1), coalesce(traits, -1), scale, data "
        "FROM person_turns WHERE id >= ? ORDER BY id",
        (first,),
    ).fetchall()
    chats: dict[str, int] = {}
    ids, at, chat, speaker, session, traits, scales, data = zip(*rows, strict=True) if rows else [()] * 8
    names = tuple(dict.fromkeys(speaker))
    speakers = {name: number for number, name in enumerate(names)}
    dim = max((len(code) for code in data if code is not None), default=0)
    codes = np.zeros((len(rows), dim), np.int8)
    for place, code in enumerate(data):
        if code is not None and len(code) == dim:
            codes[place] = np.frombuffer(code, np.int8)
    return Heads(
        np.array(ids, np.int64),
        np.array(at, np.int64),
        np.array([_hash(name, chats) for name in chat], np.int64),
        np.array([speakers[name] for name in speaker], np.int64),
        np.array(session, np.int64),
        np.array(traits, np.int64),
        codes,
        np.array([scale or 0.0 for scale in scales], np.float32),
        names,
    )


def _hash(name: str, known: dict[str, int]) -> int:
    """A number of a chat that is the same in every call."""
    if name not in known:
        known[name] = hash(name) & 0x7FFF_FFFF_FFFF_FFFF
    return known[name]


def search(
    db: apsw.Connection, words: Sequence[str], limit: int, first: int, last: int | None
) -> list[tuple[int, float]]:
    _prepare(db)
    spelt = _stems(db, words)
    counts: dict[str, int] = {}
    for stem in [*spelt][:_MAX_WORDS]:
        found: Any = db.execute("SELECT doc FROM temp.person_vocabulary WHERE term=?", (stem,)).fetchone()
        if found:
            counts[spelt[stem]] = int(found[0])
    kept: list[str] = []
    total = 0
    for word, count in sorted(counts.items(), key=lambda pair: pair[1]):
        total += count
        if kept and total > _POSTINGS:
            break
        kept.append(word)
    return _ranked(db, kept, limit, first, last)


def _prepare(db: apsw.Connection) -> None:
    """Declares the counts of words, also over a snapshot, in which nothing else may be changed."""
    only = db.execute("PRAGMA query_only").get
    if only:
        db.execute("PRAGMA query_only=0")
    try:
        db.execute(_VOCABULARY)
    finally:
        if only:
            db.execute("PRAGMA query_only=1")


def changed_since(db: apsw.Connection, seen: int) -> tuple[int, int | None]:
    """How many changes of turns there were, and the first turn that may differ from how it was after `seen`.

    None if nothing has changed.
    """
    number, lows = writing.changes(db)
    if number == seen:
        return number, None
    new = number - seen
    return number, min(lows[-new:]) if 0 < new <= len(lows) else 1


def _stems(db: apsw.Connection, words: Sequence[str]) -> dict[str, str]:
    """By stem, the first of its spellings."""
    tokens: Any = db.fts5_tokenizer("porter", ["unicode61"])
    out: dict[str, str] = {}
    for word in words:
        for part in _WORD.findall(word[:200]):
            stems = tokens(
                part.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
            )
            if len(stems) == 1:
                out.setdefault(str(stems[0]), part)
    return out


def _ranked(
    db: apsw.Connection, words: Sequence[str], limit: int, first: int, last: int | None
) -> list[tuple[int, float]]:
    if not words:
        return []
    match = " OR ".join(f'"{word}"' for word in words)  # quoted, so that no word is read as FTS5 syntax
    rows = db.execute(
        "SELECT rowid, -bm25(person_words) FROM person_words WHERE person_words MATCH ? "
        "AND rowid BETWEEN ? AND ? ORDER BY bm25(person_words), rowid LIMIT ?",
        (match, first, (1 << 62) if last is None else last, limit),
    )
    return [(int(row), float(score)) for row, score in rows]
