"""A folder is read again only where a file may have changed, and never wrongly left unread."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from gamer.index import Photo, Skip, scan
from gamer.index.ingest import Remembered, picture, remembered
from gamer.index.ingest.metadata.sidecars import Sidecars

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files are always read on other systems")


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(remembered, "_SETTLED_NS", 0)
    monkeypatch.setattr(remembered, "_file_system", lambda _: "ext4")  # the rest of a container is another
    folder = tmp_path / "photos"
    for n in range(3):
        _draw(folder / f"{n}.jpg", n)
    return folder


def _draw(path: Path, shade: int) -> None:
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (32, 24), (shade, shade, shade)).save(path)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read."""
    names, read = list[str](), picture.read

    def counted(path: Path, photo_id: str, sidecars: Sidecars) -> Iterator[Photo | Skip]:
        names.append(path.name)
        return read(path, photo_id, sidecars)

    monkeypatch.setattr(picture, "read", counted)
    return names


def scanned(album: Path) -> list[Photo | Skip]:
    return list(scan(album, Remembered(album.parent / "cache" / "scan.sqlite")))


def test_an_unchanged_folder_is_not_read_again_and_gives_the_same(album: Path, opened: list[str]) -> None:
    first = scanned(album)
    assert opened == ["0.jpg", "1.jpg", "2.jpg"]
    opened.clear()
    assert scanned(album) == first == list(scan(album))
    assert opened == ["0.jpg", "1.jpg", "2.jpg"]  # by the scan that remembers nothing


def test_an_edit_that_keeps_size_and_modification_time_is_read(album: Path, opened: list[str]) -> None:
    before = {item.id: item for item in scanned(album) if isinstance(item, Photo)}
    file, stat = album / "1.jpg", (album / "1.jpg").stat()
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    with file.open("r+b") as there:  # in place, as exiftool -P does
        there.write(data)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    opened.clear()
    after = {item.id: item for item in scanned(album) if isinstance(item, Photo)}
    assert opened == ["1.jpg"]
    assert after["1.jpg"].sha256 != before["1.jpg"].sha256
    assert after["0.jpg"] == before["0.jpg"]


def test_another_sidecar_makes_its_photo_read(album: Path, opened: list[str]) -> None:
    scanned(album)
    opened.clear()
    (album / "2.jpg.json").write_text('{"title": "2.jpg", "photoTakenTime": {"timestamp": "1700000000"}}')
    told = [item for item in scanned(album) if isinstance(item, Photo) and item.id == "2.jpg"]
    assert opened == ["2.jpg"]
    assert told[0].taken_at == 1_700_000_000_000
    opened.clear()
    scanned(album)
    assert opened == []


def test_a_sidecar_that_cannot_be_read_is_told_of_every_time(album: Path) -> None:
    (album / "2.jpg.json").write_text("{")
    first, second = scanned(album), scanned(album)
    assert first == second
    assert any(isinstance(item, Skip) for item in second)


def test_what_was_changed_a_moment_ago_is_not_remembered(
    album: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "_SETTLED_NS", 60_000_000_000)
    scanned(album)
    scanned(album)
    assert len(opened) == 6
    assert not (album.parent / "cache").exists()


@pytest.mark.parametrize("change", ["reader", "damaged", "strange", "file system"])
def test_in_doubt_all_is_read(
    album: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    first = scanned(album)
    opened.clear()
    file = album.parent / "cache" / "scan.sqlite"
    if change == "reader":
        monkeypatch.setattr(remembered, "_reader", lambda: "a newer program")
    elif change == "damaged":
        file.write_bytes(b"\0" * 5000)
    elif change == "strange":
        with sqlite3.connect(file) as db:
            db.execute("UPDATE files SET photo = '{\"id\": 3}'")
        db.close()
    else:
        monkeypatch.setattr(remembered, "_file_system", lambda _: "vfat")
    assert scanned(album) == first
    assert len(opened) == 3
    if change != "file system":
        opened.clear()
        scanned(album), scanned(album)
        assert len(opened) <= 3  # remembered again


def test_files_that_are_gone_are_forgotten(album: Path) -> None:
    scanned(album)
    (album / "0.jpg").unlink()
    scanned(album)
    with sqlite3.connect(album.parent / "cache" / "scan.sqlite") as db:
        names = {Path(row[0]).name for row in db.execute("SELECT path FROM files")}
    db.close()
    assert names == {"1.jpg", "2.jpg"}


def test_what_a_linked_sidecar_says_is_read_where_it_has_changed(album: Path, tmp_path: Path) -> None:
    there = tmp_path / "elsewhere.json"
    there.write_text('{"title": "2.jpg", "photoTakenTime": {"timestamp": "1700000000"}}')
    (album / "2.jpg.json").symlink_to(there)
    scanned(album)
    there.write_text('{"title": "2.jpg", "photoTakenTime": {"timestamp": "1500000000"}}')
    told = [item for item in scanned(album) if isinstance(item, Photo) and item.id == "2.jpg"]
    assert told[0].taken_at == 1_500_000_000_000


def test_a_program_without_its_source_reads_everything(
    album: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "_reader", lambda: "")
    assert len(scanned(album)) == len(scanned(album)) == 3
    assert len(opened) == 6


def test_the_same_folder_is_known_by_another_way_to_it(
    album: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned(album)
    opened.clear()
    monkeypatch.chdir(album.parent)
    again = list(scan(Path(album.name), Remembered(album.parent / "cache" / "scan.sqlite")))
    assert (len(again), opened) == (3, [])


def test_a_link_is_always_read(album: Path, tmp_path: Path, opened: list[str]) -> None:
    _draw(tmp_path / "elsewhere" / "far.jpg", 9)
    (album / "link.jpg").symlink_to(tmp_path / "elsewhere" / "far.jpg")
    scanned(album)
    opened.clear()
    scanned(album)
    assert opened == ["link.jpg"]
