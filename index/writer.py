"""AlbumWriter: the only thing that writes an album. Rows first, in one transaction a batch; derived segments last.

A new album grows at `path + ".partial"` and gets its name in one rename when it is finished, so that a failed or killed build leaves
nothing under the final name. Knows rows, SQL and segments; what a vector or an entity means is the caller's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType

import apsw
import numpy as np

from . import cubes, hnsw, kdtree, loader, segments
from .entities import canonical
from .errors import AlbumError
from .records import Encoded, FloatArray, Mention, Photo
from .results import AlbumMeta
from .schema import check_file, check_replaceable, create_tables, damaged, one_line
from .vectors import quantize

HNSW_FROM = 1_000  # vectors in a channel from which a graph is worth its bytes
_NAMES_A_CALL = 512  # entity names given to the encoder at once, so that memory stays bounded


class AlbumWriter:
    """`create` or `extend`, then `add` batches, then `finish`. As a context manager, leaving without `finish` discards a new album."""

    def __init__(self, connection: apsw.Connection, final: Path, working: Path, meta: AlbumMeta, hnsw_from: int) -> None:
        self._db: apsw.Connection | None = connection
        self._final, self._working = final, working
        self.meta = meta
        self._hnsw_from = hnsw_from
        self._photos = _one(connection, "SELECT count(*) FROM photos")
        self._memories = _one(connection, "SELECT coalesce(max(id), 0) FROM memories")
        self._entities: dict[str, int] = {str(key): int(row) for key, row in connection.execute("SELECT canonical, row FROM entities")}
        self._dims = loader.channel_dims(connection)
        self._generation = loader.read_generation(connection)

    @classmethod
    def create(cls, path: Path, meta: AlbumMeta, *, hnsw_from: int = HNSW_FROM) -> AlbumWriter:
        path = Path(path)
        if not path.parent.is_dir():
            raise AlbumError(f"{path}: the folder {path.parent} does not exist; create it first")
        check_replaceable(path)
        working = path.with_name(path.name + ".partial")
        _refuse_second_build(working)
        _discard(working)
        try:
            db = _connect(working, exclusive=True)
            with db:
                create_tables(db)
                pairs = [("text_encoder", meta.text_encoder), ("image_encoder", meta.image_encoder)]
                pairs += [("dim", str(meta.dim)), ("delta", repr(float(meta.delta))), ("generation", "0")]
                db.executemany("INSERT INTO meta VALUES(?,?)", pairs)
        except apsw.Error as error:
            raise AlbumError(f"{working}: cannot be written ({one_line(error)}); check the folder and the free space") from None
        return cls(db, path, working, meta, hnsw_from)

    @classmethod
    def extend(cls, path: Path, *, hnsw_from: int = HNSW_FROM) -> AlbumWriter:
        """Add to an album in place. Segments are behind from the first `add` until `finish`; readers scan meanwhile."""
        path = Path(path)
        check_file(path)
        try:
            db = _connect(path)
            return cls(db, path, path, loader.read_meta(db, path), hnsw_from)
        except apsw.Error as error:
            raise AlbumError(f"{path}: cannot be written ({one_line(error)}); close other writers, check permissions") from None

    def add(self, batch: Sequence[Encoded]) -> None:
        """One transaction: all of the batch, or on any error none of it."""
        db = self._open()
        state = (self._photos, self._memories, dict(self._entities), dict(self._dims))
        try:
            with db:
                if loader.read_generation(db) != self._generation:
                    raise AlbumError(f"{self._final}: another writer has changed the album; open it again")
                for item in batch:
                    self._add_one(db, item)
                db.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")
        except BaseException as error:
            self._photos, self._memories, self._entities, self._dims = state
            if isinstance(error, apsw.Error):
                raise AlbumError(f"{self._working}: a batch was not written ({one_line(error)}); check the free space") from None
            raise
        self._generation += 1

    def finish(self, encode_entities: Callable[[Sequence[str]], FloatArray]) -> None:
        """Embed the entity names that have no vector yet, build the segments, check the file, give it its name."""
        db = self._open()
        try:
            with db:
                self._embed(db, encode_entities)
            with db:
                build_segments(db, self._hnsw_from)
                db.execute("INSERT INTO memories_fts(memories_fts) VALUES('optimize')")
            answer = db.execute("PRAGMA integrity_check").fetchone()
            if answer != ("ok",):
                raise AlbumError(f"{self._working}: SQLite's integrity check says {answer}; build the album again")
            db.execute("PRAGMA journal_mode=DELETE").fetchall()  # folds the log back: a single file again
        except apsw.Error as error:
            raise AlbumError(f"{self._working}: not finished ({one_line(error)}); check the free space") from None
        self._close()
        if self._working != self._final:
            _publish(self._working, self._final)

    def close(self) -> None:
        """Let go. A new album that was not finished is removed; an extended one keeps its committed batches."""
        if self._db is not None:
            self._close()
            if self._working != self._final:
                _discard(self._working)

    def __enter__(self) -> AlbumWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _open(self) -> apsw.Connection:
        if self._db is None:
            raise AlbumError(f"{self._final}: this writer is finished; open another with AlbumWriter.extend")
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _add_one(self, db: apsw.Connection, item: Encoded) -> None:
        row = self._photos
        self._insert_photo(db, row, item.photo)
        for memory in item.photo.memories:
            self._memories += 1
            db.execute("INSERT INTO memories VALUES(?,?,?,?)", (self._memories, row, memory.source, memory.text))
            db.execute("INSERT INTO memories_fts(rowid, text) VALUES(?,?)", (self._memories, memory.text))
        for channel, vectors in item.vectors.items():
            self._insert_vectors(db, row, item.photo.id, channel, vectors)
        self._insert_mentions(db, row, item.mentions)
        self._photos += 1

    def _insert_photo(self, db: apsw.Connection, row: int, photo: Photo) -> None:
        lat_e7, lon_e7 = (None, None) if photo.lat is None or photo.lon is None else (cubes.to_e7(photo.lat), cubes.to_e7(photo.lon))
        values = (
            row,
            photo.id,
            photo.path,
            photo.taken_at,
            photo.tz_source,
            lat_e7,
            lon_e7,
            photo.sharing,
            photo.sensitivity,
            photo.sha256,
        )
        try:
            db.execute("INSERT INTO photos VALUES(?,?,?,?,?,?,?,?,?,?)", values)
        except apsw.ConstraintError:
            raise AlbumError(f"{self._working}: photo id {photo.id!r} is already in the album; give every photo its own id") from None

    def _insert_vectors(self, db: apsw.Connection, row: int, photo_id: str, channel: str, vectors: FloatArray) -> None:
        array = np.asarray(vectors, np.float32)
        dim = self._dims.setdefault(channel, int(array.shape[-1]) if array.ndim == 2 else -1)
        if array.ndim != 2 or array.shape[1] != dim or not np.isfinite(array).all():
            what = f"photo {photo_id!r}, channel {channel!r}: vectors of shape {array.shape}"
            raise AlbumError(f"{self._working}: {what} where finite [n, {dim}] is needed; check the encoder")
        codes, scales = quantize(array)
        rows = [(channel, row, chunk, float(scales[chunk]), codes[chunk].tobytes()) for chunk in range(len(codes))]
        db.executemany("INSERT INTO vectors VALUES(?,?,?,?,?)", rows)

    def _insert_mentions(self, db: apsw.Connection, row: int, mentions: Iterable[Mention]) -> None:
        for mention in mentions:
            entity = self._entity(db, mention.name, mention.kind)
            if entity is None:
                continue
            db.execute("INSERT OR IGNORE INTO mentions VALUES(?,?)", (entity, row))
            parent = self._entity(db, mention.parent, "thing") if mention.parent else None
            if parent is not None and parent != entity:
                db.execute("INSERT OR IGNORE INTO edges VALUES(?,?)", (parent, entity))
                db.execute("INSERT OR IGNORE INTO mentions VALUES(?,?)", (parent, row))

    def _entity(self, db: apsw.Connection, name: str, kind: str) -> int | None:
        key = canonical(name)
        if not key:
            return None
        found = self._entities.get(key)
        if found is None:
            found = self._entities[key] = len(self._entities)
            db.execute("INSERT INTO entities(row, canonical, name, kind) VALUES(?,?,?,?)", (found, key, name, kind))
        return found

    def _embed(self, db: apsw.Connection, encode: Callable[[Sequence[str]], FloatArray]) -> None:
        todo = db.execute("SELECT row, name FROM entities WHERE data IS NULL ORDER BY row").fetchall()
        for start in range(0, len(todo), _NAMES_A_CALL):
            part = todo[start : start + _NAMES_A_CALL]
            array = np.asarray(encode([str(name) for _, name in part]), np.float32)
            if array.shape != (len(part), self.meta.dim) or not np.isfinite(array).all():
                wanted = f"finite [{len(part)}, {self.meta.dim}]"
                raise AlbumError(f"{self._working}: entity vectors {array.shape} where {wanted} is needed; check the encoder")
            codes, scales = quantize(array)
            rows = [(float(scales[i]), codes[i].tobytes(), row) for i, (row, _) in enumerate(part)]
            db.executemany("UPDATE entities SET scale=?, data=? WHERE row=?", rows)


def build_segments(db: apsw.Connection, hnsw_from: int = HNSW_FROM) -> None:
    """Rebuild every derived segment from the rows. The caller holds the transaction."""
    generation = loader.read_generation(db)
    db.execute("DELETE FROM segments")
    points = loader.points(db)
    tree = kdtree.build(points)
    segments.store(db, segments.KDTREE, kdtree.VERSION, generation, tree.to_bytes())
    for channel in loader.channel_dims(db):
        vectors = loader.vectors(db, channel, len(points))
        if vectors is not None and len(vectors) >= hnsw_from:
            graph = hnsw.build(vectors.codes)
            segments.store(db, segments.hnsw_name(channel), hnsw.VERSION, generation, graph.to_bytes())


def _connect(path: Path, exclusive: bool = False) -> apsw.Connection:
    db = apsw.Connection(str(path))
    db.set_busy_timeout(2000)
    if exclusive:  # held until close, so that a second build of the same album is noticed
        db.execute("PRAGMA locking_mode=EXCLUSIVE").fetchall()
    db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON; PRAGMA trusted_schema=0").fetchall()
    return db


def _refuse_second_build(working: Path) -> None:
    if not working.exists():
        return
    try:
        db = apsw.Connection(str(working))
        try:
            db.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        finally:
            db.close()
    except apsw.BusyError:
        raise AlbumError(f"{working}: another build is writing it; wait for it, or stop it") from None
    except apsw.Error:
        return  # the ruins of a killed build


def _one(db: apsw.Connection, sql: str) -> int:
    found = db.execute(sql).fetchone()
    return int(found[0]) if found else 0


def _discard(working: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            working.with_name(working.name + suffix).unlink()


def _publish(working: Path, final: Path) -> None:
    """Flush, rename, flush the folder: after a power cut the final name holds the old album or the new one, whole."""
    try:
        with working.open("rb+") as file:
            os.fsync(file.fileno())
        working.replace(final)
        with contextlib.suppress(OSError):  # not every file system opens folders
            folder = os.open(final.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise damaged(final, error) from None
