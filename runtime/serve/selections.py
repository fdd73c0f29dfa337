"""Selections of photos on their way out: what may leave, and a zip of the files that is made as it is sent.

Holds no bytes of a picture beyond one piece of one file.
"""

from __future__ import annotations

import secrets
import zipfile
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from threading import Lock

from gamer.index import Photo, may_leave

from ..wall_time import iso, moment
from .live import Edition
from .pictures import PictureGone, original_of
from .views import Export, ExportRequest

PIECE = 256 << 10  # bytes of a file that are read at once
KEPT = 16  # selections that wait to be fetched
BATCH = 512  # photos that are read from the album at once
GONE = "left-out.txt"


@dataclass(frozen=True)
class Selected:
    """A photo that leaves. `name`: its file's in the zip, another for every file."""

    id: str
    name: str
    path: Path
    taken: int | None


class Selections:
    """The latest selections, by an id that nobody can guess. For any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: OrderedDict[str, tuple[Selected, ...]] = OrderedDict()

    def make(self, edition: Edition, asked: ExportRequest) -> Export:
        """Takes the photos that the album has, in the order asked for, each once."""
        rows = {photo: row for row, photo in enumerate(edition.album.ids())}
        wanted = [rows[photo] for photo in dict.fromkeys(asked.ids) if photo in rows]
        photos = [
            photo
            for start in range(0, len(wanted), BATCH)
            for photo in edition.album.photos(wanted[start : start + BATCH])
        ]
        leaving = [photo for photo in photos if asked.all or may_leave(photo)]
        selected, size = _selected(leaving)
        key = secrets.token_urlsafe(16)
        with self._lock:
            self._held[key] = selected
            while len(self._held) > KEPT:
                self._held.popitem(last=False)
        gone = len(asked.ids) - len(photos) + len(leaving) - len(selected)
        return Export(key, len(selected), size, len(photos) - len(leaving), gone)

    def get(self, key: str) -> tuple[Selected, ...] | None:
        with self._lock:
            return self._held.get(key)


def listing(selected: Iterable[Selected]) -> str:
    """A line for each photo: its id, the time on the wall, the file; tabs between."""
    return "".join(
        f"{_plain(photo.id)}\t{iso(photo.taken) or ''}\t{_plain(photo.name)}\n" for photo in selected
    )


def zipped(selected: Iterable[Selected]) -> Iterator[bytes]:
    """The pieces of a zip that holds the files unchanged; what cannot be read any more is named in GONE."""
    out, gone, files = _Pieces(), list[str](), set[Path]()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:  # pictures are compressed already
        for photo in selected:
            if photo.path in files:
                continue
            files.add(photo.path)
            try:
                file = photo.path.open("rb")
            except OSError:
                gone.append(photo.name)
                continue
            with file, archive.open(_entry(photo), "w", force_zip64=True) as entry:
                while piece := file.read(PIECE):
                    entry.write(piece)
                    yield out.taken()
        if gone:
            archive.writestr(GONE, "".join(f"{_plain(name)}\n" for name in gone))
    yield out.taken()


def _selected(photos: Iterable[Photo]) -> tuple[tuple[Selected, ...], int]:
    """(the photos whose files are pictures and are there, the bytes of these files together).

    The parts of a clip have one file.
    """
    out, size, names, files = list[Selected](), 0, {GONE: 1}, dict[Path, str]()
    for photo in photos:
        try:
            path = original_of(photo).path
            if path not in files:
                size += path.stat().st_size
                files[path] = _free(path, names)
        except (PictureGone, OSError):
            continue
        out.append(Selected(photo.id, files[path], path, photo.wall))
    return tuple(out), size


def _free(path: Path, names: dict[str, int]) -> str:
    """The file's name, with a number where another photo has it, also on systems that ignore case.

    `names`: those that are taken, with the greatest number that each was given.
    """
    name, wanted = path.name, path.name.casefold()
    while name.casefold() in names:
        names[wanted] = number = names.get(wanted, 1) + 1
        name = f"{path.stem} ({number}){path.suffix}"
    names[name.casefold()] = 1
    return name


def _entry(photo: Selected) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(photo.name.replace("\\", "_"))
    taken = moment(photo.taken)
    if taken is not None and 1980 <= taken.year < 2108:  # which a zip can say
        entry.date_time = (taken.year, taken.month, taken.day, taken.hour, taken.minute, taken.second)
    return entry


def _plain(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


class _Pieces(RawIOBase):
    """What a zip file is written to: gives away what it holds, so that no file is ever in memory whole."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._pieces.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken
