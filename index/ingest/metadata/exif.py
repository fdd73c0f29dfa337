"""Reads time and position from EXIF. A malformed field gives None; nothing here raises on hostile bytes.

A broken GPS block does not lose the date. The altitude is not read: no search uses it, and cameras without a
GPS fix write arbitrary values there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ...fields import Header
from ...text import of_tag, shown
from .moment import Moment, Position, moment_of

_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_DATETIME, _ORIGINAL, _DIGITIZED = 0x0132, 0x9003, 0x9004
_OFFSET, _OFFSET_ORIGINAL, _OFFSET_DIGITIZED = 0x9010, 0x9011, 0x9012
_LAT_REF, _LAT, _LON_REF, _LON = 1, 2, 3, 4
_MAKE = 0x010F
_STAMP = re.compile(r"\s*(\d{4})[:\-/.](\d{1,2})[:\-/.](\d{1,2})[ T](\d{1,2}):(\d{1,2}):(\d{1,2})", re.ASCII)
_ZONE = re.compile(r"\s*([+-])(\d{2}):?(\d{2})", re.ASCII)


def taken_at(exif: Any) -> Moment | None:
    """DateTimeOriginal, else DateTimeDigitized, else DateTime, each with the offset field that belongs to it,
    else with the time zone of the position.
    """
    base, sub = _block(lambda: dict(exif)), _block(lambda: exif.get_ifd(_EXIF_IFD))
    for stamp, zone in (
        (sub.get(_ORIGINAL), _OFFSET_ORIGINAL),
        (sub.get(_DIGITIZED), _OFFSET_DIGITIZED),
        (base.get(_DATETIME), _OFFSET),
    ):
        naive = to_datetime(stamp)
        moment = (
            None
            if naive is None
            else moment_of(naive.replace(tzinfo=to_offset(sub.get(zone))), position(exif))
        )
        if moment is not None:
            return moment
    return None


def position(exif: Any) -> Position | None:
    """(latitude, longitude) in degrees.

    None if there is no fix, only one coordinate, one out of range, or the (0, 0) that cameras write without a
    fix.
    """
    gps = _block(lambda: exif.get_ifd(_GPS_IFD))
    return plausible(
        _degrees(gps.get(_LAT), gps.get(_LAT_REF), "NS"), _degrees(gps.get(_LON), gps.get(_LON_REF), "EW")
    )


def plausible(lat: float | None, lon: float | None) -> Position | None:
    """(lat, lon) if both are given and in range; else None.

    (0, 0), in the Gulf of Guinea, gives None too: it means "no position" in all sources.
    """
    if lat is None or lon is None or not (math.isfinite(lat) and math.isfinite(lon)):
        return None
    if abs(lat) > 90.0 or abs(lon) > 180.0 or (abs(lat) < 1e-6 and abs(lon) < 1e-6):
        return None
    return lat, lon


def by_camera(exif: Any) -> bool:
    """Whether EXIF names a camera maker; screenshots, drawings and messengers' pictures have none."""
    return bool(of_tag(_block(lambda: dict(exif)).get(_MAKE)))


def header(image: Any, exif: Any, path: Path) -> Header:
    """What the readers of fields see of a picture that Pillow has opened."""
    tags = {**_block(lambda: exif.get_ifd(_EXIF_IFD)), **_block(lambda: dict(exif))}
    return Header(image.width, image.height, tags, shown(Path(*path.parts[-2:])))


def to_datetime(value: Any) -> datetime | None:
    """ "2021:04:11 15:47:53" and its variants, without zone."""
    match = _STAMP.match(of_tag(value))
    try:
        return None if match is None else datetime(*(int(part) for part in match.groups()))  # type: ignore[arg-type]  # six integers
    except ValueError:
        return None


def _block(read: Callable[[], Any]) -> Mapping[int, Any]:
    try:
        block = read()
    except Exception:  # Pillow's parser raises arbitrary errors for arbitrary bytes
        return {}
    return block if isinstance(block, Mapping) else {}


def to_offset(value: Any) -> timezone | None:
    match = _ZONE.match(of_tag(value))
    if match is None or int(match[2]) > 14 or int(match[3]) > 59:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    return timezone(timedelta(minutes=-minutes if match[1] == "-" else minutes))


def _degrees(value: Any, ref: Any, signs: str) -> float | None:
    """Decimal degrees from degrees, minutes, seconds and a reference (N/S or E/W), or None.

    Without a reference the value is positive; an unknown reference gives None.
    """
    try:
        parts = [float(part) for part in value][:3]
    except (TypeError, ValueError, ArithmeticError):
        return None
    letter = of_tag(ref).upper()[:1]
    if (
        not parts
        or not all(math.isfinite(part) and part >= 0 for part in parts)
        or (letter and letter not in signs)
    ):
        return None
    if any(part > 60 for part in parts[1:]):
        return None
    degrees = math.fsum(part / 60.0**i for i, part in enumerate(parts))
    return -degrees if letter == signs[1] else degrees
