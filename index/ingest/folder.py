"""Scans a folder of pictures and clips: one pass for chat logs, one for photos.

The order is stable; symbolic links to folders are not followed. picture.py reads the individual files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..clips import CLIPS
from ..errors import IngestError
from ..records import Photo, Skip
from ..text import shown
from . import chat, picture
from .chat_matching import Talk
from .clips import live
from .metadata.sidecars import Sidecars
from .remembered import Remembered

PICTURES = frozenset({".jpg", ".jpeg", ".jpe", ".png", ".webp", ".tif", ".tiff", ".heic", ".heif"})
VIDEOS = frozenset({".avi", ".mts", ".m2ts", ".mpg", ".mpeg", ".wmv", ".mp", ".mv"})
OTHERS = frozenset(
    {".dng", ".cr2", ".cr3", ".nef", ".arw", ".raf", ".orf", ".rw2", ".avif", ".gif", ".bmp", ".jxl"}
)
Read = Callable[[Path, str, Sidecars], Iterator[Photo | Skip]]
_MAX_DEPTH = 100  # levels of folders: os.walk recurses once for each


@dataclass(frozen=True)
class _Folder:
    path: Path
    names: tuple[str, ...]
    skips: tuple[Skip, ...]


def count(root: Path) -> int:
    """How many pictures `scan` will read."""
    return sum(
        Path(name).suffix.lower() in PICTURES | CLIPS for folder in _walk(root) for name in folder.names
    )


def scan(root: Path, remembered: Remembered | None = None) -> Iterator[Photo | Skip]:
    """`remembered`: what earlier scans of this folder read."""
    read = picture.read if remembered is None else remembered.read
    talks: list[Talk] = []
    yield from _read_chat_logs(root, talks)
    for folder in _walk(root):
        yield from folder.skips
        sidecars = Sidecars(folder.path, folder.names)
        moving = live.motions(folder.path, folder.names)
        for name in folder.names:
            if name in moving:  # it is shown with its still
                continue
            for item in _file(root, folder.path / name, sidecars, read):
                yield _with_messages(item, talks) if isinstance(item, Photo) else item
    for talk in talks:
        yield from talk.rest()
    if remembered is not None:
        remembered.finish()


def _walk(root: Path) -> Iterator[_Folder]:
    refused: list[Skip] = []

    def refuse(error: OSError) -> None:
        refused.append(Skip(shown(error.filename), f"folder cannot be read ({error.strerror})"))

    for path, folders, names in os.walk(root, onerror=refuse, followlinks=False):
        current = Path(path)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        # os.walk does not follow a link to a folder, since a loop of links would never end.
        links = [
            Skip(shown(current / name), "a symbolic link to a folder: not followed")
            for name in folders
            if (current / name).is_symlink()
        ]
        if folders and len(current.relative_to(root).parts) >= _MAX_DEPTH:
            links.append(
                Skip(shown(current), f"folders more than {_MAX_DEPTH} deep: those in it are not read")
            )
            folders.clear()
        yield _Folder(
            current, tuple(sorted(name for name in names if not name.startswith("."))), (*refused, *links)
        )
        refused.clear()
    if refused:
        yield _Folder(root, (), tuple(refused))


def _read_chat_logs(root: Path, talks: list[Talk]) -> Iterator[Skip]:
    for folder in _walk(root):
        for name in folder.names:
            path = folder.path / name
            if path.suffix.lower() != ".txt" or not path.is_file():
                continue
            try:
                messages = chat.read(path)
            except (IngestError, OSError) as error:
                yield Skip(shown(path), str(error).removeprefix(f"{path}: "))
                continue
            if messages and sum(talk.size for talk in talks) + len(messages) > chat.MAX_LINES:
                yield Skip(
                    shown(path),
                    f"with the logs before it more than {chat.MAX_LINES} messages; "
                    "index its folder by itself",
                )
            elif messages:
                talks.append(Talk(shown(path.relative_to(root).as_posix()), messages))


def _with_messages(photo: Photo, talks: list[Talk]) -> Photo:
    if not talks or photo.path is None:
        return photo
    name = Path(photo.path).name
    sent = [wall for talk in talks if (wall := talk.sent(name)) is not None]
    if photo.taken_at is None and sent:
        photo = replace(photo, taken_at=min(sent), tz_source="chat")
    wall = photo.wall
    return picture.with_memories(photo, tuple(memory for talk in talks for memory in talk.of(name, wall)))


def _file(root: Path, path: Path, sidecars: Sidecars, read: Read) -> Iterator[Photo | Skip]:
    suffix = path.suffix.lower()
    if suffix in VIDEOS | OTHERS:
        yield Skip(shown(path), f"{suffix} files are not supported{' (video)' if suffix in VIDEOS else ''}")
    if suffix not in PICTURES | CLIPS:
        return
    try:
        photo_id = path.relative_to(root).as_posix()
        str(path.absolute()).encode("utf-8")
        if path.is_symlink() and path.exists() and path.resolve().is_relative_to(root.resolve()):
            yield Skip(
                shown(path),
                "a symbolic link to a picture of the same folder, which is taken under its own name",
            )
        elif not path.is_file():  # a dangling link, a pipe, a device
            yield Skip(shown(path), "not a readable file")
        else:
            yield from read(path, photo_id, sidecars)
    except UnicodeEncodeError:
        yield Skip(shown(path), "its name is not valid Unicode; rename it")
    except IngestError as error:
        yield Skip(shown(path), str(error).removeprefix(f"{path}: "))
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        yield Skip(shown(path), f"cannot be read ({getattr(error, 'strerror', None) or error})")
