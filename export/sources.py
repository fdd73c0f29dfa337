"""Remembers on this machine where the weights of a bundle lie, so that `gamer verify` finds them again.

A manifest names a local source by its last component only, because a bundle reveals nothing about the machine
that made it. The full paths go into the user's cache, under the bundle's fingerprint.
"""

from __future__ import annotations

import re
from pathlib import Path

from gamer.index.json_checked import stored
from gamer.runtime import cache

from .settings import Settings

_DIGEST = re.compile(r"[0-9a-f]{64}")


def remember(digest: str, settings: Settings) -> None:
    """Stores the paths of the local sources, if there are any; nothing if the cache is not writable."""
    paths = {part: str(Path(source).resolve()) for part, source in settings.sources if Path(source).exists()}
    if not paths:
        return
    cache.keep(_file(digest), paths)


def recall(digest: str) -> dict[str, str]:
    """Part → path of the sources of a bundle with this fingerprint; {} if it was made elsewhere."""
    if not _DIGEST.fullmatch(digest):
        return {}
    return stored(dict[str, str], _file(digest)) or {}


def _file(digest: str) -> Path:
    return cache.folder() / "sources" / f"{digest}.json"
