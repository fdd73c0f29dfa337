"""MemoryStore: the person's turns and memories in an album file, read and changed while others use the album.

Every change is one transaction that has reached the disk when the call returns. It holds the album's writer
lock only for that long, so that two conversations may go on at once, and waits for up to ten seconds while
another program writes. Texts are data: nothing in them is ever carried out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TypeVar

import apsw

from ..album.declarations.checksums import AMONG
from ..album.declarations.person_tables import PERSON
from ..album.declarations.tables import USER_VERSION, check_tables, version_of
from ..album.schema import UNREADABLE, connect, open_reader, unusable
from ..album.writing import storage
from ..album.writing.writer import AlbumWriter
from ..errors import AlbumBusy, AlbumError, NoSuchMemory
from ..records import FloatArray
from . import forgetting, reading, writing
from .erasing import HELD, erase
from .records import Forgotten, Heads, Item, Kind, Named, NewItem, StoredTurn, Turn

_T = TypeVar("_T")
_WAIT_S = 10.0


class MemoryStore:
    """Opened by `open`. All methods raise AlbumError, and may be called from any thread."""

    def __init__(self, db: apsw.Connection, path: Path, writable: bool) -> None:
        self._db, self.path, self._writable, self._lock = db, path, writable, RLock()
        self._log = storage.log_of(path)
        self._has = PERSON.exist(db)
        if self._has:
            PERSON.check_version(db, path)

    @classmethod
    def open(cls, path: Path, write: bool = True) -> MemoryStore:
        """`write`: False for a snapshot that cannot be changed, also of an album that cannot be written."""
        path = Path(path).resolve()
        if not write:
            return cls._opened(open_reader(path), path, False)
        connect(path).close()
        _modernise(path)
        storage.sweep_lock(path)
        try:
            db = storage.open_for_writing(path)
        except apsw.Error as error:
            raise unusable(path, error) from None
        return cls._opened(db, path, True)

    @classmethod
    def _opened(cls, db: apsw.Connection, path: Path, writable: bool) -> MemoryStore:
        try:
            if writable:
                check_tables(db, path, version_of(db))
                db.execute("PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY").fetchall()
            return cls(db, path, writable)
        except UNREADABLE as error:
            db.close()
            raise unusable(path, error) from None
        except BaseException:
            db.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def __enter__(self) -> MemoryStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Reading. Every row is checked against its checksum.

    @property
    def exists(self) -> bool:
        """Whether anything was ever said to the album."""
        return self._read(lambda db: True, False)

    def turns(self, ids: Sequence[int]) -> list[StoredTurn]:
        """The turns with these ids, in that order; those that do not exist are left out."""
        found = {turn.id: turn for turn in self._turns(f"WHERE id {AMONG}", json.dumps([*map(int, ids)]))}
        return [found[row] for row in ids if row in found]

    def undigested(self, limit: int) -> list[StoredTurn]:
        """The first `limit` turns, by id, whose facts have not been drawn."""
        return self._turns("WHERE traits IS NULL ORDER BY id LIMIT ?", limit)

    def digested_after(self, row: int, limit: int) -> list[StoredTurn]:
        """The first `limit` turns, by id, with greater ids than `row` whose facts were drawn."""
        return self._turns("WHERE id > ? AND traits IS NOT NULL ORDER BY id LIMIT ?", row, limit)

    def all_turns(self) -> list[StoredTurn]:
        """What was said, by time."""
        return self._turns("ORDER BY at, id")

    def recent(self, chat: str, limit: int, before: int | None = None) -> list[StoredTurn]:
        """The last turns of a conversation among the album's last, by id; `before`: with lesser ids."""
        last = "coalesce(?1, (SELECT ifnull(max(id), 0) + 1 FROM person_turns))"
        # By number, since nothing is sorted by conversation; so many of other conversations may lie between.
        rest = f"WHERE id < {last} AND id >= {last} - 10 * ?3 AND chat = ?2 ORDER BY id DESC LIMIT ?3"
        return self._turns(rest, before, chat, limit)[::-1]

    def loose(self) -> list[tuple[int, str, int]]:
        """(id, chat, at) of the digested turns that are in no session, by chat and time."""
        return self._read(reading.loose, [])

    def items(self, kind: Kind | None = None, past: bool = True) -> list[Item]:
        """The memories, of one kind or all, by time; with `past` also values that were replaced."""
        where = ("1" if kind is None else "kind = ?") + ("" if past else " AND past = 0")
        return self._items(f"WHERE {where} ORDER BY at, id", *([] if kind is None else [kind]))

    def latest(self, kind: Kind, past: bool, limit: int, skip: int) -> tuple[list[Item], int]:
        """The memories of a kind, the latest first, at most `limit` after the first `skip`; and how many
        there are in all. `past`: also values that were replaced.
        """
        none: tuple[list[Item], int] = ([], 0)
        return self._read(lambda db: reading.latest(db, self.path, kind, past, limit, skip), none)

    def values_of(self, kind: Kind, key: str) -> list[Item]:
        """The memories of one kind and key, current and past, by time."""
        return self._items("WHERE kind = ? AND key = ? ORDER BY at, id", kind, key)

    def item(self, row: int) -> Item | None:
        return next(iter(self._items("WHERE id = ?", row)), None)

    def notes(self) -> list[Item]:
        """The current semantic and episodic memories that no turn gave: what the person wrote down."""
        return self._read(lambda db: reading.notes(db, self.path), [])

    def items_of(self, turns: Sequence[int], kind: Kind | None = None) -> list[Item]:
        """The memories, of one kind or all, that were drawn from any of these turns, by id."""
        drawn = f"SELECT id FROM person_sources WHERE child = 'item' AND turn {AMONG}"
        rest = f"WHERE id IN ({drawn}) AND (?2 IS NULL OR kind = ?2) ORDER BY id"
        return self._items(rest, json.dumps([*map(int, turns)]), kind)

    def objects(self) -> list[tuple[int, Named]]:
        """What pictures show by the names that the person gave, with the memory of each, the latest first."""
        return self._read(lambda db: reading.objects(db, self.path), [])

    def search(
        self, words: Sequence[str], limit: int, first: int = 1, last: int | None = None
    ) -> list[tuple[int, float]]:
        """(id, BM25 score) of the turns with ids first..last that hold any of the words, best first.

        Common words are left out, so that the time does not grow with the album.
        """
        return self._read(lambda db: reading.search(db, words, limit, first, last), [])

    def heads(self, seen: int = -1) -> tuple[int, int, Heads]:
        """The columns of the turns that may have changed since `seen`, as an earlier call told it first.

        Returns what to give as `seen` next time, the first id that may have changed (1 << 62: none), and the
        columns from that id on. The caller drops what it knows of these.
        """

        def read(db: apsw.Connection) -> tuple[int, int, Heads]:
            now, first = reading.changed_since(db, seen)
            low = (1 << 62) if first is None else first
            return now, low, reading.heads(db, low)

        return self._read(read, (-1, 1, reading.NO_HEADS))

    def setting(self, key: str) -> str | None:
        """A value that `set` stored under the key."""
        found = self._read(
            lambda db: db.execute("SELECT value FROM person_meta WHERE key=?", (key,)).get, None
        )
        return None if found is None else str(found)

    # Changes.

    def add_turns(self, turns: Sequence[Turn]) -> list[int | None]:
        """Stores turns; returns their ids. A turn stored before keeps its id; a forgotten one gives None."""

        def change(db: apsw.Connection) -> list[int | None]:
            rows = [writing.add_turn(db, turn) for turn in turns]
            writing.note_change(db, min((row for row in rows if row is not None), default=1 << 61))
            return rows

        return self._write(change)

    def digest(
        self,
        turn: int,
        traits: int,
        items: Sequence[NewItem],
        vector: FloatArray | None = None,
        encoder: str = "",
        objects: Sequence[Named] = (),
    ) -> bool:
        """Stores what was drawn from one turn; False, and nothing, if that was done before or it is gone.

        `objects`: what its pictures show, by the first of the memories.

        `encoder`: the name of what made the vector, which is not stored where the others are another's.
        """

        def change(db: apsw.Connection) -> bool:
            scale, data = None, None
            if vector is not None and writing.own_encoder(db, encoder):
                scale, data = writing.stored(vector)
            db.execute(
                "UPDATE person_turns SET traits=?, scale=?, data=? WHERE id=? AND traits IS NULL",
                (traits, scale, data, turn),
            )
            if not db.changes():
                return False
            rows = [writing.put(db, item) for item in items]
            writing.name_objects(db, rows[0] if rows else 0, objects if rows else ())
            writing.note_change(db, turn)
            return True

        return self._write(change)

    def use_encoder(self, name: str) -> None:
        """From now on the turns' vectors are this encoder's; those of another are deleted."""

        def change(db: apsw.Connection) -> None:
            writing.use_encoder(db, name)
            writing.note_change(db, 1)

        if self._has and self.setting("encoder") != name:
            self._write(change)

    def without_vector(self, row: int, limit: int) -> list[StoredTurn]:
        """The first `limit` turns, by id, with greater ids than `row` that were digested without a vector."""
        rest = "WHERE id > ? AND traits IS NOT NULL AND data IS NULL ORDER BY id LIMIT ?"
        return self._turns(rest, row, limit)

    def add_vectors(self, vectors: Sequence[tuple[int, FloatArray]], encoder: str) -> None:
        """Stores vectors of turns, unless the others are of another encoder."""

        def change(db: apsw.Connection) -> None:
            if writing.own_encoder(db, encoder):
                db.executemany(
                    "UPDATE person_turns SET scale=?, data=? WHERE id=?",
                    [(*writing.stored(vector), row) for row, vector in vectors],
                )
                writing.note_change(db, min(row for row, _ in vectors))

        self._write(change)

    def close_session(self, turns: Sequence[int], items: Sequence[NewItem]) -> bool:
        """Makes a session of turns and stores its memories; False, and nothing, if one of them is in one."""

        def change(db: apsw.Connection) -> bool:
            (last,) = db.execute("SELECT coalesce(max(session), 0) FROM person_turns").fetchone() or (0,)
            for turn in turns:
                db.execute(
                    "UPDATE person_turns SET session=? WHERE id=? AND session IS NULL", (last + 1, turn)
                )
                if not db.changes():
                    raise _Undone
            for item in items:
                writing.put(db, item)
            writing.note_change(db, min(turns, default=1 << 61))
            return True

        try:
            return self._write(change)
        except _Undone:
            return False

    def add_item(self, item: NewItem) -> int:
        """Stores a memory; one with the key of a current one takes its place. Returns its id."""
        return self._write(lambda db: writing.put(db, item))

    def replace_item(self, row: int, item: NewItem) -> int:
        """Stores a corrected value of a memory, which becomes past. Returns the new one's id."""
        return self._write(lambda db: writing.correct(db, row, item))

    def redate(self, latest: int) -> None:
        """Puts core and procedural memories where they belong that a wrong clock dated after `latest`, ms."""
        late = f"SELECT 1 FROM person_items WHERE {writing.KEYED} AND at > ? LIMIT 1"
        if self._read(lambda db: db.execute(late, (latest,)).fetchone(), None):
            self._write(lambda db: writing.redate(db, latest))

    def set(self, key: str, value: str) -> None:
        """Stores a value of the runtime's own under a key such as "personality"."""
        self._write(lambda db: db.execute("INSERT OR REPLACE INTO person_meta VALUES(?,?)", (key, value)))

    def forget(
        self, turns: Sequence[int], items: Sequence[int], at: int, keep_bytes: bool = False
    ) -> Forgotten:
        """Deletes turns and memories, what was drawn from them, and their bytes. Raises NoSuchMemory.

        `at`: ms, kept with the names of the forgotten turns, so that these are not stored again.
        `keep_bytes`: the bytes wait for `sweep`, in a program that itself has the album open.
        """

        vectors = self._read(reading.count_objects, 0)

        def change(db: apsw.Connection) -> tuple[tuple[int, ...], tuple[int, ...], list[str]]:
            _check_ids(db, self.path, "t", "person_turns", turns)
            _check_ids(db, self.path, "m", "person_items", items)
            gone = forgetting.remove(db, turns, items, at)
            writing.note_change(db, 1)
            return gone

        if not self._has and (turns or items):
            raise NoSuchMemory(
                f"{self.path}: no memories of the person are in it; nothing is there to forget"
            )
        gone, lost, texts = self._write(change)
        with self._lock:
            # A picture's vector cannot be looked for as a text is: the file is written anew.
            sought = texts if self._read(reading.count_objects, 0) == vectors else None
            left = HELD if keep_bytes else erase(self._db, sought)
        return Forgotten(gone, lost, tuple(texts), left)

    def sweep(self) -> str:
        """Writes the file anew, so that nothing deleted is left; "", or why that could not be done."""
        if not self._writable:
            raise AlbumError(f"{self.path}: it was opened to be read; open it for writing")
        with self._lock:
            return erase(self._db, None)

    def forget_all(self, at: int) -> Forgotten:
        """Forgets everything; the names of the turns stay, so that these are not stored again."""

        def ids(db: apsw.Connection, table: str) -> list[int]:
            return [row for (row,) in db.execute(f"SELECT id FROM {table}")]

        turns: list[int] = self._read(lambda db: ids(db, "person_turns"), [])
        items: list[int] = self._read(lambda db: ids(db, "person_items"), [])
        return self.forget(turns, items, at)

    def _turns(self, rest: str, *given: apsw.SQLiteValue) -> list[StoredTurn]:
        return self._read(lambda db: reading.turns(db, self.path, rest, *given), [])

    def _items(self, rest: str, *given: apsw.SQLiteValue) -> list[Item]:
        return self._read(lambda db: reading.items(db, self.path, rest, *given), [])

    def _read(self, read: Callable[[apsw.Connection], _T], none: _T) -> _T:
        with self._lock:
            try:
                self._has = self._has or PERSON.exist(self._db)
                found = none
                if self._has:
                    # One state of the file, whatever others write meanwhile; a snapshot is one anyway.
                    with self._db if self._writable else nullcontext():
                        found = read(self._db)
                return found
            except UNREADABLE as error:
                raise unusable(self.path, error) from None

    def _write(self, change: Callable[[apsw.Connection], _T]) -> _T:
        if not self._writable:
            raise AlbumError(f"{self.path}: it was opened to be read; open it for writing")
        with self._lock:
            lock = _wait_for_lock(self.path)
            try:
                self._check_place()
                with storage.transaction(self._db):
                    if not PERSON.exist(self._db):
                        PERSON.create(self._db)
                    PERSON.upgrade(self._db)
                    done = change(self._db)
                self._has = True
                self._check_place()
                return done
            except UNREADABLE as error:
                raise unusable(self.path, error) from None
            finally:
                lock.release()

    def _check_place(self) -> None:
        """Raises AlbumError if the file was deleted or replaced: what is written would be lost."""
        if not storage.has_moved(self._db):
            self._log = self._log or storage.log_of(self.path)
            return
        self._db.close()
        storage.discard_log(self.path, self._log)
        raise AlbumError(
            f"{self.path}: the album was deleted or replaced while it was open, so that this is not "
            "stored; open it again"
        )


class _Undone(Exception):
    """Rolls a transaction back because another program was faster."""


def _modernise(path: Path) -> None:
    """Converts an album of an older format, as any writer does."""
    db = connect(path)
    try:
        version = version_of(db)
    except UNREADABLE as error:
        raise unusable(path, error) from None
    finally:
        db.close()
    if version < USER_VERSION:
        with AlbumWriter.extend(path):
            pass


def _wait_for_lock(path: Path) -> storage.WriterLock:
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            return storage.WriterLock(path)
        except AlbumBusy:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _check_ids(db: apsw.Connection, path: Path, letter: str, table: str, ids: Sequence[int]) -> None:
    for row in ids:
        if db.execute(f"SELECT 1 FROM {table} WHERE id=?", (row,)).fetchone() is None:
            raise NoSuchMemory(f"{path}: there is no {letter}{row}; `gamer memory list` shows what there is")
