"""From scores to an answer: order, the chance that the album holds what is meant, and the hits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, EntityMatch, Photo, top

from ..bundle.manifest import Ranking
from . import ranking
from .answer import Hit
from .fused import CHANNELS, Ranked

Positions = NDArray[np.int64]  # in Ranked.rows
PREFERRED = 50  # hits among which a person's preferences may change the order


def order(album: Album, ranked: Ranked, k: int) -> Positions:
    """Positions in `ranked.rows` of the k best, best first.

    A photo that the person prefers to another one stands before it.
    """
    best = top(np.sum(list(ranked.parts.values()), axis=0), max(k, PREFERRED))
    position = {int(row): at for row, at in zip(ranked.rows[best], best, strict=True)}
    return np.array([position[row] for row in album.preferred(list(position))][:k], np.int64)


def presence(ranked: Ranked, positions: Positions, weights: Ranking) -> float:
    """The probability that the album holds what is meant, from the first hit's unweighted features."""
    if not len(positions):
        return 0.0
    first = {name: float(values[positions[0]]) for name, values in ranked.features.items()}
    cosine = max(first.get(name, 0.0) for name in CHANNELS)
    coverage = max(first.get("coverage", 0.0), first.get("context_coverage", 0.0))
    return ranking.presence(weights, cosine, coverage, first.get("cue", 0.0))


def hits(
    album: Album,
    ranked: Ranked,
    positions: Positions,
    matches: Sequence[EntityMatch],
    present: float,
) -> tuple[Hit, ...]:
    """One Hit for each of `positions`; `present`: what `presence` gave."""
    likely = ranking.likelihoods(ranked.parts)
    found = []
    for at, photo in zip(positions, album.photos(ranked.rows[positions]), strict=True):
        row = int(ranked.rows[at])
        parts = {name: round(float(values[at]), 4) for name, values in ranked.parts.items()}
        found.append(
            Hit(
                row=row,
                id=photo.id,
                path=photo.path,
                taken_at=photo.wall,
                lat=photo.lat,
                lon=photo.lon,
                score=round(sum(parts.values()), 4),
                probability=round(present * float(likely[at]), 4),
                parts=parts,
                memory=_shown(photo),
                matched=tuple(match.name for match in matches if row in match.photos)[:4],
            )
        )
    return tuple(found)


def _shown(photo: Photo) -> str | None:
    """The memory that stands beside a hit: what a person or a picture says, before what models and
    maps say.
    """
    by_people = [m.text for m in photo.memories if m.source not in ("label", "place")]
    return next(iter(by_people or [m.text for m in photo.memories]), None)
