"""Scans a source of photos, choosing the reader for a folder or for an album JSONL file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import IngestError
from ..records import Photo, Skip
from . import folder, jsonl
from .remembered import Remembered


def scan(source: Path, remembered: Remembered | None = None) -> Iterator[Photo | Skip]:
    """Photos in a stable order. `remembered`: what earlier scans of a folder read.

    Raises IngestError if `source` itself is neither a folder nor an album JSONL.
    """
    found = Path(source)
    return folder.scan(found, remembered) if _is_folder(found) else jsonl.scan(found)


def count(source: Path) -> int:
    """How many pictures or lines `scan` will read, for a progress bar. Raises as `scan` does."""
    return folder.count(Path(source)) if _is_folder(Path(source)) else jsonl.count(Path(source))


def _is_folder(source: Path) -> bool:
    if source.is_dir():
        return True
    if not source.exists():
        raise IngestError(f"{source}: no such folder or file; give a folder of photos or an album .jsonl")
    if source.name.endswith((".jsonl", ".jsonl.gz")):
        return False
    raise IngestError(f"{source}: neither a folder nor a .jsonl or .jsonl.gz; give one of these")
