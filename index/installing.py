"""The command that installs an extra, for messages: one that works from a clone, for this interpreter."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def install(extra: str = "") -> str:
    """`extra`: the extra's name in pyproject.toml; "" for the base install."""
    named = f"[{extra}]" if extra else ""
    is_clone = (_ROOT / "pyproject.toml").is_file()
    package = f"-e {shlex.quote(f'{_ROOT}{named}')}" if is_clone else shlex.quote(f"gamer-on-device{named}")
    return f"{shlex.quote(sys.executable or 'python3')} -m pip install {package}"
