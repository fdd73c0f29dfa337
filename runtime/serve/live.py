"""The album as its file is now: notices that another program changed or replaced it, and opens it again.

A request holds the state that it began with until it ends, so that rows do not change under it. Knows files
and albums; knows no route.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

from gamer.index import AlbumError

from ..door.album import Album
from ..errors import RuntimeFailure
from . import overview as glance
from .catalogue import Catalogue
from .pictures import Pictures
from .views import Overview

if TYPE_CHECKING:
    from gamer.index import Album as Reader

    from ..search.engine import Engine

LOOK_EVERY = 0.5  # seconds between two looks at the file
Mark = tuple[tuple[int, ...], ...]
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Edition:
    """One state of the album, with what is computed from it once. `name`: another for every other state.

    `opened`: what searches it; `album`: its rows. Its engine is what is closed, so that a late request does
    not open the file again.
    """

    def __init__(self, opened: Album, pictures: Pictures) -> None:
        self.opened, self.pictures, self.readers = opened, pictures, 0
        self.engine: Engine = opened.engine
        self.album: Reader = opened.reader
        self.name = f"{_inode(opened.path):x}.{self.album.generation}"

    @cached_property
    def catalogue(self) -> Catalogue:
        return Catalogue(self.engine)

    @cached_property
    def overview(self) -> Overview:
        return glance.overview(self.engine, self.catalogue)

    @cached_property
    def examples(self) -> tuple[glance.Example, ...]:
        return glance.examples(self.album, self.catalogue.named)


class LiveAlbum:
    """Takes over an open album, which it closes once a later state of it is open. For any thread.

    `file`: the same album, to be changed; no state of it is held open there.
    """

    def __init__(self, opened: Album) -> None:
        self.path, self.models, self.file = opened.path, opened.bundle.models, opened.again()
        self.file.close()
        self._lock, self._looked = Lock(), monotonic()
        self._mark: Mark = ()  # the file may have changed since it was opened
        self._current = Edition(opened, Pictures(opened.reader))

    @classmethod
    def of(cls, engine: Engine) -> LiveAlbum:
        """The album that an engine searches, which is taken over."""
        return cls(Album.of(engine))

    @contextmanager
    def edition(self) -> Iterator[Edition]:
        """The album as it is now; it stays open until the block ends."""
        with self._lock:
            if monotonic() - self._looked >= LOOK_EVERY:
                self._look()
            held = self._current
            held.readers += 1
        try:
            yield held
        finally:
            with self._lock:
                held.readers -= 1
                if held is not self._current and not held.readers:
                    held.engine.close()

    def look(self) -> None:
        """Looks at the file at once: this program has changed it."""
        with self._lock:
            self._look()

    def close(self) -> None:
        self._current.engine.close()

    def _look(self) -> None:
        """Opens the file again if it holds another state; what cannot be opened leaves the one before."""
        self._looked, mark = monotonic(), mark_of(self.path)
        if mark == self._mark:
            return
        self._mark = mark
        try:
            later = self._opened()
        except (AlbumError, RuntimeFailure) as error:
            _log.warning("the album has changed, and is shown as it was before: %s", error)
            return
        if later is None:
            return
        before, self._current = self._current, later
        if not before.readers:
            before.engine.close()

    def _opened(self) -> Edition | None:
        """The file's state as an edition; None if it is the current one."""
        opened = self.file.again()
        try:
            edition = Edition(opened, self._current.pictures.of(opened.reader))
        except BaseException:
            opened.close()
            raise
        if edition.name != self._current.name:
            return edition
        opened.close()
        return None


class Threads:
    """Runs what requests ask of an album in threads, `at_once` of them at most."""

    def __init__(self, live: LiveAlbum, at_once: int) -> None:
        self._live, self._limit = live, CapacityLimiter(at_once)

    async def run(self, call: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(call, limiter=self._limit)

    async def read(self, call: Callable[[Edition], T]) -> T:
        """`call` is given the album as it is now."""

        def with_edition() -> T:
            with self._live.edition() as edition:
                return call(edition)

        return await self.run(with_edition)


def mark_of(path: Path) -> Mark:
    """What changes whenever the file or its log is written, or another file takes its name."""
    out = list[tuple[int, ...]]()
    for file in (path, path.with_name(path.name + "-wal")):
        try:
            stat = file.stat()
        except OSError:
            out.append(())
        else:
            out.append((stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size))
    return tuple(out)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
