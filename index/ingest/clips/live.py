"""Live Photos: a still and a clip of the same name, such as IMG_1.HEIC and IMG_1.MOV, are one item.

The clip belongs to the still if its header says so, or if it is as short as a Live Photo's. Nothing is
stored: the two are found by their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...errors import IngestError
from . import clip_header

STILLS = frozenset({".heic", ".heif", ".jpg", ".jpeg"})
MOTIONS = frozenset({".mov", ".mp4"})


def motions(folder: Path, names: Iterable[str]) -> frozenset[str]:
    """Of the names of files in a folder, those of clips that belong to a still among them."""
    listed = list(names)
    stills = {stem for stem, suffix in map(_split, listed) if suffix in STILLS}
    named = [name for name in listed if _split(name)[1] in MOTIONS and _split(name)[0] in stills]
    return frozenset(name for name in named if _belongs(folder / name))


def motion_of(still: Path) -> Path | None:
    """The clip that belongs to a still, if there is one beside it."""
    if still.suffix.lower() not in STILLS:
        return None
    for suffix in sorted(MOTIONS):
        for spelt in (suffix, suffix.upper()):
            beside = still.with_suffix(spelt)
            if beside.is_file() and _belongs(beside):
                return beside
    return None


def _split(name: str) -> tuple[str, str]:
    return Path(name).stem.casefold(), Path(name).suffix.lower()


def _belongs(clip: Path) -> bool:
    try:
        if not clip.is_file():
            return False
        header = clip_header.read(clip)
    except (IngestError, OSError):
        return False
    return header.live or (header.length is not None and header.length <= clip_header.LIVE_MS)
