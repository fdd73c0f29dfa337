"""The user's cache: verdicts of self-checks, where weights lie, exported checkpoints. It may be lost."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


def folder() -> Path:
    """$GAMER_CACHE if set, else the system's cache folder of this user."""
    if named := os.environ.get("GAMER_CACHE"):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("gamer")


def keep(path: Path, value: Any) -> None:
    """Writes a JSON value to a temporary file and renames it. Does nothing if the cache is not writable."""
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(value), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        pass
