"""Builds the album of each user of a data set, unless it exists already."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from pathlib import Path

from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models

from . import datasets


def album_of(
    folder: Path,
    user: str,
    models: Models,
    home: Path,
    progress: Callable[[str], None],
    *,
    hidden: Collection[str] = (),
    pixels: bool = False,
) -> Path:
    """The path of the user's album in `home`. The album is built if it does not exist.

    The name of the file holds hashes of the corpus and of the text tower, and δ, so that a change of any of
    them builds a new album; so do `hidden` and `pixels` (datasets.write_album). Raises DatasetError if a
    photo was skipped.
    """
    tower_hash = models.manifest.artifact("text_tower", "onnx").sha256[:8]
    corpus_hash, delta = datasets.fingerprint(folder, user), models.manifest.thresholds.delta
    kind = "-pixels" if pixels else ""
    if hidden:
        kind += "-" + hashlib.sha256("\n".join(sorted(hidden)).encode()).hexdigest()[:8]
    album = home / f"{folder.name}-{user}-{corpus_hash}-{tower_hash}-{delta}{kind}.gamer"
    if not album.exists():
        progress(f"{user}: building")
        jsonl = home / f"{user}.jsonl"
        datasets.write_album(folder, user, jsonl, hidden=hidden, pixels=pixels)
        built = build(jsonl, models, album)
        jsonl.unlink()
        if built.skips:
            raise datasets.DatasetError(
                f"{folder}: {built.skips[0].where} of {user}: {built.skips[0].reason}"
            )
    return album
