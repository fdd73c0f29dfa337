"""What the writer needs of the disk: one writer at a time, a new file put in an old one's place, the ruins of
a killed process cleared.

Knows files, locks and SQLite's journals; knows no table.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import apsw

from ..errors import AlbumError
from .schema import damaged, one_line

_BESIDE = ("-wal", "-shm", "-journal")


class WriterLock:
    """Held from open to close by the one writer of an album.

    The operating system drops it when the process dies, however it dies.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        try:
            self._db = apsw.Connection(str(self._path))
            # SQLite's own lock of an empty file: the same on every system, and between two writers of one
            # process too.
            self.is_held = True
            self._db.execute(
                "PRAGMA journal_mode=MEMORY; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE"
            ).fetchall()
            if _has_moved(
                self._db
            ):  # the writer before us took the file away between our opening and locking it: the next one would lock another
                self._db.close()
                raise apsw.BusyError
        except apsw.BusyError:
            raise AlbumError(
                f"{path}: another program is writing this album; wait until it is done, or stop it"
            ) from None
        except apsw.Error as error:
            raise AlbumError(
                f"{path}: cannot be written ({one_line(error)}); check the folder's permissions and the free space"
            ) from None

    def release(self) -> None:
        """May be called again."""
        if not self.is_held:
            return
        self.is_held = False
        with contextlib.suppress(OSError):
            self._path.unlink()
        self._db.close()


def _has_moved(db: apsw.Connection) -> bool:
    moved = ctypes.c_int(0)
    db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(moved))
    return bool(moved.value)


def open_for_writing(path: Path) -> apsw.Connection:
    """Durable: a commit has reached the disk (fsync of the log; F_FULLFSYNC on Apple's systems) when it
    returns.
    """
    db = apsw.Connection(str(path))
    try:
        db.set_busy_timeout(10_000)
        db.execute(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=1; PRAGMA trusted_schema=0"
        ).fetchall()
    except BaseException:
        db.close()
        raise
    return db


@contextlib.contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """Takes the write lock first, waiting for whoever has it: a transaction that begins by reading could not
    wait any more.
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
    """Closes a file that is about to be published, once every page of it stands in it. Raises apsw.Error
    where that fails.

    SQLite folds the log back when its last connection closes, and tells nobody if it cannot: on a nearly full
    disk the file would be cut short, and its log be thrown away. So the log is folded here, where an error is
    heard, and the closed file is read once.
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
    for suffix in ("", *_BESIDE):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


def publish(working: Path, final: Path) -> None:
    """Puts the closed file `working` in the place of `final`: after a power cut the name holds the old album
    or the new one, whole.

    A log of the old file beside the new one would be read as the new one's: it is folded into the old file
    first. That needs the old file to itself, so an album that somebody reads is not replaced.
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
        raise damaged(final, error) from None


def _seclude(final: Path) -> None:
    if not final.exists():
        discard(final)  # a log without its file belongs to nothing
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
    for suffix in _BESIDE:
        with contextlib.suppress(FileNotFoundError):
            final.with_name(final.name + suffix).unlink()
