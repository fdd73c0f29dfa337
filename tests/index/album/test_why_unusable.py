"""An album that cannot be used: a healthy one on a disk that refuses, or that another program has, is not
called damaged.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from gamer.index import AlbumError, AlbumWriter
from gamer.index.album.schema import unusable
from gamer.index.album.writing import storage
from gamer.index.memory.store import MemoryStore
from tests import mounted

# A mount of its own, which nobody else sees and which ends with the process.
READ_ONLY = (
    'mount -t tmpfs none "$1" && cp "$2" "$1/album.gamer" && mount -o remount,ro "$1" || exit 77; '
    'shift 2; exec "$@"'
)
ADD = (
    "import sys; from gamer.index.memory.store import MemoryStore\n"
    "try: MemoryStore.open(sys.argv[1])\n"
    "except Exception as error: print(type(error).__name__, error)"
)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (apsw.BusyError, "another program has this album open"),
        (apsw.LockedError, "another program has this album open"),
        (apsw.ReadOnlyError, "check its permissions and the free space"),
        (apsw.CantOpenError, "check its permissions and the free space"),
        (apsw.FullError, "check its permissions and the free space"),
        (apsw.IOError, "check its permissions and the free space"),
        (apsw.CorruptError, "build the album again"),
        (apsw.ConstraintError, "build the album again"),
        (ValueError, "build the album again"),
    ],
)
def test_only_damage_asks_to_build_the_album_again(error: type[Exception], says: str) -> None:
    assert says in str(unusable(Path("a.gamer"), error("it failed")))


def test_a_healthy_album_is_not_called_damaged_for_what_a_terminal_garbled(album_path: Path) -> None:
    with AlbumWriter.extend(album_path) as writer, pytest.raises(AlbumError, match="not valid UTF-8"):
        writer.remove(["\udcff"])


def test_a_healthy_album_on_a_read_only_disk_is_not_called_damaged(album_path: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    ran = mounted.run(
        READ_ONLY, str(disk), str(album_path), sys.executable, "-c", ADD, str(disk / "album.gamer")
    )
    assert "check its permissions and the free space" in ran.stdout, ran.stderr
    assert "damaged" not in ran.stdout


def test_an_album_that_another_program_holds_is_not_called_damaged(album_path: Path) -> None:
    holder = apsw.Connection(str(album_path))
    try:
        holder.execute(
            "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE"
        ).fetchall()
        with pytest.raises(AlbumError, match="another program has this album open"):
            MemoryStore.open(album_path)
    finally:
        holder.close()


def test_a_repair_that_finds_a_name_twice_says_damaged_and_blames_no_disk(album_path: Path) -> None:
    reader = apsw.Connection(str(album_path))
    names = [name for (name,) in reader.execute("SELECT name FROM entities ORDER BY length(name), name")]
    reader.close()
    first, second = next(two for two in pairwise(names) if len(two[0]) == len(two[1]))
    album_path.write_bytes(album_path.read_bytes().replace(first.encode(), second.encode()))
    with AlbumWriter.extend(album_path) as writer, pytest.raises(AlbumError, match=r"damaged.*UNIQUE"):
        writer.repair()


def test_a_full_disk_by_which_sqlite_rolled_back_itself_is_said_as_one(album_path: Path) -> None:
    db = storage.open_for_writing(album_path)
    try:
        with pytest.raises(apsw.FullError), storage.transaction(db):
            db.execute("ROLLBACK")
            raise apsw.FullError("database or disk is full")
    finally:
        db.close()
