"""AlbumWriter, the only class that writes albums: durable transactions for rows, then derived segments.

A new album is written at `path + ".partial"` and renamed when it is finished, so that a failed or killed
build leaves nothing under the final name. An existing album is changed in place: each call is one transaction
that has reached the disk when the call returns, and opening costs the same whatever the album's size.
Segments are built last, and only when due. There is one writer at a time; readers keep the snapshot they
opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import apsw

from ...entities import entity_vectors
from ...errors import AlbumError
from ...records import COPIES, FAVOURITE, Encoded, Event, FloatArray, IndexedPhoto
from ...space import kdtree
from ...vectors import hnsw
from .. import loader, notes, preferences, segments, words
from ..album_file import StepLimit
from ..declarations.sealed import ENTITIES
from ..declarations.tables import USER_VERSION, check_tables, create_tables, upgrade, version_of
from ..results import AlbumMeta
from ..schema import UNREADABLE, check_replaceable, connect, one_line, unusable
from . import choices, embedding, event_rows, merging, storage
from .choices import Choices
from .rows import Rows, StoredVector

_T = TypeVar("_T")
HNSW_FROM = 1_000  # vectors: a channel with fewer gets no graph, which would save too little for its size


# One change, such as a batch of photos or all segments, may take so many times the steps of a read.
_STEP_TIMES = 100


class AlbumWriter:
    """Opened by `create` or `extend`; then come changes, then `finish`.

    As a context manager, leaving the block without `finish` discards a new album. All methods raise
    AlbumError.
    """

    def __init__(
        self,
        db: apsw.Connection,
        final: Path,
        working: Path,
        lock: storage.WriterLock,
        hnsw_from: int,
    ) -> None:
        self._db: apsw.Connection | None = db
        self._final, self._working, self._lock = final, working, lock
        self._hnsw_from = hnsw_from
        self.meta: AlbumMeta = loader.read_meta(db, final)
        self._generation = loader.read_generation(db)
        self._rows = Rows(db, str(working), loader.channel_dims(db))
        self._log = storage.log_of(working)
        self._steps = StepLimit(db, working.stat().st_size, _STEP_TIMES)

    @classmethod
    def create(cls, path: Path, meta: AlbumMeta, *, hnsw_from: int = HNSW_FROM) -> AlbumWriter:
        path = Path(path).resolve()  # through a symbolic link, so that the file behind it is replaced
        if not path.parent.is_dir():
            raise AlbumError(f"{path}: the folder {path.parent} does not exist; create it first")
        check_replaceable(path)
        lock = storage.WriterLock(path)
        working = path.with_name(path.name + ".partial")
        db = None
        try:
            storage.discard(working)
            db = storage.open_for_writing(working)
            with storage.transaction(db):
                create_tables(db)
                encoders = {
                    "text_encoder": meta.text_encoder,
                    "image_encoder": meta.image_encoder,
                    "dim": str(meta.dim),
                    "delta": repr(float(meta.delta)),
                }
                pairs = {**encoders, "crc": str(loader.meta_crc(encoders)), "generation": "0"}
                db.executemany("INSERT INTO meta VALUES(?,?)", list(pairs.items()))
            return cls(db, path, working, lock, hnsw_from)
        except (apsw.Error, OSError) as error:
            if db is not None:
                db.close()
            storage.discard(working)
            lock.release()
            raise AlbumError(
                f"{working}: cannot be written ({one_line(error)}); check the folder and the free space"
            ) from None

    @classmethod
    def extend(cls, path: Path, *, hnsw_from: int = HNSW_FROM) -> AlbumWriter:
        """Opens an album to change it in place.

        Photos added are found at once, by scan; `finish` rebuilds the segments that have fallen far behind.
        """
        path = Path(path).resolve()  # so that every link to the album leads to one lock and one file
        connect(path).close()  # report a bad file before creating any file beside it
        if not os.access(path, os.W_OK):
            raise AlbumError(f"{path}: the file is read-only; check its permissions")
        lock = storage.WriterLock(path)
        try:
            return cls(_open_in_place(path), path, path, lock, hnsw_from)
        except UNREADABLE as error:
            lock.release()
            raise unusable(path, error) from None
        except BaseException:
            lock.release()
            raise

    # Each change is one transaction: on any error none of it is applied.

    def add(self, batch: Sequence[Encoded]) -> None:
        with self._change() as generation:
            for item in batch:
                self._rows.insert(item, generation)

    def copy_vectors(self, stored: Sequence[tuple[str, Sequence[StoredVector]]]) -> None:
        """Gives photos, identified by their id, vectors as another album of the same encoders stores them."""
        with self._change():
            for photo_id, vectors in stored:
                self._rows.copy_vectors(photo_id, vectors)

    def set_channel(self, channel: str, vectors: Mapping[str, FloatArray]) -> None:
        """Replaces a channel's vectors: photo id → float32 [n, dim]; without any, the channel goes.

        Raises AlbumError for an unknown photo, and for vectors of several widths or that are not finite.
        """
        with self._change() as generation:
            self._rows.set_channel(channel, vectors, generation)

    def repeat_choices(self, made: Choices) -> None:
        """Makes the choices of another album's owner; those of names that are not here are left out."""
        with self._change():
            choices.repeat(self._open(), self._final, made)

    def update(self, batch: Sequence[Encoded]) -> None:
        """Replaces photos, identified by their id.

        Each keeps its row, its preferences and its event; memories, vectors and mentions are replaced.
        """
        with self._change() as generation:
            for item in batch:
                self._rows.replace(item, generation)
            self._rows.refresh_events()
            self._rows.close_gaps()

    def retell(
        self, batch: Sequence[Encoded], then: Callable[[apsw.Connection], object] = lambda db: None
    ) -> None:
        """Replaces the memories of photos, identified by their id, with the mentions and text vectors.

        Pictures are not needed: all else of the photos stays. `then`: what else belongs to this change.
        """
        with self._change() as generation:
            for item in batch:
                self._rows.retell(item, generation)
            then(self._open())
            self._rows.refresh_events()
            self._rows.close_gaps()

    def change_optional(self, change: Callable[[apsw.Connection, Path], _T]) -> _T:
        """Changes optional tables in one transaction; returns what `change` returns.

        Deleted rows are overwritten; the generation stays as it is.
        """
        self._open().execute("PRAGMA secure_delete=ON").fetchall()
        with self._change(counts=False):
            return change(self._open(), self._final)

    def remove(self, photo_ids: Iterable[str], *, for_good: bool = False) -> None:
        """`for_good`: `removed` names them from now on, so that no scan takes them in again."""
        gone = list(photo_ids)
        with self._change() as generation:
            if for_good:
                self._note_removed(notes.keys_of(self._open(), gone))
            for photo_id in gone:
                self._rows.remove(photo_id, generation)
            self._rows.refresh_events()
            self._rows.close_gaps()

    def removed(self) -> frozenset[str]:
        """What was removed for good: the pictures' SHA-256, and ids of photos without one."""
        return notes.removed(self._open())

    def keep_out(self, keys: frozenset[str]) -> None:
        """Adds to what was removed for good; `keys` as `removed` gives them."""
        if not keys <= self.removed():
            with self._change():
                self._note_removed(keys)

    def _note_removed(self, keys: frozenset[str]) -> None:
        notes.write(self._open(), notes.REMOVED, json.dumps(sorted(self.removed() | keys)))

    def readmit(self) -> None:
        """Forgets what was removed for good."""
        with self._change():
            notes.write(self._open(), notes.REMOVED, "[]")

    def remember_bundle(self, bundle: Path) -> None:
        """Notes the bundle whose models wrote the album, so that it need not be named again."""
        folder = str(bundle.resolve())
        if notes.read(self._open(), notes.BUNDLE) != folder:
            with self._change(counts=False):
                notes.write(self._open(), notes.BUNDLE, folder)

    def move(self, photo_id: str, path: str | None) -> None:
        """Records that the photo's file now has another path."""
        with self._change():
            self._rows.move(photo_id, path)

    def note_details(self, details: Mapping[str, Mapping[str, str]]) -> None:
        """Records the fields of photos: id → name → value, in place of all that they had."""
        with self._change():
            for photo, known in details.items():
                self._rows.note_details(photo, known)

    def mark_favourites(self, photo_ids: Iterable[str], favourite: bool = True) -> list[str]:
        """Marks photos as favourites, or takes the mark away; returns the ids of those that this changed."""
        with self._change():
            return [photo for photo in photo_ids if self._rows.mark(photo, FAVOURITE, favourite)]

    def prefer(self, better: str, worse: str) -> None:
        """Ranks `better` above `worse` from now on where both match: two photo ids, or two entity names."""
        with self._change():
            preferences.prefer(self._open(), self._final, better, worse)

    def merge(self, name: str, alias: str) -> None:
        """Merges two entities under `name`; `split` undoes it."""
        with self._change():
            merging.merge(self._open(), self._final, name, alias)

    def merge_similar(self, threshold: float) -> list[tuple[str, str]]:
        """Merges people, places or things of the same kind whose vectors' cosine is at least `threshold`.

        Returns pairs of names (root, alias).
        """
        with self._change():
            return merging.merge_similar(self._open(), threshold)

    def split(self, name: str) -> list[str]:
        """Separates an alias from its entity, or an entity from all its aliases; returns their names."""
        with self._change():
            return merging.split(self._open(), self._final, name)

    def drop_choices(self, names: Sequence[str]) -> None:
        """Undoes the merges of these names, and forgets what is preferred to them and they to others."""
        with self._change(counts=bool(names)):
            merging.drop_choices(self._open(), self._final, names)

    def set_events(self, events: Sequence[Event]) -> None:
        """Replaces all events of the album. An event without photos is left out.

        `start` and `end` are not taken over but computed from the photos. Raises AlbumError for an unknown
        photo, a photo that is in two events, two events of one id, an id that is not "ev_" and ten
        hexadecimal digits, and a vector that is not finite or not of `meta.dim`.
        """
        with self._change():
            event_rows.replace_all(self._open(), str(self._working), events, self.meta.dim, self._rows.find)

    def embed(self, encode_texts: Callable[[Sequence[str]], FloatArray]) -> None:
        """Encodes the names of entities, and the names and summaries of events, that have no vector yet.

        Similarity search finds them then. `encode_texts`: texts → float32 [n, dim].
        """
        with self._change(counts=False):
            embedding.embed(self._open(), str(self._working), self.meta.dim, encode_texts)

    def known(self) -> list[IndexedPhoto]:
        """Every photo with the fields that a folder scan compares, in order of row."""
        return [
            IndexedPhoto(*record)
            for record in self._open().execute("SELECT id, path, sha256 FROM photos ORDER BY row")
        ]

    def finish(self, encode_texts: Callable[[Sequence[str]], FloatArray]) -> None:
        """Encodes entities and events without a vector, builds the segments that are due, and closes.

        A new album gets its final name.
        """
        self.embed(encode_texts)
        is_new = self._working != self._final
        with self._change(counts=False):
            build_segments(self._open(), self._hnsw_from, everything=is_new)
        if is_new:
            self._prove(self._open())
            storage.publish(self._working, self._final)
        self.close()

    def compact(self) -> None:
        """Rewrites the album without unused space and unused entities, replaces the file, and closes."""
        from .compact import write_compacted

        db = self._open()
        self._steps.restart()
        aside = self._final.with_name(self._final.name + ".partial")
        storage.discard(aside)
        try:
            write_compacted(db, aside, lambda copy: build_segments(copy, self._hnsw_from, everything=True))
            self._close()
            storage.publish(aside, self._final)
        except UNREADABLE as error:
            raise unusable(self._final, error) from None
        finally:
            storage.discard(aside)
            self.close()

    def repair(self) -> list[str]:
        """Rebuilds derived data that a check finds wrong; returns one line for each repair."""
        from .repair import repair

        with self._change():
            return repair(self._open(), lambda db: build_segments(db, self._hnsw_from, everything=True))

    def close(self) -> None:
        """Closes the writer and releases the lock.

        A new album that was not finished is deleted; an extended album keeps its committed changes.
        """
        self._close()
        if self._working != self._final and self._lock.is_held:
            storage.discard(self._working)
        self._lock.release()

    def __enter__(self) -> AlbumWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> apsw.Connection:
        if self._db is None:
            raise AlbumError(f"{self._final}: this writer is finished; open another with AlbumWriter.extend")
        return self._db

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()  # the last connection to close checkpoints the WAL
            self._db = None

    @contextmanager
    def _change(self, counts: bool = True) -> Iterator[int]:
        """A transaction, with the generation that its commit creates.

        `counts`: whether the change increments the generation; False if it only adds derived data.
        """
        db, dims = self._open(), dict(self._rows.dims)
        self._check_place(db)
        self._steps.restart()
        try:
            with storage.transaction(db):
                if loader.read_generation(db) != self._generation:
                    raise AlbumError(f"{self._final}: another writer has changed the album; open it again")
                yield self._generation + counts
                if counts:
                    db.execute(
                        "UPDATE meta SET value = ? WHERE key = 'generation'", (str(self._generation + 1),)
                    )
        except BaseException as error:
            self._rows.dims = dims
            if isinstance(error, UNREADABLE):
                raise unusable(self._final, error) from None
            raise
        self._generation += counts
        self._check_place(db)

    def _check_place(self, db: apsw.Connection) -> None:
        """Raises AlbumError if the file was deleted or replaced: further writes would be lost."""
        if not storage.has_moved(db):
            self._log = self._log or storage.log_of(self._working)
            return
        self._close()
        storage.discard_log(self._working, self._log)
        raise AlbumError(
            f"{self._working}: the album was deleted or replaced while it was being written, so that the "
            "changes of this run are lost; run this again"
        )

    def _prove(self, db: apsw.Connection) -> None:
        """Fills a new album's pages, closes it, and verifies it by reading it once."""
        self._db = None
        try:
            with storage.transaction(db):
                db.execute("INSERT INTO memories_fts(memories_fts) VALUES('optimize')")
            db.execute("VACUUM")  # pages that rows were added to one by one are an eighth empty
            storage.seal(db, self._working)
        except apsw.CorruptError as error:
            raise AlbumError(
                f"{self._working}: SQLite's integrity check says {one_line(error)}; build the album again"
            ) from None
        except apsw.Error as error:
            raise AlbumError(
                f"{self._working}: not finished ({one_line(error)}); check the free space"
            ) from None
        finally:
            db.close()


