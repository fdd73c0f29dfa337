"""Files that the page sends: saved in one folder under safe names, then indexed there, one run at a time.

Knows the folder, the album and how it is indexed; knows no route. A file is written aside under a hidden
name, which no scan reads, and gets its own name when it is whole.
"""

from __future__ import annotations

import filecmp
import logging
import os
import secrets
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from gamer.index import AlbumError, IngestError
from gamer.index.errors import AlbumBusy
from gamer.index.ingest.folder import PICTURES
from gamer.index.ingest.pixels import opened

from ..errors import RuntimeFailure
from .live import LiveAlbum
from .server.background import Background
from .server.problem import FAILED, Refused, one_line, without_folder
from .views import SkippedFile, Uploaded, UploadState

if TYPE_CHECKING:
    from ..indexing.build import Added

LARGEST = 100_000_000  # bytes of one file
SPARE = 500_000_000  # bytes of the disk that stay free
AT_ONCE = 4  # files that are received at the same time
QUIET = 1.0  # seconds without a file until indexing begins, so that files sent together are one run
BUSY = 3.0  # seconds until an album that another program writes is tried again
MAX_STEM = 120  # bytes of a name without its suffix
MAX_SKIPS = 100
_log = logging.getLogger(__name__)


class UploadRefused(Refused):
    """A file that is not taken: what is still to come of it is not read."""

    def __init__(self, status: int, code: str, **given: str | int) -> None:
        super().__init__(status, code, {"connection": "close"}, **given)


class _Stopped(Exception):
    """Ends a run of the indexer between two photos."""


