"""Reads JSON files of a checkpoint's directory: of bounded size, refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import ExportError


def read(path: Path, most_mb: int) -> Any:
    """The JSON value in a file. Raises ExportError if it cannot be read, or is over `most_mb` · 2²⁰ bytes."""
    try:
        if path.stat().st_size > most_mb << 20:
            raise ValueError(f"larger than {most_mb} MB")
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ExportError(f"{path}: not readable as JSON ({str(error)[:80]})") from None
