"""Opens album files: header and version checks, read-only snapshots, and errors for files that are not
albums.

FORMAT.md describes the same for authors of other readers; change both together.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

import apsw

from ..errors import AlbumBusy, AlbumError
from . import words
from .declarations.tables import APPLICATION_ID, USER_VERSION, VIEWS, check_tables, version_of

_SQLITE_MAGIC = b"SQLite format 3\x00"
_NO_SHARED_MEMORY = (apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP, apsw.SQLITE_IOERR_SHMOPEN)
# The exceptions raised by reading a damaged or crafted file: SQLite's errors, and Python's for a value of a
# type or size that no writer writes.
UNREADABLE = (apsw.Error, ValueError, TypeError, OverflowError, IndexError, KeyError)
# Far above what a statement of this program needs; a crafted file shall not make SQLite take the memory.
_LIMITS = {
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 200,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    apsw.SQLITE_LIMIT_VDBE_OP: 100_000,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
}
_LEAST_LENGTH = 64 << 20  # bytes of a text or blob that a reader may always make


def open_reader(path: Path) -> apsw.Connection:
    """A read-only connection that sees one snapshot of the album until it is closed. Raises AlbumError."""
    try:
        connection = connect(path)
        if _is_sealed(path) and not has_log(path):
            connection.close()
            return _immutable(path, "nobody may write the album")
    except apsw.Error as error:
        raise unusable(path, error) from None
    try:
        _pin(connection, path)
    except UNREADABLE as error:
        if not lacks_shared_memory(error):
            raise unusable(path, error) from None
        is_full = isinstance(error, apsw.IOError | apsw.FullError)
        return _immutable(path, "the disk is full" if is_full else "the folder cannot be written")
    return connection


def _is_sealed(path: Path) -> bool:
    """Whether nobody writes the album: it has no write permission at all, or its file system is read-only.

    A reader could create the -wal and -shm files beside such an album, but not take them away again.
    """
    if os.access(path, os.W_OK):
        return False
    is_read_only = hasattr(os, "statvfs") and bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    return is_read_only or not path.stat().st_mode & 0o222


def connect(path: Path) -> apsw.Connection:
    """Opens the file if its header is that of a readable album; else raises AlbumError with the cause.

    The header is read through SQLite: closing another file descriptor of the file would drop every POSIX lock
    that this process holds on it.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise AlbumError(f"{path}: no such album; build one with `gamer index build`") from None
    except OSError as error:
        raise AlbumError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from None
    if not path.is_file():
        raise AlbumError(f"{path}: not an album (not a file); give a file that `gamer index build` wrote")
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    except apsw.CantOpenError as error:
        raise AlbumError(
            f"{path}: cannot be read ({one_line(error)}); check the path and its permissions"
        ) from None
    try:
        connection.set_busy_timeout(2000)
        limit(connection)
        _check_header(path, connection.read("main", 0, 0, 100)[1][: min(size, 100)], size)
    except BaseException:
        connection.close()
        raise
    return connection


def _pin(connection: apsw.Connection, path: Path) -> None:
    """Starts a read transaction that lasts until close, so that all reads see the same snapshot.

    Closes the connection on any error.
    """
    try:
        limit(connection)
        connection.limit(apsw.SQLITE_LIMIT_LENGTH, _longest(path))
        connection.execute(
            "PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=0; "
            "BEGIN; SELECT count(*) FROM main.sqlite_schema"
        ).fetchall()
        # Checked again, since the WAL may hold a newer header than the file.
        if not 1 <= (version := version_of(connection)) <= USER_VERSION:
            raise AlbumError(
                f"{path}: album format {version}, this program reads up to {USER_VERSION}; update the program"
            )
        check_tables(connection, path, version)
        connection.execute(VIEWS.get(version, ""))
        words.prepare(connection)
        connection.execute("PRAGMA query_only=1")
    except BaseException:
        connection.close()
        raise


def limit(connection: apsw.Connection) -> None:
    """Limits the statements of a connection to an album that may have been crafted."""
    for name, most in _LIMITS.items():
        connection.limit(name, most)


def _longest(path: Path) -> int:
    """The longest text or blob, in bytes, that reading an album can give: no longer than its files."""
    log = path.with_name(path.name + "-wal")
    size = path.stat().st_size + (log.stat().st_size if log.exists() else 0)
    return min(max(size, _LEAST_LENGTH), 1_000_000_000)


