"""Writes result files atomically: a reader sees the old file or the complete new one."""

from __future__ import annotations

from pathlib import Path

from gamer.index import AlbumError
from gamer.index.album.schema import check_output
from gamer.index.replacing import replacing


def write_atomically(path: Path, text: str) -> None:
    """Writes `text`, ending in exactly one newline, to a temporary file that then replaces `path`.

    Missing folders are made. Raises AlbumError if `path` is a folder, device or pipe, and if it cannot be
    written.
    """
    check_output(path)
    path = path.resolve()  # through a symbolic link, so that the file behind it is replaced

    def failure(why: str) -> AlbumError:
        return AlbumError(f"{path}: cannot be written ({why}): free space, or say another place")

    with replacing(path, failure, shared=True, folders=True) as aside:
        aside.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
