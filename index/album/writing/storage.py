"""File handling for the writer: the writer lock, durable transactions, and atomic replacement of a file.

It also removes the files that a killed process left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from ...errors import AlbumBusy, AlbumError
from ..declarations.tables import check_tables, version_of
from ..schema import connect, limit, one_line, unusable

_PERSONAL = "name IN ('faces', 'person_turns')"
# What an album is written to, beside its place: a build, and the same album for other encoders.
BUILDING, RENEWING = ".building", ".renewing"
_BESIDE = ("-wal", "-shm", "-journal")


class WriterLock:
    """Held from open to close by the one writer of an album.

    The operating system drops it when the process dies, however it dies.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        try:
            self._db = apsw.Connection(str(self._path))
            # SQLite's lock on an empty file works alike on every system, and also between two writers in one
            # process.
            self.is_held = True
            self._db.execute(
                "PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE"
            ).fetchall()
            # The previous writer may have deleted the lock file after we opened it and before we locked it.
            # The next writer would then create and lock another file.
            if has_moved(self._db):
                self._db.close()
                raise apsw.BusyError
        except apsw.BusyError:
            raise AlbumBusy(
                f"{path}: another program is writing this album; wait until it is done, or stop it"
            ) from None
        except apsw.Error as error:
            raise AlbumError(
                f"{path}: cannot be written ({one_line(error)}); check the folder's permissions and the "
                "free space"
            ) from None

    def release(self) -> None:
        """Releases the lock; a second call does nothing."""
        if not self.is_held:
            return
        self.is_held = False
        with contextlib.suppress(OSError):
            self._path.unlink()
        self._db.close()


def sweep_lock(path: Path) -> None:
    """Deletes the lock file that a killed writer left; leaves one that a writer holds."""
    if path.with_name(path.name + ".lock").exists():
        with contextlib.suppress(AlbumError):
            WriterLock(path).release()


def copy(album: Path, to: Path) -> None:
    """Writes an album as it is now to the new file `to`. Raises AlbumError, and apsw.Error if it cannot."""
    db = connect(album)
    try:
        check_tables(db, album, version_of(db))
        db.execute("VACUUM INTO ?", (str(to),))
    finally:
        db.close()


def has_moved(db: apsw.Connection) -> bool:
    """Whether the file of an open connection was deleted, or another file has taken its name."""
    moved = ctypes.c_int(0)
    db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(moved))
    return bool(moved.value)


def log_of(path: Path) -> tuple[int, int] | None:
    """The identity (device, inode) of the write-ahead log beside a file; None if there is no log."""
    try:
        log = path.with_name(path.name + "-wal").stat()
    except OSError:
        return None
    return log.st_dev, log.st_ino


def discard_log(path: Path, log: tuple[int, int] | None) -> None:
    """Deletes the log beside `path` if it is still the one identified by `log` (see `log_of`).

    SQLite leaves the log of a file that was deleted or replaced, and would apply it to the next file of that
    name.
    """
    if log is not None and log_of(path) == log:
        for suffix in _BESIDE:
            with contextlib.suppress(OSError):
                path.with_name(path.name + suffix).unlink()


def open_for_writing(path: Path) -> apsw.Connection:
    """Opens a connection whose commits are durable.

    A commit returns when it has reached the disk (fsync of the log; F_FULLFSYNC on Apple's systems).
    """
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(10_000)
        limit(db)
        db.execute(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA trusted_schema=0"
        ).fetchall()
    except BaseException:
        db.close()
        raise
    return db


@contextlib.contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """A transaction that takes the write lock at its start, waiting for it if need be.

    A transaction that begins with a read could not wait for the lock later: SQLite refuses the upgrade.
    """
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite may have rolled back by itself: a full disk
            db.execute("ROLLBACK")
        raise


def seal(db: apsw.Connection, path: Path) -> None:
    """Checkpoints, closes and verifies a file that is about to be published. Raises apsw.Error on failure.

    SQLite checkpoints the WAL when the last connection closes, and reports no error if it cannot: on a nearly
    full disk the file would be truncated and its WAL deleted. So the WAL is checkpointed here, where an error
    is raised, and the closed file is read once.
    """
    try:
        busy, left, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
        if busy or left > 0:  # -1: this file system has no memory to share, and so no log
            raise apsw.BusyError(f"{left} pages of the log are not in the file")
    finally:
        db.close()
    if any(
        beside.exists() and beside.stat().st_size
        for beside in (path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal"))
    ):
        raise apsw.FullError("its log could not be folded in")
    closed = apsw.Connection(
        f"{path.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    try:
        if (answer := closed.execute("PRAGMA integrity_check(1)").fetchone()) != ("ok",):
            raise apsw.CorruptError(str(answer))
    finally:
        closed.close()


def discard(path: Path) -> None:
    """Deletes the file and the journals beside it, as far as they exist."""
    for suffix in ("", *_BESIDE):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


def discard_unfinished(album: Path) -> str:
    """Deletes what an interrupted build or renewal left beside an album, if that holds people or memories of
    the person, of whom some may have been forgotten since; why one may be left, "" if none is.
    """
    for working in (album.with_name(album.name + ending) for ending in (BUILDING, RENEWING)):
        try:
            if working.exists() and _has_personal(working):
                lock = WriterLock(working)
                discard(working)
                lock.release()
        except (AlbumError, OSError) as error:
            return f"{working} may hold them: {error}"
    return ""


def _has_personal(path: Path) -> bool:
    """Also of what cannot be read."""
    try:
        with contextlib.closing(connect(path)) as db:
            return bool(db.execute(f"SELECT 1 FROM sqlite_schema WHERE {_PERSONAL}").fetchone())
    except (apsw.Error, AlbumError):
        return True


def publish(working: Path, final: Path) -> None:
    """Atomically replaces `final` by the closed file `working`.

    After a power cut, `final` is either the complete old album or the complete new one. The old file's WAL is
    checkpointed first, because SQLite would take it for the new file's. That needs exclusive access, so an
    album that another program has open is not replaced: AlbumError.
    """
    _seclude(final)
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
        raise unusable(final, error) from None


def _seclude(final: Path) -> None:
    if not final.exists():
        discard(final)  # a log left without its album is useless
        return
    try:
        db = apsw.Connection(str(final), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(2000)
            db.execute("PRAGMA journal_mode=DELETE").fetchall()
        finally:
            db.close()
    except (apsw.BusyError, apsw.LockedError):
        raise AlbumError(
            f"{final}: another program has this album open; close it there, then run this again"
        ) from None
    except (apsw.NotADBError, apsw.CorruptError):
        pass  # a damaged album may be replaced, and its log with it
    except apsw.Error as error:
        raise AlbumError(
            f"{final}: cannot be replaced ({one_line(error)}); check permissions and the free space; "
            "the album is as it was"
        ) from None
    for suffix in _BESIDE:
        with contextlib.suppress(FileNotFoundError):
            final.with_name(final.name + suffix).unlink()
