"""GAMER on the device: finds the photo that a sentence means, and brings the models there.

    import gamer
    album = gamer.open("mine.gamer")
    for hit in album.search("coffee last spring", k=5):
        print(f"{hit.probability:.0%}", hit.path)

The rooms index ← runtime ← export ← bench are packages of this one; `gamer.main` is the command above them.
Everything here is imported when it is first used.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gamer.export.door import export as export
    from gamer.export.door import verify
    from gamer.index.errors import GamerError
    from gamer.runtime.door.album import Album, Endpoint
    from gamer.runtime.door.bundle import Bundle, Running
    from gamer.runtime.door.encoding import Reading
    from gamer.runtime.indexing.build import Progress
    from gamer.runtime.search.options import SearchOptions

__all__ = [
    "Album",
    "Bundle",
    "Endpoint",
    "GamerError",
    "Reading",
    "Running",
    "SearchOptions",
    "build",
    "export",
    "open",
    "verify",
]
_HOME = {
    "Album": "runtime.door.album",
    "Bundle": "runtime.door.bundle",
    "Endpoint": "runtime.door.album",
    "GamerError": "index.errors",
    "Reading": "runtime.door.encoding",
    "Running": "runtime.door.bundle",
    "SearchOptions": "runtime.search.options",
    "verify": "export.door",
}


def open(
    path: str | Path, bundle: str | Path | Bundle | None = None, running: Running | None = None
) -> Album:
    """The album at `path`. Without `bundle`, the one that belongs to it. Raises GamerError."""
    from gamer.runtime.door import album
    from gamer.runtime.door.bundle import DEFAULT

    return album.Album(path, bundle, running or DEFAULT)


def build(
    source: str | Path,
    to: str | Path,
    bundle: str | Path | Bundle | None = None,
    *,
    people: bool | None = None,
    reading: Reading | None = None,
    progress: Progress | None = None,
) -> Album:
    """Builds the album file `to` of a folder of photos, and opens it; `album.built` has the counts.

    A build that was interrupted goes on. Raises GamerError.
    """
    from gamer.runtime.door import album, encoding
    from gamer.runtime.door.bundle import bundle_of

    opened = bundle_of(Path(to).expanduser(), bundle)
    chosen = reading or encoding.AS_IT_IS
    built = encoding.build(source, to, opened, people=people, reading=chosen, progress=progress)
    made = album.Album(to, opened)
    made.built = built
    return made


def __getattr__(name: str) -> Any:
    if name == "export":  # the room, which is called as a function, too
        return importlib.import_module("gamer.export")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"gamer.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
