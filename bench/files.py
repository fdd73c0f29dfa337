"""Writes result files so that a reader never sees half of one."""

from __future__ import annotations

import os
from pathlib import Path

from gamer.index.album.schema import check_output


def write_aside(path: Path, text: str) -> None:
    """Writes `text` (ending in one newline) beside `path` and renames it; makes the folder."""
    check_output(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    aside.replace(path)
