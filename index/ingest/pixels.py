"""Opens pictures: headers for EXIF, pixels for the encoders, with limits on size checked before decoding.

Pillow and pillow-heif are imported on first use. All errors are IngestError, one line.
"""

from __future__ import annotations

import functools
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import IngestError
from . import heif

MAX_PIXELS = 220_000_000  # admits pictures of 200-megapixel phones
MAX_FILE = 1 << 30  # bytes; no camera writes a larger picture
MAX_DECODED = (
    600_000_000  # bytes that decoding may take, so that an ingest stays within 1 GB with the models beside it
)
# Peak bytes per declared pixel while decoding, measured with Pillow 13 and pillow-heif 1.8 (planes, canvases
# and copies included).
_COST = {"HEIF": 9, "WEBP": 16, "TIFF": 9}
_COST_DEFAULT, _COST_JPEG, _COST_PROGRESSIVE = (
    5,
    1,
    7,
)  # a large baseline JPEG is decoded at a fraction of its size (draft); a progressive one keeps coefficients
_LARGE = (
    24_000_000  # pixels; above, JPEGs are decoded at 1/2, 1/4 or 1/8 and others thinned: no encoder sees more
)
# A JPEG may have any number of scans, and each passes over the whole picture: half a megabyte can hold
# thousands. Pixels that all scans together may pass over (a camera's picture: ten scans at most).
MAX_SCANNED = 4_000_000_000
_LEAST_SCAN = 65_536  # pixels that a scan counts for at least
_START_OF_SCAN, _END = 0xDA, 0xD9
_PNG = b"\x89PNG\r\n\x1a\n"
_TELLING = (b"eXIf", b"tEXt", b"zTXt", b"iTXt")  # chunks of metadata
_MOST_CHUNKS = 100_000
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers of kinds of pictures
_SEQUENTIAL = frozenset({0xC0, 0xC1})
# A marker in coded data, where FF is followed by 00, by the number of a restart, or by another FF.
_MARKER = re.compile(rb"\xff([\x01-\xcf\xd8-\xfe])")
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "HEIF", "GIF", "BMP")


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The PIL image with its header read and nothing decoded. Every exception raised inside the `with` block
    becomes an IngestError.
    """
    image_module = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # `_check_size` replaces Pillow's limit on pixels, and broken EXIF is expected here
            if path.stat().st_size > MAX_FILE:
                raise IngestError(f"{path}: larger than {MAX_FILE >> 20} MB; no picture")
            with image_module.open(path, formats=FORMATS) as image:
                yield image
    except IngestError:
        raise
    except FileNotFoundError:
        raise IngestError(f"{path}: no such file") from None
    except (
        Exception
    ) as error:  # decoders raise OSError, SyntaxError, ValueError, struct.error, MemoryError, ...
        raise IngestError(f"{path}: cannot be read as a picture ({_reason(error, path)})") from None


def tags_of(path: Path, image: Any) -> Any:
    """The EXIF of an opened picture, which is not decoded for it.

    Pillow decodes a whole PNG, because metadata may follow its pixels: only one whose do is. Raises
    IngestError.
    """
    if image.format == "PNG":
        if not _tells_late(path):
            return _pillow().Image.getexif(image)
        with _DECODING.spending(_check_size(path, image, MAX_PIXELS)):
            return image.getexif()
    return image.getexif()


def _tells_late(path: Path) -> bool:
    """Whether a PNG may have metadata behind its pixels."""
    is_behind = False
    with path.open("rb", buffering=0) as file:
        file.seek(len(_PNG))
        for _ in range(_MOST_CHUNKS):
            head = file.read(8)
            if len(head) < 8 or head[4:] == b"IEND":
                return False
            if is_behind and head[4:] in _TELLING:
                return True
            is_behind = is_behind or head[4:] == b"IDAT"
            file.seek(int.from_bytes(head[:4], "big") + 4, os.SEEK_CUR)
    return True


@dataclass(frozen=True)
class Size:
    """How many pixels of a picture are wanted, at least: on its shorter and on its longer side."""

    shorter: int = 0
    longer: int = 0

    def factor(self, width: int, height: int) -> int:
        """By how much a picture may be reduced, a power of two; 1 for one that is smaller.

        Squares of such a side mostly fill a picture; those that do not would stretch it.
        """
        sides = zip(sorted((width, height)), (self.shorter, self.longer), strict=True)
        room = max(1, min((side // wanted for side, wanted in sides if wanted), default=1))
        return 1 << (room.bit_length() - 1)


def load_pixels(path: Path, max_pixels: int = MAX_PIXELS, least: Size | None = None) -> NDArray[np.uint8]:
    """uint8 [H, W, 3], RGB, upright. A picture of more than 24 megapixels is returned at reduced size.

    `least`: the picture may be returned with fewer pixels, as long as it has so many: a JPEG is decoded at
    1/2, 1/4 or 1/8, which takes a fraction of the time, others are averaged over squares of 2, 4, 8 …, to
    twice as many. Raises IngestError.
    """
    from PIL import ImageOps

    path = Path(path)
    with opened(path) as image:
        cost = _check_size(path, image, max_pixels)
        if image.format == "HEIF":
            heif.check_complete(path)
        factor = 1 if least is None else least.factor(image.width, image.height)
        if image.format in ("JPEG", "MPO") and factor > 1:
            image.draft("RGB", (image.width // factor, image.height // factor))
        elif image.format in ("JPEG", "MPO") and image.width * image.height > _LARGE:
            shrink = (image.width * image.height / _LARGE) ** 0.5
            image.draft("RGB", (int(image.width / shrink / 1.5), int(image.height / shrink / 1.5)))
        with _DECODING.spending(cost):
            image.load()
            # pillow-heif turns HEIC upright itself and resets the orientation tag: it is not turned twice.
            return np.array(_flat(_turned(_thinned(_reduced(image, least)), ImageOps)), np.uint8)


def _check_size(path: Path, image: Any, max_pixels: int) -> int:
    """Bytes that decoding takes at most. Raises IngestError for a picture that is too large."""
    pixels = image.width * image.height
    if pixels > max_pixels:
        raise IngestError(
            f"{path}: declares {image.width} x {image.height} pixels, more than {max_pixels}; "
            "scale it down first"
        )
    if image.format in ("JPEG", "MPO"):
        _check_scans(path, pixels)
    if (cost := _cost(image)) > MAX_DECODED:
        kind = f"{image.width} x {image.height} {image.format}"
        raise IngestError(
            f"{path}: decoding a {kind} takes about {cost >> 20} MB, "
            f"more than {MAX_DECODED >> 20}; scale it down first"
        )
    return cost


def _cost(image: Any) -> int:
    """Bytes that decoding a picture takes at most."""
    pixels: int = image.width * image.height
    if image.format not in ("JPEG", "MPO"):
        return pixels * _COST.get(image.format, _COST_DEFAULT)
    if image.info.get("progressive"):
        return pixels * _COST_PROGRESSIVE
    return pixels * (_COST_JPEG if pixels > _LARGE else _COST_DEFAULT)


class _Budget:
    """Lets as many pictures be decoded at once as fit into so many bytes, and always one."""

    def __init__(self, room: int) -> None:
        self._room, self._spent, self._freed = room, 0, Condition()

    @contextmanager
    def spending(self, cost: int) -> Iterator[None]:
        with self._freed:
            self._freed.wait_for(lambda: not self._spent or self._spent + cost <= self._room)
            self._spent += cost
        try:
            yield
        finally:
            with self._freed:
                self._spent -= cost
                self._freed.notify_all()


_DECODING = _Budget(MAX_DECODED)


def _reduced(image: Any, least: Size | None) -> Any:
    """The picture averaged over squares, if its kind of pixels can be, to twice of `least`: averages are less
    sharp than a JPEG's own reduction.
    """
    factor = 1 if least is None else least.factor(image.width, image.height) // 2
    if factor < 2 or image.mode not in ("RGB", "L"):
        return image
    tags, small = image.getexif(), image.reduce(factor)
    small.getexif().update({0x0112: tags.get(0x0112, 1)})  # the orientation goes with the picture
    return small


def _check_scans(path: Path, pixels: int) -> None:
    most = MAX_SCANNED // max(pixels, _LEAST_SCAN)
    if not _has_many_scans(path):
        return
    data = path.read_bytes()
    # What is counted first may also stand in a thumbnail, or in the video behind a picture.
    if data.count(bytes((0xFF, _START_OF_SCAN))) > most and scans(data) > most:
        raise IngestError(
            f"{path}: a JPEG of more than {most} scans, each over the whole picture; save it anew first"
        )


def _has_many_scans(path: Path) -> bool:
    """Whether a JPEG may have more than one scan: it is progressive, or its first has not all components.

    A decoder ends after the only scan of all others, whatever follows it.
    """
    components = 0
    with path.open("rb") as file:
        file.seek(2)
        while len(head := file.read(4)) == 4 and head[0] == 0xFF:
            length = int.from_bytes(head[2:])
            if head[1] == _START_OF_SCAN:
                return file.read(1) != bytes((components,))
            if head[1] in _FRAMES:
                if head[1] not in _SEQUENTIAL:
                    return True
                components = (file.read(length - 2) + bytes(6))[5]
            else:
                file.seek(length - 2, 1)
    return True  # what this does not read, the decoder may


def scans(jpeg: bytes) -> int:
    """How many scans the first picture of a JPEG file has; the file may be cut short."""
    count, at = 0, 2
    while (marker := _MARKER.search(jpeg, at)) is not None and (kind := marker[1][0]) != _END:
        count += kind == _START_OF_SCAN
        at = marker.end()
        if kind not in (0x01, 0xD8):  # all others have a length, which counts its own two bytes
            at += max(int.from_bytes(jpeg[at : at + 2]), 2)
    return count


def _thinned(image: Any) -> Any:
    """Every n-th pixel of a very large picture, which is closed, because later steps make copies. Other
    pictures are returned unchanged.
    """
    step = int(np.ceil((image.width * image.height / _LARGE) ** 0.5))
    if step < 2:
        return image
    tags = image.getexif()  # the orientation goes with the picture
    small = image.resize(
        (max(1, image.width // step), max(1, image.height // step)), _pillow().Resampling.NEAREST
    )
    small.getexif().update({0x0112: tags.get(0x0112, 1)})
    image.close()
    return small


def _turned(image: Any, image_ops: Any) -> Any:
    try:
        image_ops.exif_transpose(image, in_place=True)
        return image
    except Exception:  # an EXIF block too broken to rewrite: the pixels are still good
        return image


def _flat(image: Any) -> Any:
    """The picture in RGB, with transparent pixels over white."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        ground = _pillow().new("RGBA", rgba.size, (255, 255, 255, 255))
        ground.alpha_composite(rgba)
        return ground.convert("RGB")
    if image.mode.startswith("I;16") or image.mode == "I":  # 16-bit grey: convert() would clip it to white
        return (
            _pillow()
            .fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8))
            .convert("RGB")
        )
    return image if image.mode == "RGB" else image.convert("RGB")


@functools.cache
def _pillow() -> Any:
    import pillow_heif
    from PIL import Image

    pillow_heif.register_heif_opener()
    if (
        Image.MAX_IMAGE_PIXELS is not None
    ):  # Pillow refuses from twice its limit on; `_check_size` applies ours, by format
        Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS, MAX_PIXELS // 2)
    return Image


def _reason(error: Exception, path: Path) -> str:
    text = " ".join(str(error).replace(str(path), path.name).split())
    return text[:160] or type(error).__name__
