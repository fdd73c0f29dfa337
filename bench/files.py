"""Writes result files atomically: a reader sees the old file or the complete new one."""

from __future__ import annotations

import os
from pathlib import Path

from gamer.index.album.schema import check_output


def write_atomically(path: Path, text: str) -> None:
    """Writes `text`, ending in exactly one newline, to a temporary file that then replaces `path`.

    Missing folders are made. Raises AlbumError if `path` is a folder, device or pipe.
    """
    check_output(path)
    path = path.resolve()  # through a symbolic link, so that the file behind it is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    aside.replace(path)