class Uploads(Background):
    """Takes files into `folder` and indexes it into the album. For any thread.

    Once it is stopped, files that it did not reach stay in the folder.

    Raises RuntimeFailure if `folder` is no folder that can be written.
    """

    def __init__(
        self,
        live: LiveAlbum,
        folder: Path,
        *,
        largest: int = LARGEST,
        spare: int = SPARE,
        quiet: float = QUIET,
    ) -> None:
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise RuntimeFailure(f"--upload {folder}: no folder that can be written; create it first")
        super().__init__("uploads")
        self.largest, self._live, self._folder, self._spare, self._quiet = largest, live, folder, spare, quiet
        self._receiving, self._due = 0, False
        self._state = UploadState(True, largest, tuple(sorted(PICTURES)), "idle", 0, 0, 0, 0, 0, (), None)

    @property
    def state(self) -> UploadState:
        with self._changed:
            return self._state

    @contextmanager
    def receiving(self, name: str, size: int | None) -> Iterator[Receipt]:
        """Where the file is written; deleted at the end unless `Receipt.keep` was called.

        `size`: as the client declares it. Raises UploadRefused.
        """
        safe = safe_name(name)
        expected = self.largest if size is None else size
        if expected > self.largest:
            raise too_large(self.largest)
        if shutil.disk_usage(self._folder).free - expected < self._spare:
            raise UploadRefused(507, "disk_full")
        with self._place():
            aside = self._folder / f".upload-{secrets.token_hex(8)}"
            try:
                with aside.open("xb") as file:
                    yield Receipt(self._folder, aside, file, safe, self.largest)
            except TimeoutError:  # of the client
                raise
            except OSError as error:  # also of closing a file that could not be written
                raise UploadRefused(507, "not_written", why=str(error.strerror)) from None
            finally:
                aside.unlink(missing_ok=True)

    def saved(self) -> None:
        """Has the folder indexed once no more files come."""
        with self._changed:
            self._due = True
            if self._state.state != "indexing":
                self._state = replace(self._state, state="waiting", error=None)
            self._changed.notify_all()

    @contextmanager
    def _place(self) -> Iterator[None]:
        with self._changed:
            if self._receiving >= AT_ONCE or self._stopped:
                raise UploadRefused(503, "busy", n=AT_ONCE)
            self._receiving += 1
        try:
            yield
        finally:
            with self._changed:
                self._receiving -= 1
                self._changed.notify_all()

    def _run(self) -> None:
        while self._may_index():
            try:
                self._told(self._index())
            except _Stopped:
                return
            except AlbumBusy:
                self._again()
            except (AlbumError, IngestError, RuntimeFailure, OSError) as error:
                self._failed(str(error))
            except Exception as error:
                _log.error("what was uploaded could not be indexed", exc_info=error)
                self._failed(FAILED)

    def _may_index(self) -> bool:
        """Waits until files have come and no more do; False when the server stops."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._due)
            while not self._stopped:
                self._due = False
                if not self._changed.wait_for(
                    lambda: self._stopped or self._due or self._receiving, self._quiet
                ):
                    break
                self._changed.wait_for(lambda: self._stopped or not self._receiving)
            if not self._stopped:
                self._state = replace(
                    self._state,
                    state="indexing",
                    done=0,
                    total=0,
                    added=0,
                    kept_out=0,
                    skips=(),
                    skipped=0,
                    error=None,
                )
            return not self._stopped

    def _index(self) -> Added:
        def progress(done: int, total: int, _: str) -> None:
            with self._changed:
                self._state = replace(self._state, done=done, total=total)
                if self._stopped:
                    raise _Stopped

        return self._live.file.add(self._folder, progress=progress)

    def _told(self, done: Added) -> None:
        self._live.look()
        skips = tuple(
            SkippedFile(Path(skip.where).name, self._without_folders(skip.reason))
            for skip in done.skips[:MAX_SKIPS]
        )
        with self._changed:
            self._state = replace(
                self._state,
                state="waiting" if self._due else "idle",
                added=done.added,
                kept_out=done.kept_out,
                skips=skips,
                skipped=len(done.skips),
            )

    def _again(self) -> None:
        with self._changed:
            self._due, self._state = True, replace(self._state, state="waiting")
            self._changed.wait_for(lambda: self._stopped, BUSY)

    def _failed(self, why: str) -> None:
        _log.warning("what was uploaded is saved, but not indexed: %s", why)
        with self._changed:
            self._state = replace(self._state, state="failed", error=self._without_folders(why))

    def _without_folders(self, text: str) -> str:
        text = without_folder(text, self._live.path)
        for folder in (self._folder.resolve(), self._folder):
            text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), folder.name)
        return one_line(text)


class Receipt:
    """One file on its way into the folder. Not for several threads at once."""

    def __init__(self, folder: Path, aside: Path, file: BinaryIO, name: str, largest: int) -> None:
        self._folder, self._aside, self._file, self._name = folder, aside, file, name
        self._left = largest
        self._largest = largest

    def write(self, part: bytes) -> None:
        """Raises UploadRefused, OSError."""
        self._left -= len(part)
        if self._left < 0:
            raise too_large(self._largest)
        self._file.write(part)

    def keep(self) -> Uploaded:
        """Gives the file its name, or finds it there already. Raises UploadRefused, OSError."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            with opened(self._aside):
                pass
            return self._named()
        except IngestError as error:
            why = str(error).removeprefix(f"{self._aside}: ")
            raise UploadRefused(415, "line", text=f"{self._name}: {why}") from None

    def _named(self) -> Uploaded:
        """Never over an existing file: a number is added, unless that file has the same content."""
        whole, number = Path(self._name), 1
        while True:
            name = self._name if number == 1 else f"{whole.stem}-{number}{whole.suffix}"
            there = self._folder / name
            try:
                there.open("xb").close()  # takes the name, where hard links are not to be had
            except FileExistsError:
                if there.is_file() and filecmp.cmp(there, self._aside, shallow=False):
                    return Uploaded(name, False)
                number += 1
                continue
            self._aside.replace(there)
            return Uploaded(name, True)


def too_large(largest: int) -> UploadRefused:
    return UploadRefused(413, "file_large", mb=round(largest / 1e6))


def safe_name(name: str) -> str:
    """`name` without folders, control characters, what a file system refuses, or a dot at its begin.

    Raises UploadRefused for a suffix that no picture which is read has.
    """
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rsplit("/", 1)[-1]
    clean = "".join("_" if c in '<>:"|?*' else c for c in last if unicodedata.category(c)[0] != "C")
    stem, dot, suffix = clean.strip(" .").rpartition(".")
    if f".{suffix.lower()}" not in PICTURES or not dot:
        raise UploadRefused(415, "only_pictures", kinds=", ".join(sorted(PICTURES)))
    short = stem.encode()[:MAX_STEM].decode(errors="ignore").strip(" .")
    return f"{short or 'photo'}.{suffix}"
