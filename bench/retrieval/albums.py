"""A data set's users as albums on disk, built when they are not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models

from . import datasets


def album_of(folder: Path, user: str, models: Models, home: Path, progress: Callable[[str], None]) -> Path:
    """The user's album in `home`, built if it is not there.

    An album keeps its corpus, its encoder's vectors and δ: another of any is another.
    """
    made_by = models.manifest.artifact("text_tower", "onnx").sha256[:8]
    corpus, delta = datasets.fingerprint(folder, user), models.manifest.thresholds.delta
    album = home / f"{folder.name}-{user}-{corpus}-{made_by}-{delta}.gamer"
    if not album.exists():
        progress(f"{user}: building")
        lines = home / f"{user}.jsonl"
        datasets.write_album(folder, user, lines)
        built = build(lines, models, album)
        lines.unlink()
        if built.skips:
            raise datasets.DatasetError(
                f"{folder}: {built.skips[0].where} of {user}: {built.skips[0].reason}"
            )
    return album
