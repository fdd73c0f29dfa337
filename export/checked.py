"""Foreign JSON of this room (gamer.index.json_checked), refused as ExportError."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from gamer.index import json_checked
from gamer.index.json_checked import Between, JsonError

from .errors import ExportError


def read(path: Path, kind: Any = Any, *, most: int = 64 << 20) -> Any:
    """The JSON value in a file of at most `most` bytes, as a `kind`. Raises ExportError."""
    try:
        raw = json_checked.read(path, most)
    except JsonError as error:
        raise ExportError(str(error)) from None
    return read_as(kind, raw, str(path))


def read_object(path: Path, *, most: int = 64 << 20) -> dict[str, Any] | None:
    """The JSON object in a file; None if the file does not exist. Raises ExportError as `read` does."""
    return read(path, dict[str, Any], most=most) if path.is_file() else None


def read_as(kind: Any, raw: Any, where: str) -> Any:
    """The parsed JSON `raw` as a `kind`; fields that it does not have are left out. Raises ExportError."""
    try:
        return json_checked.read_as(kind, raw, where, extra=True)
    except JsonError as error:
        raise ExportError(str(error)) from None


def whole(raw: Any, where: str, most: int, least: int = 1) -> int:
    """The whole number `raw`, from `least` to `most`. Raises ExportError."""
    number: int = read_as(Annotated[int, Between(least, most)], raw, where)
    return number
