"""The user's cache, which may be lost: verdicts, vectors of class names, where weights lie, checkpoints."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from gamer.index.replacing import replacing


def folder() -> Path:
    """$GAMER_CACHE if set, else the system's cache folder of this user."""
    if named := os.environ.get("GAMER_CACHE"):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("gamer")


def file_of(kind: str, parts: tuple[object, ...], ending: str) -> Path:
    """The file in the folder `kind` for what `parts` say; its name is a hash over them."""
    return folder() / kind / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}{ending}"


def keep(path: Path, value: Any) -> None:
    """Writes bytes, or a JSON value, to a temporary file and renames it.

    Does nothing if the cache is not writable.
    """
    with suppress(OSError), replacing(path, shared=True, folders=True) as aside:
        aside.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
