"""Thumbnails (limited in size, upright, cached) and original files of an album's photos and clips.

A picture is requested by its row; its path comes from the album alone. An album from a stranger may name any
file on the disk, so before a byte is sent the file is checked to be a regular file with the header of a
picture or a video. The thumbnail of a clip is the frame that stands for it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gamer.index import IngestError, Photo, Size, load_photo
from gamer.index.ingest.clips import live
from gamer.index.people.records import Box

from ..recent import Recent
from .server.problem import Refused

if TYPE_CHECKING:
    from gamer.index import Album

CACHE_BYTES = 64 << 20
QUALITY = 82
FACE = 192  # pixels a side of a face that is shown
MOST_FOR_FACE = 3_000  # pixels of the longer side that a face is cut from
SHOWN_BY_BROWSERS = frozenset(
    {"image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp"}
    | {"video/mp4", "video/quicktime", "video/webm"}
)
_SIGNATURES = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
}
HEAD = 64  # bytes, by which a file's type is told
_HEIC = frozenset({b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1"})
_VIDEO = re.compile(rb"iso.|mp4.|avc1|av01|M4V.|3g[p2].|dash|MSNV|mmp4|XAVC", re.DOTALL)
_BITMAP_HEADERS = tuple(size.to_bytes(4, "little") for size in (12, 40, 52, 56, 108, 124))


class PictureGone(Refused):
    """The photo is in the album, but its picture is missing or unreadable. `str(error)` is one line."""


@dataclass(frozen=True)
class Original:
    path: Path
    media_type: str


@dataclass(frozen=True)
class Thumbnail:
    """WebP bytes, and an entity tag that changes when the file does."""

    data: bytes
    tag: str


class Pictures:
    """May be called from any thread; the caller limits how many pictures are decoded at once."""

    def __init__(self, album: Album, cache_bytes: int = CACHE_BYTES) -> None:
        self._album = album
        self._kept = Recent[tuple[str, str], Thumbnail](cache_bytes, lambda made: len(made.data))

    def of(self, album: Album) -> Pictures:
        """The pictures of another state of the album, with the thumbnails that were made before."""
        later = copy(self)
        later._album = album
        return later

    def thumbnail(self, row: int, size: int) -> Thumbnail:
        """At most `size` pixels a side. Raises PictureGone, or AlbumError for a row that does not exist."""
        return self._made(row, size, "", lambda photo: _shrunk(photo, size))

    def face(self, row: int, box: Box) -> Thumbnail:
        """The part of the upright picture in and around a box, FACE pixels a side. Raises as `thumbnail`."""
        part = "-" + "-".join(f"{side:.4f}" for side in box)
        return self._made(row, FACE, part, lambda photo: _cut(photo, box))

    def _made(self, row: int, size: int, part: str, make: Callable[[Photo], bytes]) -> Thumbnail:
        """`part`: tells what is made of one picture apart."""
        photo = self._album.photo(row)
        path, tag = _look(photo, size)
        key = (photo.id, tag + part)  # the parts of a clip have one path
        if kept := self._kept.get(key):
            return kept
        try:
            result = Thumbnail(make(photo), tag + part)
        except IngestError as error:
            raise PictureGone(404, "line", text=str(error).replace(str(path), path.name)) from None
        self._kept.put(key, result)
        return result

    def original(self, row: int) -> Original:
        """The file itself. Raises PictureGone if it is missing, or neither a picture nor a video."""
        return original_of(self._album.photo(row))

    def motion(self, row: int) -> Original:
        """The clip of a Live Photo. Raises PictureGone if there is none."""
        path, _ = _look(self._album.photo(row), 0)
        motion = live.motion_of(path)
        if motion is None:
            raise PictureGone(404, "no_motion", name=path.name)
        return _typed(motion)

    def is_live(self, row: int) -> bool:
        """Whether the photo is a Live Photo, with its clip beside it."""
        try:
            return live.motion_of(_look(self._album.photo(row), 0)[0]) is not None
        except PictureGone:
            return False

    def is_there(self, row: int) -> bool:
        try:
            _look(self._album.photo(row), 0)
        except PictureGone:
            return False
        return True


def original_of(photo: Photo) -> Original:
    """As Pictures.original, for a photo that was read before."""
    return _typed(_look(photo, 0)[0])


def _look(photo: Photo, size: int) -> tuple[Path, str]:
    if photo.path is None:
        raise PictureGone(404, "no_picture")
    path = Path(photo.path)
    try:
        # Opening a FIFO or a device could block for ever.
        if path.is_file():
            stat = path.stat()
            return path, f"{stat.st_mtime_ns:x}-{stat.st_size:x}-{size}"
    except (OSError, ValueError):
        pass
    raise PictureGone(404, "picture_gone", name=path.name)


def _typed(path: Path) -> Original:
    try:
        with path.open("rb") as file:
            kind = media_type(file.read(HEAD))
    except OSError as error:
        raise PictureGone(404, "not_read", name=path.name, why=str(error.strerror)) from None
    if kind is None:
        raise PictureGone(404, "no_kind", name=path.name)
    return Original(path, kind)


def media_type(head: bytes) -> str | None:
    """The media type by the first HEAD bytes of a file, whatever its name.

    None if it must be a picture or a video.
    """
    if head.startswith((b"RIFF", b"BM")):
        webp, bitmap = head[8:12] == b"WEBP", head.startswith(b"BM") and head[14:18] in _BITMAP_HEADERS
        return "image/webp" if webp else "image/bmp" if bitmap else None
    if head[4:8] == b"ftyp":
        return _by_brand(head[8:12])
    if head[4:8] == b"moov":  # a QuickTime file without a brand
        return "video/quicktime"
    if head.startswith(b"\x1aE\xdf\xa3"):
        return "video/webm" if b"webm" in head else "video/x-matroska"
    return next((kind for start, kind in _SIGNATURES.items() if head.startswith(start)), None)


def _by_brand(brand: bytes) -> str | None:
    if brand in _HEIC:
        return "image/heic"
    return "video/quicktime" if brand == b"qt  " else "video/mp4" if _VIDEO.fullmatch(brand) else None


def _cut(photo: Photo, box: Box) -> bytes:
    """A square with a third more than the box to all sides, as far as there is picture."""
    from PIL import Image, ImageOps

    left, top, width, height = box
    least = Size(longer=min(MOST_FOR_FACE, int(FACE / max(width, height, 0.01))))
    image = Image.fromarray(load_photo(photo, least=least))
    x, y = (left + width / 2) * image.width, (top + height / 2) * image.height
    half = max(width * image.width, height * image.height) * 0.8
    cut = image.crop(
        (max(0, x - half), max(0, y - half), min(image.width, x + half), min(image.height, y + half))
    )
    out = io.BytesIO()
    ImageOps.fit(cut, (FACE, FACE), Image.Resampling.LANCZOS).save(out, "WEBP", quality=QUALITY, method=2)
    return out.getvalue()


def _shrunk(photo: Photo, size: int) -> bytes:
    from PIL import Image

    image = Image.fromarray(load_photo(photo, least=Size(2 * size)))
    image.thumbnail((size, size), Image.Resampling.LANCZOS, reducing_gap=2.0)
    out = io.BytesIO()
    image.save(out, "WEBP", quality=QUALITY, method=2)
    return out.getvalue()
