"""Turns what people have into Photos: a folder of pictures, or an album JSONL. What cannot be taken comes out as a Skip with its reason.

Reads headers and JSON, never pixels (pixels.load_pixels does, when the encoder wants them). Knows no model and no album file.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import zlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Literal, cast

from . import exif
from .errors import IngestError
from .pixels import load_pixels, opened
from .records import Level, Memory, Photo, Skip

__all__ = ["load_pixels", "scan"]

PICTURES = frozenset({".jpg", ".jpeg", ".jpe", ".png", ".webp", ".tif", ".tiff", ".heic", ".heif"})
UNSUPPORTED = frozenset(
    {".mp4", ".mov", ".avi", ".mkv", ".m4v", ".3gp", ".webm", ".mts", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf", ".avif", ".gif"}
)
WRITTEN_SOURCES = ("chat", "social", "ocr", "caption", "note")
_MAX_LINE = 8 << 20  # bytes of one JSONL line, so that a file without line ends cannot fill the memory


def scan(source: Path) -> Iterator[Photo | Skip]:
    """Photos in a stable order. Raises IngestError if `source` itself is neither a folder nor an album JSONL."""
    source = Path(source)
    if source.is_dir():
        return _scan_folder(source)
    if not source.exists():
        raise IngestError(f"{source}: no such folder or file; give a folder of photos or an album .jsonl")
    if source.name.endswith((".jsonl", ".jsonl.gz")):
        return _scan_jsonl(source)
    raise IngestError(f"{source}: neither a folder nor a .jsonl or .jsonl.gz; give one of these")


def _scan_folder(root: Path) -> Iterator[Photo | Skip]:
    refused: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=refused.append, followlinks=False):
        folders.sort()
        here = Path(folder)
        for name in list(folders):
            if name.startswith("."):
                folders.remove(name)
            elif (here / name).is_symlink():  # os.walk does not follow it; a loop would never end
                yield Skip(str(here / name), "a symbolic link to a folder: not followed")
        for name in sorted(names):
            found = _scan_file(root, here / name)
            if found is not None:
                yield found
    for error in refused:
        yield Skip(str(error.filename), f"folder cannot be read ({error.strerror})")


def _scan_file(root: Path, path: Path) -> Photo | Skip | None:
    suffix = path.suffix.lower()
    if path.name.startswith(".") or suffix not in PICTURES | UNSUPPORTED:
        return None
    if suffix in UNSUPPORTED:
        return Skip(_shown(path), f"{suffix} files are not supported")
    try:
        photo_id = path.relative_to(root).as_posix()
        photo_id.encode("utf-8")
        if not path.is_file():  # a dangling link, a pipe, a device
            return Skip(_shown(path), "not a readable file")
        moment, zone, lat, lon = _header(path)
        return Photo(photo_id, str(path.absolute()), moment, zone, lat, lon, sha256=_sha256(path))
    except UnicodeEncodeError:
        return Skip(_shown(path), "its name is not valid Unicode; rename it")
    except IngestError as error:
        return Skip(_shown(path), str(error).removeprefix(f"{path}: "))
    except OSError as error:
        return Skip(_shown(path), f"cannot be read ({error.strerror or error})")


def _header(path: Path) -> tuple[int | None, Literal["offset", "local"], float | None, float | None]:
    with opened(path) as image:
        try:
            tags = image.getexif()
        except Exception:  # a hostile EXIF block costs its fields, not the photo
            return None, "local", None, None
        moment, zone = exif.taken_at(tags)
        lat, lon = exif.position(tags) or (None, None)
        return moment, zone, lat, lon


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _shown(path: Path) -> str:
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def _scan_jsonl(source: Path) -> Iterator[Photo | Skip]:
    seen: set[str] = set()
    number = 0
    try:
        with _lines(source) as file:
            while line := file.readline(_MAX_LINE):
                number += 1
                if not line.strip():
                    continue
                where = f"{source.name}:{number}"
                if len(line) >= _MAX_LINE:
                    yield Skip(where, f"the line is longer than {_MAX_LINE >> 20} MB; the rest of the file is not read")
                    return
                found = _scan_line(source.parent, where, line)
                if isinstance(found, Photo) and found.id in seen:
                    found = Skip(where, f"the id {found.id!r} was already given by an earlier line")
                if isinstance(found, Photo):
                    seen.add(found.id)
                yield found
    except (OSError, EOFError, zlib.error) as error:
        yield Skip(f"{source.name}:{number + 1}", f"the file cannot be read further ({error})")


def _lines(source: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(source, "rb")) if source.name.endswith(".gz") else source.open("rb")


def _scan_line(folder: Path, where: str, line: bytes) -> Photo | Skip:
    try:
        return _parse(folder, json.loads(line.decode("utf-8-sig")))
    except RecursionError:
        return Skip(where, "the line is nested too deeply")
    except UnicodeDecodeError:
        return Skip(where, "the line is not UTF-8")
    except json.JSONDecodeError as error:
        return Skip(where, f"the line is not JSON ({error.msg} at character {error.pos})")
    except (ValueError, OSError) as error:
        return Skip(where, str(error))


def _parse(folder: Path, line: Any) -> Photo:
    """Raises ValueError with the reason. Time and place that the line does not give are read from the picture, if there is one."""
    if not isinstance(line, dict):
        raise ValueError("the line is not a JSON object")
    photo_id = _string(line.get("id"), "id")
    memories = _memories(line.get("memories"))
    raw_path = line.get("path")
    path = None if raw_path is None else (folder / _string(raw_path, "path")).absolute()
    if path is None and not memories:
        raise ValueError('neither "path" nor "memories": there is nothing to find this photo by')
    moment, zone = _taken_at(line.get("taken_at"))
    lat, lon = _place(line.get("lat"), line.get("lon"))
    digest = None
    if path is not None and path.is_file():
        digest = _sha256(path)
        moment, zone, lat, lon = _completed(path, moment, zone, lat, lon)
    sharing, sensitivity = _level(line.get("sharing"), "sharing"), _level(line.get("sensitivity"), "sensitivity")
    return Photo(photo_id, None if path is None else str(path), moment, zone, lat, lon, memories, sharing, sensitivity, digest)


def _completed(
    path: Path, moment: int | None, zone: Literal["offset", "local"], lat: float | None, lon: float | None
) -> tuple[int | None, Literal["offset", "local"], float | None, float | None]:
    if moment is not None and lat is not None:
        return moment, zone, lat, lon
    try:
        own_moment, own_zone, own_lat, own_lon = _header(path)
    except IngestError:  # the build reports it when it decodes the pixels; the memories are good all the same
        return moment, zone, lat, lon
    if moment is None:
        moment, zone = own_moment, own_zone
    return (moment, zone, own_lat, own_lon) if lat is None else (moment, zone, lat, lon)


def _string(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'"{name}" is not a text')
    if "\x00" in value or any(0xD800 <= ord(character) <= 0xDFFF for character in value):
        raise ValueError(f'"{name}" holds characters that cannot be stored')
    return value


def _memories(value: Any) -> tuple[Memory, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise ValueError('"memories" is not a list')
    out = []
    for item in value:
        if not isinstance(item, dict) or item.get("source") not in WRITTEN_SOURCES:
            raise ValueError(f'a memory is not {{"source": one of {", ".join(WRITTEN_SOURCES)}, "text"}}')
        out.append(Memory(item["source"], _string(item.get("text"), "text")))
    return tuple(out)


def _taken_at(value: Any) -> tuple[int | None, Literal["offset", "local"]]:
    if value is None:
        return None, "local"
    try:
        moment = datetime.fromisoformat(_string(value, "taken_at"))
        return exif.to_millis(moment), "local" if moment.tzinfo is None else "offset"
    except (ValueError, OverflowError):
        raise ValueError(f'"taken_at" is not an ISO 8601 date and time: {str(value)[:40]!r}') from None


def _place(lat: Any, lon: Any) -> tuple[float | None, float | None]:
    if lat is None and lon is None:
        return None, None
    return _degrees(lat, "lat", 90.0), _degrees(lon, "lon", 180.0)


def _degrees(value: Any, name: str, limit: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or abs(value) > limit:
        raise ValueError(f'"{name}" is not a number of degrees within ±{limit:g} (lat and lon come together)')
    return float(value)


def _level(value: Any, name: str) -> Level | None:
    if value not in (None, "low", "high"):
        raise ValueError(f'"{name}" is neither "low" nor "high"')
    return cast("Level | None", value)
