"""Prepares a copy of an album for new encoders: all rows, labels, merges and preferences, but no vectors.

Events stay too, without their vectors; `AlbumWriter.embed` makes them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from ...errors import AlbumError
from .. import loader
from ..album_file import StepLimit
from ..declarations import event_tables
from ..declarations.sealed import ENTITIES
from ..results import AlbumMeta
from ..schema import UNREADABLE, connect, one_line, unusable
from . import storage
from .rows import Rows

_OF = "renews"  # the key in the copy's meta table that says which state of the album it is a copy of


def begin(album: Path, aside: Path, meta: AlbumMeta) -> None:
    """Writes the copy to `aside`, atomically: the file appears complete or not at all.

    `album` must be of the current format. The caller then gives each photo its vectors
    again with `AlbumWriter.update`.
    """
    partial = aside.with_name(aside.name + ".partial")
    storage.discard(partial)
    try:
        storage.copy(album, partial)
        copy = storage.open_for_writing(partial)
        try:
            with storage.transaction(copy):
                copy.execute(
                    "DELETE FROM vectors; DELETE FROM segments; "
                    "UPDATE entities SET scale = NULL, data = NULL; "
                    "UPDATE events SET scale = NULL, data = NULL"
                )
                # Every checksum covers vectors, which are gone. Without channels, a photo has none.
                rows = Rows(copy, str(partial), {})
                # The rows that there are: a damaged number of one row must not be counted up to.
                for photo in _rows(copy, "photos"):
                    rows.seal(photo)
                for event in _rows(copy, "events"):
                    event_tables.SEALED.seal(copy, event)
                for entity in _rows(copy, "entities"):
                    ENTITIES.seal(copy, entity)
                encoders = {
                    "text_encoder": meta.text_encoder,
                    "image_encoder": meta.image_encoder,
                    "dim": str(meta.dim),
                    "delta": repr(float(meta.delta)),
                }
                pairs = {**encoders, "crc": str(loader.meta_crc(encoders)), _OF: _state(album)}
                copy.executemany("INSERT OR REPLACE INTO meta VALUES(?,?)", list(pairs.items()))
            storage.seal(copy, partial)
        finally:
            copy.close()
    except UNREADABLE as error:
        if not isinstance(error, apsw.Error):
            raise unusable(album, error) from None
        raise AlbumError(
            f"{partial}: cannot be written ({one_line(error)}); check the folder and the free space"
        ) from None
    storage.publish(partial, aside)


def _rows(db: apsw.Connection, table: str) -> list[int]:
    return [int(row) for (row,) in db.execute(f"SELECT row FROM {table} ORDER BY row")]


def continues(aside: Path, album: Path) -> bool:
    """Whether `aside` was copied from the album's present state.

    If the album has changed since, continuing with the copy would lose those changes.
    """
    with _reading(aside) as db:
        record = db.execute("SELECT value FROM meta WHERE key = ?", (_OF,)).fetchone()
    return record is not None and record[0] == _state(album)


def finish(aside: Path) -> None:
    """Marks the copy as complete: from now on it is an ordinary album."""
    try:
        db = storage.open_for_writing(aside)
        try:
            db.execute("DELETE FROM meta WHERE key = ?", (_OF,))
            storage.seal(db, aside)
        finally:
            db.close()
    except apsw.Error as error:
        raise AlbumError(
            f"{aside}: cannot be written ({one_line(error)}); check the folder and the free space"
        ) from None


def _state(album: Path) -> str:
    with _reading(album) as db:  # its end checkpoints a WAL that a killed writer left
        generation = loader.read_generation(db)
    status = album.stat()
    return f"{generation} {status.st_size} {status.st_mtime_ns}"


def encoded(aside: Path) -> set[int]:
    """The photo rows that have vectors already, from an earlier, interrupted run."""
    with _reading(aside) as db:
        return {int(row) for (row,) in db.execute("SELECT DISTINCT photo FROM vectors")}


@contextmanager
def _reading(path: Path) -> Iterator[apsw.Connection]:
    """A connection for one read, which ends if it takes too many steps. Raises AlbumError."""
    try:
        db = connect(path)
        try:
            StepLimit(db, path.stat().st_size)
            yield db
        finally:
            db.close()
    except UNREADABLE as error:
        raise unusable(path, error) from None
