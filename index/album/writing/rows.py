"""Inserts, replaces and removes one photo's rows in all tables, with their full-text index entries.

Every function runs inside the caller's transaction. Photo rows stay 0..n-1: when a photo is removed, the last
photo moves to its row, and the table `changes` records that segments are out of date for that row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import apsw
import numpy as np

from ...entities.extract import canonical
from ...errors import AlbumError
from ...fields import values
from ...records import TITLE, Encoded, FloatArray, Memory, Mention, Photo
from ...space import cubes
from ...vectors.quantize import quantize, residue
from .. import words
from ..declarations import checksums, clip_tables, field_tables, optional_tables
from ..declarations.checksums import PHOTO_COLUMNS
from ..declarations.sealed import ENTITIES
from . import event_rows

TEXT = "text"  # the channel of the vectors of memories
MAX_CHUNKS = (1 << 16) - 1  # the graph segment counts them in 16 bits
# Memory ids are renumbered when fewer than one in _SPARSE is in use, so that readers can hold arrays indexed
# by memory id.
_SPARSE = 4

_PHOTOS_IN = "SELECT DISTINCT photo FROM vectors WHERE channel=?"
StoredVector = tuple[str, int, float, bytes, bytes | None]  # channel, chunk, scale, data, fine
# How a photo shows an entity (`mentions.leaf`): it hangs on the first two; a CHILD describes another entity
# that the photo shows, and the graph reaches it from there.
PARENT, ALONE, CHILD = 0, 1, 2


def leaves(alone: set[int], children: Mapping[int, set[int]]) -> dict[int, int]:
    """Entity → PARENT, ALONE or CHILD, for one photo.

    `alone`: entities that a memory names without saying what they describe; `children`: parent → entities
    that describe it. Entities that describe one another in a circle are not reached from outside: the photo
    hangs on all of them.
    """
    described = set[int]().union(*children.values())
    roots = [entity for entity in (*alone, *children) if entity in alone or entity not in described]
    reached, waiting = set(roots), list(roots)
    while waiting:
        new = children.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    hanging = set(roots) | ((described | set(children)) - reached)
    return {
        entity: CHILD if entity not in hanging else PARENT if entity in children else ALONE
        for entity in sorted(alone | described | set(children))
    }


class Rows:
    """`dims`: channel → dimensions; a channel's first vector adds its entry."""

    def __init__(self, db: apsw.Connection, where: str, dims: Mapping[str, int]) -> None:
        self._db, self._where = db, where
        self.dims = dict(dims)
        self._full_text = words.is_full_text(db)  # if not, `finish` builds it
        self._stale: set[int] = set()  # events of which a photo was replaced or removed

    def count(self) -> int:
        return self._one("SELECT coalesce(max(row), -1) + 1 FROM photos")

    def find(self, photo_id: str) -> int:
        record = self._db.execute("SELECT row FROM photos WHERE id=?", (photo_id,)).fetchone()
        if not record:
            raise AlbumError(f"{self._where}: no photo with id {photo_id!r} in this album")
        return int(record[0])

    def insert(self, item: Encoded, generation: int) -> None:
        row = self.count()
        try:
            self._photo(row, item.photo)
        except apsw.ConstraintError:
            raise AlbumError(
                f"{self._where}: photo id {item.photo.id!r} is already in the album; "
                "give every photo its own id"
            ) from None
        # A segment may still describe a removed photo that had this row.
        if row < self._one("SELECT coalesce(max(rows), 0) FROM segments"):
            self._changed(row, generation)
        self._beside(item)
        self._contents(row, item)

    def replace(self, item: Encoded, generation: int) -> None:
        """Replaces all data of a photo; it keeps its id and its row."""
        row = self.find(item.photo.id)
        self._clear(row)
        self._db.execute("DELETE FROM photos WHERE row=?", (row,))
        self._photo(row, item.photo)
        self._changed(row, generation)
        self._beside(item)
        self._contents(row, item)
        self._stale |= event_rows.of_photo(self._db, row)

    def _beside(self, item: Encoded) -> None:
        """Writes what optional tables hold of the photo itself."""
        clip_tables.write(self._db, item.photo.id, item.clip)
        field_tables.write(self._db, item.photo.id, values(item.photo))

    def note_details(self, photo_id: str, known: Mapping[str, str]) -> None:
        self.find(photo_id)
        field_tables.write(self._db, photo_id, known)

    def retell(self, item: Encoded, generation: int) -> None:
        """Replaces a photo's memories, mentions and text vectors; its titles go, all else of it stays."""
        row = self.find(item.photo.id)
        self._clear(row, [channel for channel in (TEXT, TITLE) if channel in self.dims])
        self._changed(row, generation)
        self._contents(row, item)
        self._stale |= event_rows.of_photo(self._db, row)

    def remove(self, photo_id: str, generation: int) -> None:
        row, last = self.find(photo_id), self.count() - 1
        self._clear(row)
        self._stale |= event_rows.of_photo(self._db, row)
        self._db.execute("DELETE FROM event_photos WHERE photo=?", (row,))
        self._db.execute("DELETE FROM preferences WHERE kind='photo' AND ? IN (better, worse)", (row,))
        optional_tables.drop_photo(self._db, photo_id)
        self._db.execute("DELETE FROM photos WHERE row=?", (row,))
        self._db.execute("DELETE FROM changes WHERE photo=?", (last,))
        if row != last:
            self._renumber(last, row)
            self._changed(row, generation)

    def move(self, photo_id: str, path: str | None) -> None:
        row = self.find(photo_id)
        self._db.execute("UPDATE photos SET path=? WHERE row=?", (path, row))
        self.seal(row)

    def mark(self, photo_id: str, mark: Memory, present: bool) -> bool:
        """Adds a memory that nothing was computed from, or takes it away; False if that is so already."""
        row = self.find(photo_id)
        held = self._db.execute(
            "SELECT id FROM memories WHERE photo=? AND source=? AND text=?", (row, mark.source, mark.text)
        ).fetchall()
        if bool(held) is present:
            return False
        if present:
            self._memories(row, (mark,))
        for (memory,) in held:
            self._forget(memory, mark.text)
        self.seal(row)
        return True

    def seal(self, row: int) -> None:
        value = checksums.of_photos(self._db, [row], sorted(self.dims))[row]
        self._db.execute("UPDATE photos SET crc=? WHERE row=?", (value, row))

    def refresh_events(self) -> None:
        """Brings the events of replaced and removed photos up to date; once a batch, for speed."""
        event_rows.refresh_all(self._db, self._stale)
        self._stale = set()

    def close_gaps(self) -> None:
        """Renumbers the memory ids to 1..m once most ids are no longer in use."""
        taken, greatest = (
            self._one("SELECT count(*) FROM memories"),
            self._one("SELECT coalesce(max(id), 0) FROM memories"),
        )
        if greatest > _SPARSE * (taken + self.count()) + 1024:
            renumber_memories(self._db)

    def _one(self, sql: str) -> int:
        record = self._db.execute(sql).fetchone()
        return int(record[0]) if record else 0

    def _changed(self, row: int, generation: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO changes VALUES(?,?)", (row, generation))

    def _photo(self, row: int, photo: Photo) -> None:
        lat_e7, lon_e7 = (
            (None, None)
            if photo.lat is None or photo.lon is None
            else (cubes.to_e7(photo.lat), cubes.to_e7(photo.lon))
        )
        moment, labels = (
            (photo.taken_at, photo.tz_source, photo.utc_offset),
            (photo.sharing, photo.sensitivity, photo.sha256),
        )
        values = (row, photo.id, photo.path, *moment, lat_e7, lon_e7, *labels)
        self._db.execute(f"INSERT INTO photos({PHOTO_COLUMNS}) VALUES(?,?,?,?,?,?,?,?,?,?,?)", values)

    def _contents(self, row: int, item: Encoded) -> None:
        self._memories(row, item.photo.memories)
        for channel, vectors in item.vectors.items():
            self._vectors(row, item.photo.id, channel, vectors)
        self._mentions(row, item.mentions)
        self.seal(row)

    def _memories(self, row: int, memories: Iterable[Memory]) -> None:
        for memory in memories:
            values = (row, memory.source, memory.text, memory.sharing, memory.sensitivity)
            self._db.execute(
                "INSERT INTO memories(photo, source, text, sharing, sensitivity) VALUES(?,?,?,?,?)", values
            )
            if self._full_text:
                self._db.execute(
                    "INSERT INTO memories_fts(rowid, text) VALUES(?,?)",
                    (self._db.last_insert_rowid(), memory.text),
                )

    def _vectors(self, row: int, photo_id: str, channel: str, vectors: FloatArray) -> None:
        array = np.asarray(vectors, np.float32)
        dim = self.dims.setdefault(channel, int(array.shape[-1]) if array.ndim == 2 else -1)
        if (
            array.ndim != 2
            or array.shape[1] != dim
            or len(array) > MAX_CHUNKS
            or not np.isfinite(array).all()
        ):
            subject = f"photo {photo_id!r}, channel {channel!r}: vectors of shape {array.shape}"
            raise AlbumError(f"{self._where}: {subject} where finite [n, {dim}] is needed; check the encoder")
        codes, scales = quantize(array)
        fine = residue(array, codes, scales)
        rows = [
            (channel, row, chunk, float(scales[chunk]), codes[chunk].tobytes(), fine[chunk].tobytes())
            for chunk in range(len(codes))
        ]
        self._db.executemany("INSERT INTO vectors VALUES(?,?,?,?,?,?)", rows)

    def set_channel(self, channel: str, vectors: Mapping[str, FloatArray], generation: int) -> None:
        """Replaces a channel's vectors by those of each photo id, float32 [n, dim]; without any it goes."""
        had: list[Any] = self._db.execute(_PHOTOS_IN, (channel,)).fetchall()
        self._db.execute("DELETE FROM vectors WHERE channel=?", (channel,))
        self.dims.pop(channel, None)
        rows = {self.find(photo_id): photo_id for photo_id in vectors}
        for row, photo_id in rows.items():
            self._vectors(row, photo_id, channel, vectors[photo_id])
        for row in {*(row for (row,) in had), *rows}:
            self._changed(row, generation)
            self.seal(row)

    def copy_vectors(self, photo_id: str, vectors: Iterable[StoredVector]) -> None:
        row = self.find(photo_id)
        for channel, chunk, scale, data, fine in vectors:
            self.dims.setdefault(channel, len(data))
            self._db.execute(
                "INSERT INTO vectors VALUES(?,?,?,?,?,?)", (channel, row, chunk, scale, data, fine)
            )
        self.seal(row)

    def _mentions(self, row: int, mentions: Iterable[Mention]) -> None:
        """Links a photo to the entities that its memories name, and adds the edges between these."""
        alone: set[int] = set()
        children: dict[int, set[int]] = {}  # parent → what describes it
        for mention in mentions:
            entity = entity_row(self._db, mention.name, mention.kind)
            if entity is None:
                continue
            parent = entity_row(self._db, mention.parent, "thing") if mention.parent else None
            if parent is None or parent == entity:
                alone.add(entity)
                continue
            edge = (parent, entity, mention.relation)
            self._db.execute("INSERT OR IGNORE INTO edges(parent, child, relation) VALUES(?,?,?)", edge)
            children.setdefault(parent, set()).add(entity)
        links = ((entity, row, leaf) for entity, leaf in leaves(alone, children).items())
        self._db.executemany("INSERT INTO mentions VALUES(?,?,?)", links)

    def _clear(self, row: int, channels: Iterable[str] | None = None) -> None:
        """Deletes everything that belongs to a photo, except its own row and its preferences.

        `channels`: those whose vectors go; None for all.
        """
        texts = self._db.execute("SELECT id, text FROM memories WHERE photo=?", (row,)).fetchall()
        for memory, text in texts:
            self._forget(memory, text)
        # By channel, because the primary key begins with it.
        for channel in self.dims if channels is None else channels:
            self._db.execute("DELETE FROM vectors WHERE channel=? AND photo=?", (channel, row))
        self._db.execute("DELETE FROM mentions WHERE photo=?", (row,))

    def _forget(self, memory: apsw.SQLiteValue, text: apsw.SQLiteValue) -> None:
        if self._full_text:
            self._db.execute(
                "INSERT INTO memories_fts(memories_fts, rowid, text) VALUES('delete',?,?)", (memory, text)
            )
        self._db.execute("DELETE FROM memories WHERE id=?", (memory,))

    def _renumber(self, old: int, new: int) -> None:
        tables = (("photos", "row"), ("memories", "photo"), ("mentions", "photo"), ("event_photos", "photo"))
        for table, column in tables:
            self._db.execute(f"UPDATE {table} SET {column}=? WHERE {column}=?", (new, old))
        for channel in self.dims:
            self._db.execute("UPDATE vectors SET photo=? WHERE channel=? AND photo=?", (new, channel, old))
        for column in ("better", "worse"):
            self._db.execute(
                f"UPDATE preferences SET {column}=? WHERE kind='photo' AND {column}=?", (new, old)
            )


def entity_row(db: apsw.Connection, name: str, kind: str) -> int | None:
    """The entity row of a name, inserted if it is new; None if the name has no canonical form.

    A new spelling of a known name becomes its alias and gets no vector.
    """
    name = " ".join(name.split())
    key = canonical(name)
    if not key:
        return None
    if record := db.execute("SELECT row FROM entities WHERE name=?", (name,)).fetchone():
        return int(record[0])
    same = db.execute(
        "SELECT row FROM entities WHERE canonical=? ORDER BY same_as IS NOT NULL, row LIMIT 1", (key,)
    ).fetchone()
    row = int((db.execute("SELECT coalesce(max(row), -1) + 1 FROM entities").fetchone() or (0,))[0])
    ENTITIES.insert(db, (key, name, kind, None, None), row=row, same_as=same and same[0])
    return row


def renumber_memories(db: apsw.Connection) -> None:
    """Renumbers the memory ids to 1..m in their order, and rebuilds the full-text index.

    No new id is above its old one, so no two rows collide on the way.
    """
    for new, (old,) in enumerate(db.execute("SELECT id FROM memories ORDER BY id").fetchall(), 1):
        if new != old:
            db.execute("UPDATE memories SET id=? WHERE id=?", (new, old))
    if words.is_full_text(db):
        db.execute("INSERT INTO memories_fts(memories_fts) VALUES('rebuild')")
