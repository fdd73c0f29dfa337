"""Whether a committed result is older than the code that it measures: by git, or unknown without a clone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]  # of the repository, in a clone
RESULTS = Path(__file__).resolve().parents[1] / "results"
CURRENT, OLDER, UNKNOWN, ABSENT = "current", "older", "unknown", "none"


def commit_of(result: Path) -> str:
    """The commit that a result file names, "" if it names none or cannot be read."""
    try:
        document = json.loads(result.read_text(encoding="utf-8"))
        return str(document["machine"]["build_commit"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def state(result: Path, measured: Sequence[str], root: Path = ROOT) -> str:
    """OLDER if a commit after the result's changed one of the paths `measured`, which lie below `root`."""
    if not result.exists():
        return ABSENT
    commit = commit_of(result)
    later = _git(root, "rev-list", "--count", f"{commit}..HEAD", "--", *measured) if commit else ""
    return UNKNOWN if not later else OLDER if int(later) else CURRENT


def worst(states: Iterable[str]) -> str:
    """Of several results."""
    return max(states, key=(CURRENT, UNKNOWN, ABSENT, OLDER).index, default=ABSENT)


def _git(root: Path, *words: str) -> str:
    try:
        git = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return git.stdout.strip()
