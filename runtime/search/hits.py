"""Turns scores into an answer: the order of the hits, the probability of presence, and the Hit objects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, EntityMatch, FloatArray, Photo, top

from ..bundle.manifest import Ranking
from . import ranking
from .answer import Hit
from .fused import SHARED, Ranked
from .moments import moments

Positions = NDArray[np.int64]  # indices into Ranked.rows
PREFERRED = 50  # the user's preferences may reorder this many of the best, or k if that is more


def order(album: Album, ranked: Ranked, k: int) -> Positions:
    """Positions in `ranked.rows` of the k best, best first.

    A photo that the user preferred to another is moved before it, among the best max(k, PREFERRED).
    """
    best = top(np.sum(list(ranked.parts.values()), axis=0), max(k, PREFERRED))
    position_of = {int(row): position for row, position in zip(ranked.rows[best], best, strict=True)}
    return np.array([position_of[row] for row in album.preferred(list(position_of))][:k], np.int64)


def presence(ranked: Ranked, positions: Positions, weights: Ranking) -> float:
    """The probability that the album holds what is meant, from the first hit's unweighted features."""
    if not len(positions):
        return 0.0
    first = {name: float(values[positions[0]]) for name, values in ranked.features.items()}
    cosine = max(first.get(name, 0.0) for name in SHARED)
    coverage = max(first.get("coverage", 0.0), first.get("context_coverage", 0.0))
    return ranking.presence(weights, cosine, coverage, first.get("cue", 0.0))


def hits(
    album: Album,
    ranked: Ranked,
    positions: Positions,
    matches: Sequence[EntityMatch],
    present: float,
    image_query: FloatArray,
) -> tuple[Hit, ...]:
    """One Hit for each of `positions`.

    `present`: the result of `presence`. `image_query`: the query's vector in the channel "image".
    """
    likelihoods = ranking.likelihoods(ranked.parts)
    photos, rows = album.photos(ranked.rows[positions]), ranked.rows[positions].tolist()
    clips = moments(album, {photo.id: row for photo, row in zip(photos, rows, strict=True)}, image_query)
    out = []
    for position, photo in zip(positions, photos, strict=True):
        row = int(ranked.rows[position])
        parts = {name: round(float(values[position]), 4) for name, values in ranked.parts.items()}
        out.append(
            Hit(
                row=row,
                id=photo.id,
                path=photo.path,
                taken_at=photo.wall,
                lat=photo.lat,
                lon=photo.lon,
                score=round(sum(parts.values()), 4),
                probability=round(present * float(likelihoods[position]), 4),
                parts=parts,
                memory=shown_memory(photo),
                matched=tuple(match.name for match in matches if match.leads_to(row))[:4],
                clip=clips.get(photo.id),
            )
        )
    return tuple(out)


def shown_memory(photo: Photo) -> str | None:
    """The memory to show with a hit: written by a person or read in the picture, else a label or place."""
    texts = [m.text for m in photo.memories if m.source not in ("label", "place")]
    return next(iter(texts or [m.text for m in photo.memories]), None)
