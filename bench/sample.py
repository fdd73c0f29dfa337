"""The sample album: photographs packaged with scikit-image and scikit-learn, with invented memories.

Times and places are invented too. The photographs stay where their packages put them; `write` makes an album
JSONL that refers to them.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from gamer.index.errors import GamerError
from gamer.index.installing import install

from .files import write_atomically

FOLDERS = {"skimage": "data", "sklearn": "datasets/images"}
NOW = "2026-11-21"
QUERIES = (
    "coffee I photographed last spring",
    "my cat",
    "the temple we climbed in China",
    "motorcycle in Berlin",
    "rocket launch in Florida last summer",
    "the old man with a camera",
)


class SampleError(GamerError):
    """A package with the sample's photographs is not installed."""


def write(out: Path) -> int:
    """Writes the sample as an album JSONL; returns the number of photos. SampleError says what to install."""
    lines = []
    for line in (Path(__file__).parent / "sample.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        path = photograph(row.pop("photo"))
        lines.append(json.dumps({**row, "path": str(path)}, ensure_ascii=False))
    write_atomically(out, "\n".join(lines))
    return len(lines)


def photograph(name: str) -> Path:
    """The file of a packaged photograph, PACKAGE:FILE. SampleError says what to install."""
    package, _, file = name.partition(":")
    spec = importlib.util.find_spec(package)
    path = Path(spec.origin).parent / FOLDERS[package] / file if spec and spec.origin else None
    if path is None or not path.is_file():
        raise SampleError(
            f"the sample's photographs come with scikit-image and scikit-learn ({name} missing): "
            f"{install('bench')}"
        )
    return path
