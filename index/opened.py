"""What a person searched and then opened, kept beside an album if they asked for it, in ALBUM.opened.

One JSON object a line: `at` (ms since 1970, UTC), `query`, `photo` (its id). The file is there exactly while
it is to be kept, readable by its owner alone; it belongs to this device and no export holds it. `gamer train
--update` learns from it. Knows no model.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import AlbumError
from .json_checked import stored
from .replacing import replacing

SUFFIX = ".opened"
MAX_QUERY, MAX_BYTES = 1000, 16 << 20


@dataclass(frozen=True)
class Opened:
    """A photo that was opened among the answers to `query`; `at` in ms since 1970, UTC."""

    at: int
    query: str
    photo: str


class OpenedLog:
    """The log of one album. Writing to one that is not kept does nothing."""

    def __init__(self, album: Path) -> None:
        self.path = album.with_name(album.name + SUFFIX)

    @property
    def kept(self) -> bool:
        """Whether the person asked for it."""
        return self.path.is_file()

    def keep(self) -> None:
        """From now on, keeps what is opened. Raises AlbumError if the file cannot be made."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        except OSError as error:
            raise AlbumError(f"{self.path}: cannot be made ({error.strerror})") from None

    def delete(self) -> int:
        """Deletes all of it, and keeps no more. Returns how many entries there were. Raises AlbumError."""
        count = len(self.read())
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise AlbumError(f"{self.path}: cannot be deleted ({error.strerror})") from None
        return count

    def forget(self, photos: Iterable[str] = (), queries: Iterable[str] | None = ()) -> int:
        """Deletes the entries of these photo ids and of these queries (None: all).

        Returns how many entries went. What is opened later is kept as before. The file is replaced whole, so
        an entry that another program adds at that moment may be lost. Raises AlbumError.
        """
        if not self.kept:
            return 0
        entries, gone = self.read(), frozenset(photos)
        said = None if queries is None else {query[:MAX_QUERY] for query in queries}
        left = [e for e in entries if said is not None and e.photo not in gone and e.query not in said]
        if len(left) == len(entries) and said is not None:
            return 0

        def failure(why: str) -> AlbumError:
            return AlbumError(f"{self.path}: cannot be written ({why})")

        with replacing(self.path, failure, mode=0o600) as aside:
            aside.write_bytes(b"".join(_line(entry) for entry in left))
        return len(entries) - len(left)

    def add(self, query: str, photo: str, at: int | None = None) -> bool:
        """Adds an entry; False if nothing is kept, or if the file is full (16 MB). Raises AlbumError."""
        entry = Opened(int(time.time() * 1000) if at is None else at, query[:MAX_QUERY], photo)
        line = _line(entry)
        try:
            # Without O_CREAT: a log that was deleted meanwhile stays deleted.
            file = os.open(self.path, os.O_APPEND | os.O_WRONLY)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise AlbumError(f"{self.path}: cannot be written ({error.strerror})") from None
        try:
            if os.fstat(file).st_size + len(line) > MAX_BYTES:
                return False
            return os.write(file, line) == len(line)
        except OSError as error:
            raise AlbumError(f"{self.path}: cannot be written ({error.strerror})") from None
        finally:
            os.close(file)

    def read(self) -> tuple[Opened, ...]:
        """All entries, oldest first; lines that are none are left out."""
        try:
            with self.path.open("rb") as file:
                lines = file.read(MAX_BYTES + 1).splitlines()
        except OSError:
            return ()
        entries = (_entry(line) for line in lines)
        return tuple(sorted((e for e in entries if e is not None), key=lambda entry: entry.at))


def _line(entry: Opened) -> bytes:
    return (json.dumps(asdict(entry), ensure_ascii=False) + "\n").encode()


def _entry(line: bytes) -> Opened | None:
    entry: Opened | None = stored(Opened, line)
    return entry if entry is not None and entry.query.strip() and len(entry.query) <= MAX_QUERY else None
