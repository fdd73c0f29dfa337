"""The user's cache, which may be lost: verdicts, vectors of class names, where weights lie, checkpoints."""

from __future__ import annotations

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


def keep(path: Path, value: Any) -> None:
    """Writes a JSON value to a temporary file and renames it. Does nothing if the cache is not writable."""
    with suppress(OSError), replacing(path, shared=True, folders=True) as aside:
        aside.write_text(json.dumps(value), encoding="utf-8")
