"""The vectors that a trained checkpoint gives photos and queries, beside those of the labels: for measuring.

Everything is computed by fp32 torch from the album that the checkpoint was trained on; no bundle is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from ..checkpoints.checkpoint import open_checkpoint
from ..components import components, fixtures, states
from ..errors import ExportError
from ..settings import Settings
from . import features, pairs, start
from .loading import load
from .options import Options
from .projection import Projection, gate
from .sft import query_encoder
from .update import row_of_photo

FloatArray = NDArray[np.float32]
_BATCH = 64
_LEAST = 1e-8  # probability of a label


@dataclass(frozen=True, eq=False)
class Vectors:
    """Unit vectors in two spaces, of the photos whose pixels could be read and of what is asked.

    `ids`: [N], of the album. `photos`, `label_photos`: float32 [N, H] by the experts, [N, D] by the image
    tower itself (for the pocket, labels by ConSE). `queries`, `label_queries`: float32
    [Q, H], [Q, D] of the withheld memories, then of the queries that were given. `by_names`: float32 [Q, N],
    what can be had of the classifier without any training, from the names of its classes alone: the photo's
    log-probabilities, each weighed by the query's attention over the names; None without labels. `owners`:
    the photo's row of each withheld memory. `trained_on`: memories. `options`: of the training. `by_rho`: ρ →
    (the experts that a photo takes on average, `photos` with that ρ, whatever it was trained with).
    """

    ids: tuple[str, ...]
    photos: FloatArray
    label_photos: FloatArray
    queries: FloatArray
    label_queries: FloatArray
    by_names: FloatArray | None
    owners: tuple[int, ...]
    trained_on: int
    options: Options
    by_rho: Mapping[float, tuple[float, FloatArray]]


def of_checkpoint(
    album: Path,
    folder: Path,
    queries: Sequence[str],
    say: Callable[[str], None] = lambda text: None,
    rhos: Sequence[float] = (),
) -> Vectors:
    """The vectors of an album by the checkpoint `folder`, which `gamer train --until` made of this album.

    Raises AlbumError for the album, and ExportError for a checkpoint from which nothing was withheld, and one
    of another album.
    """
    told = open_checkpoint(None, str(folder)).config.get("training", {})
    if not isinstance(told, dict) or told.get("until") is None:
        raise ExportError(f"{folder}: no memory was withheld from it: train with --until DATE")
    recipe, sources = told.get("recipe"), told.get("sources")
    if not isinstance(recipe, str) or not isinstance(sources, dict):
        raise ExportError(f"{folder}: config.json does not say the recipe of its training: train again")
    settings = Settings(recipe, sources=tuple(sources.items()))
    data = pairs.read(album, told["until"])
    if not any(data.withheld):
        raise ExportError(
            f"{folder}: no photo of {album} with a memory is as late as its --until: choose an earlier day"
        )
    key = data.digest()
    if told.get("data") != key:
        raise ExportError(f"{folder}: trained on other photos or memories than {album} holds: train again")
    loaded = load(settings, folder)
    say(f"{folder.name}: photos")
    seen = features.encode(settings, data.paths, folder / "training", key)
    rows = row_of_photo(album, data, seen)
    at = {row: n for n, row in enumerate(rows.values())}
    kept = np.array(list(rows.values()))
    withheld = [(text, at[row]) for text, row in pairs.told(data.withheld) if row in at]
    texts = [*(text for text, _ in withheld), *queries]
    say(f"{folder.name}: {len(texts)} queries")
    asked = states.in_batches(query_encoder(settings, loaded.options, loaded.language), texts)
    by_text = asked if loaded.options.query == "text" else states.of_queries(settings, "text", texts)
    label_queries = _unit(torch.from_numpy(by_text))
    patches, own = seen.patches[kept], loaded.model.rho
    return Vectors(
        tuple(rows),
        _photos(loaded.model, patches, own)[1],
        _by_tower(settings, tuple(data.paths[row] for row in kept)),
        _unit(loaded.model.query(torch.from_numpy(asked))),
        label_queries,
        _by_names(settings, label_queries, seen.labels, kept),
        tuple(owner for _, owner in withheld),
        len(data.texts),
        loaded.options,
        {rho: _photos(loaded.model, patches, rho) for rho in rhos},
    )


def _photos(model: Projection, patches: NDArray[np.float16], rho: float) -> tuple[float, FloatArray]:
    """(experts a photo, on average; v_I [N, H]) by the experts that `rho` chooses."""
    model.rho = rho
    with torch.no_grad():
        parts = [
            model(torch.from_numpy(patches[n : n + _BATCH].astype(np.float32)))
            for n in range(0, len(patches), _BATCH)
        ]
    used = gate(torch.cat([weights for _, weights in parts]), rho) > 0
    return used.sum(-1).float().mean().item(), _unit(torch.cat([photos for photos, _ in parts]))


@lru_cache(maxsize=1)
def _by_tower(settings: Settings, paths: tuple[Path, ...]) -> FloatArray:
    """The image tower's own vectors [N, D] of pictures that can be read: of the labels, for the pocket."""
    tower, spec = components.build(settings, "image_tower", "fp32").module, fixtures.image_spec(settings)
    rows = []
    with torch.no_grad():
        for path in paths:
            picture = features.prepared(path, spec)
            if picture is None:
                raise ExportError(f"{path}: can no longer be read")
            rows.append(tower(torch.from_numpy(picture))[0])
    return _unit(torch.cat(rows))


def _by_names(
    settings: Settings, queries: FloatArray, labels: FloatArray | None, kept: NDArray[np.intp]
) -> FloatArray | None:
    if labels is None:
        return None
    scores = np.log(np.maximum(labels[kept], _LEAST))
    scores -= scores.mean(1, keepdims=True)
    weights = start.attention(queries, components.label_vectors(settings).numpy())
    return np.asarray(weights @ scores.T, np.float32)


def _unit(rows: torch.Tensor) -> FloatArray:
    return np.asarray(F.normalize(rows.detach(), dim=-1).numpy(), np.float32)