def build_segments(
    db: apsw.Connection,
    hnsw_from: int = HNSW_FROM,
    *,
    everything: bool = False,
) -> None:
    """Builds the segments that are missing or far behind; with `everything`, all of them.

    Runs inside the caller's transaction.
    """
    generation, photos = loader.read_generation(db), loader.photo_count(db)
    words.restore(db)
    if everything:
        db.execute("DELETE FROM segments")
    if segments.is_due(db, segments.KDTREE, photos):
        tree = kdtree.build(loader.points(db))
        segments.store(db, segments.KDTREE, kdtree.VERSION, generation, photos, tree.to_bytes())
    for channel in (name for name in loader.channel_dims(db) if name != COPIES):
        name = segments.hnsw_name(channel)
        vectors = loader.vectors(db, channel, photos) if segments.is_due(db, name, photos) else None
        if vectors is not None and len(vectors) >= hnsw_from:
            segments.store(db, name, hnsw.VERSION, generation, photos, hnsw.build(vectors, photos))
    node_count = loader.node_count(db)
    nodes = (
        loader.entity_vectors(db)
        if node_count >= entity_vectors.GRAPH_FROM and segments.is_due(db, entity_vectors.SEGMENT, photos)
        else None
    )
    if nodes is not None:
        graph = hnsw.build(nodes.vectors, len(nodes.roots))
        segments.store(db, entity_vectors.SEGMENT, hnsw.VERSION, generation, photos, graph)
    oldest = db.execute("SELECT min(generation) FROM segments").fetchone() or (0,)
    db.execute("DELETE FROM changes WHERE generation <= ?", oldest)


def _open_in_place(path: Path) -> apsw.Connection:
    db = storage.open_for_writing(path)
    try:
        check_tables(db, path, version_of(db))
        if (version := version_of(db)) < USER_VERSION:
            with storage.transaction(db):
                upgrade(db)
                if version == 1:
                    _seal_all(db)
        return db
    except BaseException:
        db.close()
        raise


def _seal_all(db: apsw.Connection) -> None:
    rows = Rows(db, "", loader.channel_dims(db))
    for row in range(rows.count()):
        rows.seal(row)
    for (entity,) in db.execute("SELECT row FROM entities").fetchall():
        ENTITIES.seal(db, entity)
    meta = {str(key): str(value) for key, value in db.execute("SELECT key, value FROM meta")}
    db.execute("INSERT OR REPLACE INTO meta VALUES('crc', ?)", (str(loader.meta_crc(meta)),))
