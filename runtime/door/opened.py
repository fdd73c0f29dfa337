"""An open album file and its bundle: what is opened when, and closed when the file changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from gamer.index import Album as Reader

from ..models.models import check_encoders
from .bundle import DEFAULT, Bundle, Running, bundle_of

if TYPE_CHECKING:
    from gamer.index import AlbumWriter

    from ..search.engine import Engine

P = ParamSpec("P")
T = TypeVar("T")


class OpenAlbum:
    """An album file, with the bundle that encoded it.

    Models are opened when a call first needs them. Threads may search at once; after a change the next search
    opens the file again. Raises AlbumError for a file that is no album.
    """

    def __init__(
        self, path: str | Path, bundle: str | Path | Bundle | None = None, running: Running = DEFAULT
    ) -> None:
        self._begin(Path(path).expanduser(), bundle, running)
        self._reader: Reader | None = Reader.open(self.path)

    def _begin(self, path: Path, bundle: str | Path | Bundle | None, running: Running) -> None:
        self.path, self._named, self._running = path, bundle, running
        self._engine: Engine | None = None
        self._ahead: Thread | None = None
        self._is_warm = False  # whether the models are another album's, too
        self._bundle: Bundle | None = None
        self._lock, self._bundle_lock = RLock(), Lock()

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """The album that an engine searches; who closes one closes the other."""
        album = cls.__new__(cls)
        album._begin(engine.album.path, Bundle.of(engine.models), DEFAULT)
        album._engine, album._reader, album._is_warm = engine, engine.album, True
        return album

    def again(self) -> Self:
        """The file as it is now, with the same models, which are open already. Raises AlbumError."""
        album = type(self)(self.path, self.bundle, self._running)
        album._is_warm = True
        return album

    @property
    def bundle(self) -> Bundle:
        """See bundle_of."""
        with self._bundle_lock:
            if self._bundle is None:
                self._bundle = bundle_of(self.path, self._named, self._running)
            return self._bundle

    @property
    def reader(self) -> Reader:
        """The album's rows, read as they are now."""
        with self._lock:
            if self._reader is None:
                self._reader = Reader.open(self.path)
            return self._reader

    @property
    def engine(self) -> Engine:
        """What searches. Raises RuntimeFailure if other encoders made the album's vectors."""
        with self._lock:
            if self._engine is None:
                ahead = None if self._is_warm else self.ahead()
                from ..search.engine import Engine

                check_encoders(self.bundle.models, self.reader.meta, self.path)
                self._engine = Engine(self.bundle.models, self.reader)
                if ahead:
                    ahead.join()
            return self._engine

    def ahead(self) -> Thread:
        """Opens the text tower in a thread, once: this releases Python's lock, so that imports go on.

        Errors are suppressed here; the first use raises them.
        """

        def load() -> None:
            with suppress(Exception):
                _ = self.bundle.models.text

        if self._ahead is None:
            self._ahead = Thread(target=load)
            self._ahead.start()
        return self._ahead

    def changed(self) -> None:
        """Forgets what was read: the next call reads the file as it is then."""
        if self._reader is not None:
            self._reader.close()
        self._engine = self._reader = None

    close = changed

    @contextmanager
    def changing(self) -> Iterator[Path]:
        """The file, while others write it; what was read of it before is forgotten."""
        self.changed()
        try:
            yield self.path
        finally:
            self.changed()

    def change(self, call: Callable[Concatenate[Path, P], T], *given: P.args, **named: P.kwargs) -> T:
        """What `call` does to the file; what was read of it before is forgotten."""
        with self.changing() as path:
            return call(path, *given, **named)

    @contextmanager
    def writing(self) -> Iterator[AlbumWriter]:
        """The one writer of the file; what was read of it before is forgotten."""
        from gamer.index import AlbumWriter

        with self.changing() as path, AlbumWriter.extend(path) as writer:
            yield writer

    def __len__(self) -> int:
        return len(self.reader)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gamer.Album {self.path}: {len(self)} photos>"
