"""What scans read of files that have not changed since, so that a folder is not read through every time.

A file is unchanged if its number, size and times are those of then, its change time included, which no
program can set: tools that edit in place and keep the modification time (exiftool -P, rsync --times) change
it. A page of a file that is mapped into memory changes it once until it is written back, after 30 seconds, so
that a file must be unchanged for a minute. All that holds on Linux's own file systems on disks alone;
elsewhere, and where anything is in doubt, files are read. What is remembered may be lost at any time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from stat import S_ISREG

from ..json_checked import JsonError, read_as
from ..records import Photo, Skip
from . import picture
from .metadata.sidecars import Sidecars

# File systems whose change times are set by the kernel, to a fraction of a second, and that write back.
_KEEPING = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "xfs", "zfs"})
_SETTLED_NS = 60_000_000_000  # a file changed later than that before it is read may change again unseen
_WRITTEN = 500  # files between two commits


class Remembered:
    """A file of its own for one folder. `read` in place of `picture.read`; `finish` after a whole scan.

    Not thread-safe. A file that cannot be opened, or is damaged, remembers nothing; it is made for the first
    photo that can be remembered.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._db = path, None if not path.exists() else _opened(path)
        self._seen, self._mounts, self._devices = set[str](), dict[Path, bool](), dict[Path, int]()
        self._waiting, self._is_full = 0, False

    def read(self, path: Path, photo_id: str, sidecars: Sidecars) -> Iterator[Photo | Skip]:
        """As `picture.read`, without reading the file where it is known to be unchanged."""
        before = self._stat(path, photo_id, sidecars)
        if before and (known := self._known(path, before)) is not None:
            yield known
            return
        items = list(picture.read(path, photo_id, sidecars))
        yield from items
        # A sidecar that was skipped is told of every time.
        if before and len(items) == 1 and before == self._stat(path, photo_id, sidecars):
            self._keep(path, before, items[0])

    def finish(self) -> None:
        """Forgets the files that this scan did not come to."""
        if self._db is None:
            return
        with suppress(sqlite3.Error):
            stored = {row[0] for row in self._db.execute("SELECT path FROM files")}
            self._db.executemany(
                "DELETE FROM files WHERE path = ?", [(path,) for path in stored - self._seen]
            )
            self._db.commit()
            self._db.close()
        self._db = None

    def _stat(self, path: Path, photo_id: str, sidecars: Sidecars) -> str:
        """What tells a file and its sidecars from what they will be after a change; "" if nothing does."""
        if not self._is_kept(path.parent):
            return ""
        told, now = list[object]([photo_id]), time.time_ns()
        for file in (path, sidecars.xmp_of(path.name), sidecars.json_of(path.name)):
            if file is None:
                told.append(None)
                continue
            try:
                stat = file.lstat()
            except OSError:
                return ""
            # A link's times are not those of what it leads to, nor a mounted file's folder its own.
            if not S_ISREG(stat.st_mode) or stat.st_dev != self._devices[path.parent]:
                return ""
            if stat.st_ctime_ns > now - _SETTLED_NS:
                return ""
            told.append([file.name, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns])
        return json.dumps(told)

    def _is_kept(self, folder: Path) -> bool:
        if folder not in self._mounts:
            self._mounts[folder] = bool(_reader()) and _file_system(folder) in _KEEPING
            self._devices[folder] = folder.stat().st_dev if self._mounts[folder] else 0
        return self._mounts[folder]

    def _known(self, path: Path, stat: str) -> Photo | None:
        name = str(path.absolute())
        self._seen.add(name)
        if self._db is None:
            return None
        try:
            sql = "SELECT photo FROM files WHERE path = ? AND reader = ? AND stat = ?"
            found = self._db.execute(sql, (name, _reader(), stat)).fetchone()
            return None if found is None else read_as(Photo, json.loads(found[0]))
        except (sqlite3.Error, JsonError, ValueError, TypeError):
            return None

    def _keep(self, path: Path, stat: str, photo: Photo | Skip) -> None:
        if not isinstance(photo, Photo) or self._is_full:
            return
        self._db = self._db or _opened(self._path)
        if self._db is None:
            return
        try:
            row = (str(path.absolute()), _reader(), stat, json.dumps(dataclasses.asdict(photo)))
            self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", row)
            self._waiting += 1
            if self._waiting % _WRITTEN == 0:
                self._db.commit()
        except sqlite3.Error:  # the disk is full, or another scan writes
            self._db, self._is_full = None, True


def _opened(path: Path) -> sqlite3.Connection | None:
    if sys.platform != "linux":
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        db = sqlite3.connect(path, timeout=0, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(
            "CREATE TABLE IF NOT EXISTS files(path TEXT PRIMARY KEY, reader TEXT, stat TEXT, photo TEXT)"
        )
        return db
    except sqlite3.OperationalError:  # in use, or the disk is full
        return None
    except sqlite3.DatabaseError:  # damaged: made anew next time
        with suppress(OSError):
            path.unlink()
    except OSError:
        pass
    return None


@cache
def _reader() -> str:
    """A digest of the program that reads files, which may read more of them than another; "" if unknown."""
    folder, digest = Path(__file__).parent, hashlib.sha256()
    try:
        for source in sorted((*folder.rglob("*.py"), *folder.parent.glob("*.py"))):
            digest.update(source.read_bytes())
    except OSError:
        return ""
    for package in ("pillow", "pillow-heif", "tzfpy", "tzdata"):
        with suppress(PackageNotFoundError):
            digest.update(f"{package} {version(package)}\n".encode())
    return digest.hexdigest()


def _file_system(folder: Path) -> str:
    """The type of the file system that holds a folder, by the longest mount point above it; "" if unknown."""
    try:
        where, best = os.path.realpath(folder), ("", "")
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point, kind = before.split(" ")[4].replace("\\040", " "), after.split(" ")[0]
        inside = where == point or where.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = point, kind
    return best[1]
