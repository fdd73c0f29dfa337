"""Time and place out of EXIF, whatever the camera wrote there. A field that makes no sense is None; nothing here raises on hostile bytes.

Knows the tags and Pillow's Exif object. Knows no files and no pixels. A broken GPS block does not cost the date.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Literal

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_DATETIME, _ORIGINAL, _DIGITIZED = 0x0132, 0x9003, 0x9004
_OFFSET, _OFFSET_ORIGINAL, _OFFSET_DIGITIZED = 0x9010, 0x9011, 0x9012
_LAT_REF, _LAT, _LON_REF, _LON = 1, 2, 3, 4
_STAMP = re.compile(r"\s*(\d{4})[:\-/.](\d{1,2})[:\-/.](\d{1,2})[ T](\d{1,2}):(\d{1,2}):(\d{1,2})")
_ZONE = re.compile(r"\s*([+-])(\d{2}):?(\d{2})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TakenAt = tuple[int | None, Literal["offset", "local"]]
Position = tuple[float, float] | None


def to_millis(moment: datetime) -> int:
    """A naive moment is wall time, stored as if UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(milliseconds=1)


def taken_at(exif: Any) -> TakenAt:
    """DateTimeOriginal, else DateTimeDigitized, else DateTime, each with its own offset. `exif`: a PIL.Image.Exif."""
    base, sub = _block(lambda: dict(exif)), _block(lambda: exif.get_ifd(_EXIF_IFD))
    for stamp, zone in ((sub.get(_ORIGINAL), _OFFSET_ORIGINAL), (sub.get(_DIGITIZED), _OFFSET_DIGITIZED), (base.get(_DATETIME), _OFFSET)):
        moment = _moment(stamp)
        if moment is not None:
            offset = _offset(sub.get(zone))
            return (to_millis(moment), "local") if offset is None else (to_millis(moment.replace(tzinfo=offset)), "offset")
    return None, "local"


def position(exif: Any) -> Position:
    """Degrees (latitude, longitude), or None: no fix, half a fix, out of range, or the (0, 0) that cameras write without one."""
    gps = _block(lambda: exif.get_ifd(_GPS_IFD))
    lat, lon = _degrees(gps.get(_LAT), gps.get(_LAT_REF), "NS", 90.0), _degrees(gps.get(_LON), gps.get(_LON_REF), "EW", 180.0)
    if lat is None or lon is None or (abs(lat) < 1e-6 and abs(lon) < 1e-6):
        return None
    return lat, lon


def _block(read: Callable[[], Any]) -> Mapping[int, Any]:
    try:
        found = read()
    except Exception:  # Pillow's parser meets arbitrary bytes and raises arbitrary errors
        return {}
    return found if isinstance(found, Mapping) else {}


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("ascii", "replace").strip("\x00 ")
    return value.strip("\x00 ") if isinstance(value, str) else ""


def _moment(value: Any) -> datetime | None:
    match = _STAMP.match(_text(value))
    if match is None:
        return None
    try:
        moment = datetime(*(int(part) for part in match.groups()))  # type: ignore[arg-type]  # six integers by the pattern
    except ValueError:
        return None
    return moment if moment.year >= 1826 else None  # before the first photograph: a camera clock that was never set


def _offset(value: Any) -> timezone | None:
    match = _ZONE.match(_text(value))
    if match is None or int(match[2]) > 14 or int(match[3]) > 59:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))


def _degrees(value: Any, ref: Any, signs: str, limit: float) -> float | None:
    """Degrees, minutes, seconds with N/S or E/W. A reference that is missing is read as positive; a wrong one spoils the value."""
    try:
        parts = [float(part) for part in value][:3]
    except (TypeError, ValueError, ZeroDivisionError, ArithmeticError):
        return None
    letter = _text(ref).upper()[:1]
    if not parts or not all(math.isfinite(part) and part >= 0 for part in parts) or (letter and letter not in signs):
        return None
    if any(part > 60 for part in parts[1:]):
        return None
    degrees = math.fsum(part / 60.0**i for i, part in enumerate(parts))
    if degrees > limit:
        return None
    return -degrees if letter == signs[1] else degrees
