"""Versions of installed packages."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def installed(distribution: str) -> str | None:
    """The version of an installed distribution ("onnxruntime" → "1.32.0"); None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