def lacks_shared_memory(error: Exception) -> bool:
    """Whether SQLite could not create the album's -shm file, which readers and writers share.

    The cause is a folder that cannot be written or a full disk; the album itself may be intact.
    """
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", 0) in _NO_SHARED_MEMORY
    return isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.FullError)


def has_log(path: Path) -> bool:
    """Whether a write-ahead log with content lies beside the file."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _immutable(path: Path, why: str) -> apsw.Connection:
    """Opens an album without shared memory, which is safe only while nobody writes it.

    Raises AlbumError if a WAL lies beside it: its pages would be needed to read the album.
    """
    if has_log(path):
        raise AlbumError(
            f"{path}: a log lies beside it, and {why}; free some space, or copy both files to another folder"
        )
    uri = path.absolute().as_uri() + "?immutable=1"
    try:
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        _pin(connection, path)
    except UNREADABLE as error:
        raise unusable(path, error) from None
    return connection


def _check_header(path: Path, head: bytes, size: int) -> None:
    if head[:16] != _SQLITE_MAGIC[: len(head[:16])] or not head:
        raise AlbumError(
            f"{path}: not an album (not an SQLite file); give a file that `gamer index build` wrote"
        )
    if len(head) < 100:
        raise AlbumError(f"{path}: truncated ({size} bytes); build or copy the album again")
    (version,) = struct.unpack_from(">I", head, 60)
    (application,) = struct.unpack_from(">I", head, 68)
    if application != APPLICATION_ID:
        raise AlbumError(
            f"{path}: an SQLite file of another application (id 0x{application:08X}); "
            "give a file that `gamer index build` wrote"
        )
    if version > USER_VERSION:
        raise AlbumError(
            f"{path}: album format {version}, this program reads up to {USER_VERSION}; update the program"
        )
    if version < 1:
        raise AlbumError(
            f"{path}: album format {version} is not a version that was ever written; build the album again"
        )
    _check_length(path, head)


def _check_length(path: Path, head: bytes) -> None:
    page_size, pages = struct.unpack_from(">H", head, 16)[0], struct.unpack_from(">I", head, 28)[0]
    page_size = 65536 if page_size == 1 else page_size
    # While a WAL exists, header and file size may differ. The size is read after this check: a writer that
    # finished since the header was read extended the file before it deleted its WAL.
    if path.with_name(path.name + "-wal").exists():
        return
    size = path.stat().st_size
    if size < page_size * pages:
        raise AlbumError(
            f"{path}: truncated ({size} of {page_size * pages} bytes); build or copy the album again"
        )


def check_output(path: Path) -> None:
    """Raises AlbumError if `path` exists and is no regular file, such as a folder, device or pipe."""
    if path.exists() and not path.is_file():
        raise AlbumError(f"{path}: no file stands there (a folder, device or pipe): give the name of a file")


def check_replaceable(path: Path) -> None:
    """Raises AlbumError if `path` exists and is not an album. A damaged album may be replaced."""
    if not path.exists():
        return
    check_output(path)
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            head = connection.read("main", 0, 0, 100)[1][: path.stat().st_size]
        finally:
            connection.close()
    except (apsw.Error, OSError) as error:
        raise AlbumError(f"{path}: cannot be replaced ({one_line(error)}); choose another name") from None
    if head and (head[:16] != _SQLITE_MAGIC or head[68:72] != struct.pack(">I", APPLICATION_ID)):
        raise AlbumError(
            f"{path}: a file that is not an album stands there; choose another name or move it away"
        )


def unusable(path: Path, error: Exception) -> AlbumError:
    """The error for an album that could not be used, and why: another program has it, the disk or its
    permissions refuse, it was asked for what is no text, or it is damaged.
    """
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return AlbumBusy(f"{path}: another program has this album open; close it there, then run this again")
    if isinstance(error, apsw.IOError | apsw.FullError | apsw.ReadOnlyError | apsw.CantOpenError):
        return AlbumError(
            f"{path}: cannot be written or read ({one_line(error)}); check its permissions and the free space"
        )
    if isinstance(error, UnicodeEncodeError):  # of what the caller gave: the file has no such text
        return AlbumError(
            f"{path}: what was asked for is not valid UTF-8: set the terminal's encoding to UTF-8"
        )
    return AlbumError(f"{path}: damaged or unreadable ({one_line(error)}); build the album again")


def one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
