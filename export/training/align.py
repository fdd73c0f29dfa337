"""`gamer train --align`: a person's own query adapter, learned from what they searched and opened.

It goes on from the general one of the recipe. The searches are split by time: the first three quarters are
learned from, the last quarter shows whether it helped. If it did, the adapter is written beside the album,
and searches of the album use it from then on. Nothing leaves this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gamer.index import Album
from gamer.runtime.models import query_adapter as files

from ..components import components, query_adapter
from ..errors import ExportError
from ..settings import Settings
from . import queries, update
from .refinement.rlhf import searches_of


@dataclass(frozen=True)
class Aligned:
    """`learned`, `measured`: searches. `before`, `after`: recall@5 of the later ones, by cosine alone."""

    path: Path
    learned: int
    measured: int
    before: float
    after: float
    installed: bool

    def text(self, recipe: str) -> str:
        """For people: recall before and after, and what happens now."""
        lines = [
            f"before: recall@5 of {self.measured} later searches {self.before:.3f}",
            f"after: {self.after:.3f}",
        ]
        if self.installed:
            lines.append(
                f"{self.path}: learned from {self.learned} searches; the album's searches use it from now on "
                "(gamer search --no-adapter does not; delete the file to undo it)"
            )
        return "\n".join(lines)


def align(
    settings: Settings,
    album: Path,
    file: Path | None,
    epochs: int,
    rate: float,
    seed: int,
    report: Callable[[queries.Epoch], None],
) -> Aligned:
    """Trains an adapter for `album`, and writes it beside it if it finds more of the later searches.

    `file`: a JSONL of {"query", "photos"} in order of time; None for what was opened. Raises AlbumError, and
    ExportError for too few searches and for an album whose texts another encoder has read.
    """
    shape = query_adapter.shape(settings)
    general = query_adapter.of(settings)
    tower = components.build(settings, "text_tower", "fp32").source
    asked = searches_of(album, file)
    with Album.open(album) as opened:
        if not opened.meta.text_encoder.startswith(f"{tower}/"):
            raise ExportError(
                f"{album}: its texts were read by {opened.meta.text_encoder}, not by {tower}: train with the "
                "recipe of its bundle"
            )
        row_of = {photo.id: row for row, photo in enumerate(opened.photos(range(len(opened))))}
        owners, vectors = opened.vectors("text")
        photos = len(opened)
    told = set(owners.tolist())
    known = [
        (one.query, rows)
        for one in asked
        if (rows := tuple(row_of[p] for p in one.photos if p in row_of and row_of[p] in told))
    ]
    learned, later = update.split(known, album)
    libraries = [queries.Library(vectors, owners, photos, tuple(part)) for part in (learned, later)]
    reader = queries.Reader(*components.text_reader(settings))
    start = np.zeros(shape, np.float32) if general is None else general
    before = queries.recall(reader, start, libraries[1])
    adapter = queries.train(reader, shape, libraries[:1], epochs, rate, seed, general, report)
    after = queries.recall(reader, adapter, libraries[1])
    path, better = files.path_beside(album), after > before
    if better:
        header = files.Header(
            files.FORMAT, tower, shape, f"{len(learned)} of the owner's searches", before, after
        )
        files.write(path, files.QueryAdapter(header, adapter))
    return Aligned(path, len(learned), len(later), before, after, better)
