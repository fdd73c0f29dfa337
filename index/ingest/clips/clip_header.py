"""Time, place and length of a clip, read from the header of an MP4 or QuickTime file. Decodes nothing.

Of WebM and Matroska nothing is read: they come from programs, not from cameras, and are dated by their names.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from ...errors import IngestError
from ...fields import camera_name
from ..metadata.moment import Moment, Position, instant, moment_of
from ..metadata.photo_metadata import PhotoMetadata
from .boxes import boxes

_MAX_BOX = 1 << 16  # bytes of a box that is read; those read here hold a line of text or a few numbers
_EPOCH = datetime(1904, 1, 1, tzinfo=UTC)
_QUICKTIME = "com.apple.quicktime."
_ISO6709 = re.compile(
    r"([+-]\d{2}(?:\.\d{1,10})?)([+-]\d{3}(?:\.\d{1,10})?)(?:[+-][\d.]{1,20})?(?:CRS[\w]*)?/?", re.ASCII
)
LIVE_MS = 5_000  # the motion of a Live Photo takes 3 s; a longer clip of the same name is one of its own


@dataclass(frozen=True)
class ClipHeader:
    """`length`: in ms, None if the header does not say. `live`: whether it names the still that it moves."""

    metadata: PhotoMetadata
    length: int | None
    live: bool


def read(path: Path) -> ClipHeader:
    """Raises IngestError for a file that is empty, cut off or of no known kind."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(12)
            if head.startswith(b"\x1aE\xdf\xa3"):
                return ClipHeader(PhotoMetadata(), None, False)
            if head[4:8] not in (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"):
                raise IngestError(f"{path}: cannot be read as a video (neither MP4, QuickTime nor WebM)")
            return _of_movie(file, _movie(path, file, size))
    except OSError as error:
        raise IngestError(f"{path}: cannot be read ({error.strerror})") from None
    except (struct.error, ValueError, OverflowError):
        raise IngestError(f"{path}: cannot be read as a video (its header is damaged)") from None


def _movie(path: Path, file: BinaryIO, size: int) -> tuple[int, int]:
    """Where the content of the box `moov` begins and ends."""
    for kind, start, end in boxes(file, 0, size):
        if end > size:
            raise IngestError(f"{path}: cut off after {size} of at least {end} bytes; copy it again")
        if kind == b"moov":
            return start, end
    raise IngestError(f"{path}: cannot be read as a video (it has no table of its frames); copy it again")


def _of_movie(file: BinaryIO, movie: tuple[int, int]) -> ClipHeader:
    created, length, place, keys = None, None, None, dict[str, str]()
    for kind, start, end in boxes(file, *movie):
        if kind == b"mvhd":
            created, length = _mvhd(_content(file, start, end))
        elif kind == b"udta":
            for inner, at, to in boxes(file, start, end):
                if inner == b"\xa9xyz":
                    place = place or _position(_content(file, at + 4, to))
                elif inner == b"loci":
                    place = place or _loci(_content(file, at, to))
                elif inner == b"meta":
                    keys |= _keys(file, at, to)
        elif kind == b"meta":
            keys |= _keys(file, start, end)
    place = _position(keys.get(f"{_QUICKTIME}location.ISO6709", "").encode()) or place
    moment = _dated(keys.get(f"{_QUICKTIME}creationdate", ""), place)
    if moment is None and created is not None:
        moment = instant(created, place)
    live = f"{_QUICKTIME}content.identifier" in keys
    camera = camera_name(keys.get(f"{_QUICKTIME}make", ""), keys.get(f"{_QUICKTIME}model", ""))
    return ClipHeader(PhotoMetadata(moment, place, camera=camera), length, live)


def _content(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(max(0, min(end - start, _MAX_BOX)))


def _mvhd(box: bytes) -> tuple[datetime | None, int | None]:
    """(creation time, length in ms), each None where it is not set."""
    seconds, _, scale, duration = struct.unpack_from(">QQIQ" if box[0] == 1 else ">IIII", box, 4)
    try:
        created = _EPOCH + timedelta(seconds=seconds) if seconds else None
    except OverflowError:
        created = None
    # A file without times often has that of 1970, or of a clock that was never set.
    if created is not None and created.year < 1995:
        created = None
    unset = duration in (0, 2**32 - 1, 2**64 - 1)
    return created, None if unset or not scale else duration * 1000 // scale


def _keys(file: BinaryIO, start: int, end: int) -> dict[str, str]:
    """The texts of a box `meta` with named keys, as QuickTime writes them."""
    if (
        _content(file, start, start + 8)[4:] != b"hdlr"
    ):  # an ISO box, with version and flags before the others
        start += 4
    names, out = list[str](), dict[str, str]()
    for kind, at, to in boxes(file, start, end):
        if kind == b"keys":
            names = list(_names(_content(file, at, to)))
        elif kind == b"ilst":
            for number, inner, inner_end in boxes(file, at, to):
                index = int.from_bytes(number, "big") - 1
                if 0 <= index < len(names):
                    # The box `data`: its own head, a type and a locale, then the text.
                    text = _content(file, inner, inner_end)[16:]
                    out[names[index]] = text.decode("utf-8", "replace").strip("\0 ")
    return out


def _names(box: bytes) -> Iterator[str]:
    at = 8
    while at + 8 <= len(box):
        (length,) = struct.unpack_from(">I", box, at)
        if length < 8:
            return
        yield box[at + 8 : at + length].decode("utf-8", "replace")
        at += length


def _position(text: bytes) -> Position | None:
    """Degrees of an ISO 6709 text such as `+48.8577+002.2950+035.1/`."""
    match = _ISO6709.match(text.decode("latin-1"))
    return None if match is None else _plausible(float(match[1]), float(match[2]))


def _loci(box: bytes) -> Position | None:
    """Degrees of a 3GPP location: version, language, a name, a role, and two numbers of 16.16 bits."""
    at = box.find(b"\0", 6)
    if at < 0 or at + 10 > len(box):
        return None
    lon, lat = (number / 65536 for number in struct.unpack_from(">ii", box, at + 2))
    return _plausible(lat, lon)


def _plausible(lat: float, lon: float) -> Position | None:
    """None also for 0, 0, which is what devices without a position write."""
    return (lat, lon) if abs(lat) <= 90 and abs(lon) <= 180 and (lat or lon) else None


def _dated(text: str, place: Position | None) -> Moment | None:
    try:
        return moment_of(datetime.fromisoformat(text), place)
    except ValueError:
        return None
