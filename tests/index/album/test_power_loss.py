"""Power loss: writes that were not synced are lost, or reach the disk in part and in any order.

An SQLite file system keeps, for each file, what was synced and what was written since. At seeded moments the
files are written out as a power cut would leave them. Each such album opens at its last reported commit, or
at the one that was being made, and is clean.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from gamer.index import Album, AlbumError, AlbumWriter, Encoded, Memory, Photo
from tests.index.conftest import BuildAlbum, name_vectors

Write = tuple[int, bytes | None]  # where and what; None: the file was cut there


class Disk:
    """What of each file is synced, and the writes since."""

    def __init__(self, chance: random.Random, folder: Path, every: int) -> None:
        self._chance, self._folder, self._every = chance, folder, every
        self.synced: dict[str, bytes] = {}
        self.waiting: dict[str, list[Write]] = {}
        self.calls = 0
        self.reported = 0  # commits
        self.cuts: list[tuple[Path, int]] = []

    def opened(self, path: str) -> None:
        if path not in self.synced:
            self.synced[path] = Path(path).read_bytes() if Path(path).exists() else b""

    def write(self, path: str, write: Write) -> None:
        self.waiting.setdefault(path, []).append(write)
        self.tick()

    def sync(self, path: str) -> None:
        self.tick()
        self.synced[path] = applied(self.synced.get(path, b""), self.waiting.pop(path, []))

    def renamed(self, old: str, new: str) -> None:
        self.synced[new], self.waiting[new] = self.synced.pop(old, b""), self.waiting.pop(old, [])

    def tick(self) -> None:
        self.calls += 1
        if self.calls % self._every == 0:
            self._cut()

    def _cut(self) -> None:
        folder = self._folder / str(len(self.cuts))
        folder.mkdir()
        for path, content in self.synced.items():
            if Path(path).exists():
                reached = [write for write in self.waiting.get(path, []) if self._chance.random() < 0.5]
                (folder / Path(path).name).write_bytes(applied(content, reached))
        self.cuts.append((folder, self.reported))


def applied(content: bytes, writes: list[Write]) -> bytes:
    out = bytearray(content)
    for at, data in writes:
        if data is None:
            del out[at:]
        else:
            out.extend(bytes(max(0, at - len(out))))
            out[at : at + len(data)] = data
    return bytes(out)


def install(disk: Disk) -> apsw.VFS:
    class File(apsw.VFSFile):
        def __init__(self, base: str, name: Any, flags: Any) -> None:
            super().__init__(base, name, flags)
            self._path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
            disk.opened(self._path)

        def xWrite(self, data: bytes, offset: int) -> None:
            disk.write(self._path, (offset, bytes(data)))
            super().xWrite(data, offset)

        def xTruncate(self, size: int) -> None:
            disk.write(self._path, (size, None))
            super().xTruncate(size)

        def xSync(self, flags: int) -> None:
            disk.sync(self._path)
            super().xSync(flags)

    class System(apsw.VFS):
        def __init__(self) -> None:
            super().__init__("power", "")

        def xOpen(self, name: Any, flags: list[int]) -> Any:
            return File("", name, flags) if name is not None else apsw.VFSFile("", name, flags)

        def xDelete(self, name: str, sync: bool) -> None:
            disk.synced.pop(name, None)
            disk.waiting.pop(name, None)
            super().xDelete(name, sync)

    return System()


@contextmanager
def simulated(disk: Disk) -> Iterator[None]:
    """All albums are opened on `disk` meanwhile."""
    system, real = install(disk), apsw.Connection

    def connection(name: str, **options: Any) -> apsw.Connection:
        db = real(name, vfs="power", **options)
        if "immutable" not in name:
            db.execute("PRAGMA locking_mode=EXCLUSIVE")  # a file system of Python's has no memory to share
        return db

    def replace(self: Path, target: Path) -> Path:
        os.replace(self, target)  # noqa: PTH105
        disk.renamed(str(self), str(target))
        return target

    def fsync(descriptor: int) -> None:
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if Path(path).is_file():
            disk.sync(path)

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(apsw, "Connection", connection)
            patch.setattr(Path, "replace", replace)
            patch.setattr(os, "fsync", fsync)
            yield
    finally:
        system.unregister()


def photo(n: int) -> Encoded:
    return Encoded(
        Photo(f"{n}.jpg", None, memories=(Memory("note", f"harbour {n}"),)),
        {"text": name_vectors([f"{n}"])},
    )


def changed(path: Path, disk: Disk) -> list[set[str]]:
    """Adds, removes and compacts; returns the photos after each commit."""
    present = {f"{n}.jpg" for n in range(30)}
    states = [set(present)]
    for round_ in range(3):
        with AlbumWriter.extend(path) as writer:
            for n in range(2):
                new = 100 * (round_ + 1) + n
                writer.add([photo(new)])
                present |= {f"{new}.jpg"}
                states.append(set(present))
                disk.reported += 1
            writer.remove([f"{round_}.jpg"])
            present -= {f"{round_}.jpg"}
            states.append(set(present))
            disk.reported += 1
            writer.compact()
    return states


def read(folder: Path) -> set[str]:
    with Album.open(folder / "album.gamer") as album:
        assert album.verify() == []
        return set(album.ids())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="names the file of a descriptor by /proc")
@pytest.mark.parametrize(
    "every", [pytest.param(7, marks=pytest.mark.quick), pytest.param(3, marks=pytest.mark.slow)]
)
def test_after_a_power_loss_the_album_is_at_its_last_reported_commit(
    build_album: BuildAlbum, tmp_path: Path, every: int
) -> None:
    path = build_album([photo(n) for n in range(30)])
    (tmp_path / "cuts").mkdir()
    disk = Disk(random.Random(7), tmp_path / "cuts", every)
    with simulated(disk):
        states = changed(path, disk)
    assert len(disk.cuts) > 20
    for folder, reported in disk.cuts:
        assert read(folder) in states[reported : reported + 2], folder
    assert read(path.parent) == states[-1]


def test_a_disk_that_is_not_synced_loses_what_was_written(
    build_album: BuildAlbum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulation can fail: with syncs that do nothing, commits are lost or albums damaged."""
    path = build_album([photo(n) for n in range(30)])
    (tmp_path / "cuts").mkdir()
    disk = Disk(random.Random(7), tmp_path / "cuts", 7)
    monkeypatch.setattr(Disk, "sync", lambda self, path: self.tick())
    with simulated(disk):
        states = changed(path, disk)
    lost = 0
    for folder, reported in disk.cuts:
        try:
            lost += read(folder) not in states[reported : reported + 2]
        except (AlbumError, AssertionError):
            lost += 1
    assert lost
