"""Copies and bursts of a photo, shown as one hit with the ids of the others.

A copy (sent on, made smaller, exported twice) has the same likeness whatever its date; photos of a burst
follow one another within seconds and look nearly the same. See `likeness` in indexing/likeness.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, FloatArray
from gamer.index.records import COPIES, UNKNOWN_TIME

from .answer import Hit, SimilarPhoto

Shown = TypeVar("Shown", Hit, SimilarPhoto)

# Cosines. Over 547 photographs of one person, in which there is no copy, the likest two have 0.987, and the
# two of the same second 0.976; a picture saved again at another size has 0.9995.
SAME, NEARLY = 0.995, 0.95
BURST_MS = 3_000
MOST = 3_000  # photos of which copies are looked for: every two are compared


def together(album: Album, hits: Sequence[Shown]) -> tuple[Shown, ...]:
    """The hits, best first, without copies of a better one, whose `copies` names them."""
    firsts = first_of_each(album, [hit.row for hit in hits])
    others: dict[int, list[str]] = {}
    for hit, first in zip(hits, firsts, strict=True):
        if first != hit.row:
            others.setdefault(first, []).append(hit.id)
    return tuple(
        replace(hit, copies=tuple(others.get(hit.row, ())))
        for hit, first in zip(hits, firsts, strict=True)
        if first == hit.row
    )


def first_of_each(album: Album, rows: Sequence[int]) -> list[int]:
    """For each of `rows` the earliest among them that it is a copy of, itself if there is none before."""
    if COPIES not in album.channels() or not 2 <= len(rows) <= MOST:
        return list(rows)
    alike = _alike(_vectors(album, rows), album.times()[np.asarray(rows, np.int64)])
    kept = np.zeros(len(rows), np.bool_)
    firsts: list[int] = []
    for at, row in enumerate(rows):
        before = np.flatnonzero(alike[at, :at] & kept[:at])
        kept[at] = not before.size
        firsts.append(rows[before[0]] if before.size else row)
    return firsts


def _vectors(album: Album, rows: Sequence[int]) -> FloatArray:
    """float32 [rows, D]; zeros, which are like nothing, for a photo without a likeness."""
    found = [album.mean_of(COPIES, np.array([row], np.int64)) for row in rows]
    known = next((vector for vector in found if vector is not None), np.zeros(1, np.float32))
    return np.stack([np.zeros_like(known) if vector is None else vector for vector in found])


def _alike(vectors: FloatArray, times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool [N, N]: whether two photos are copies of one another, or of one burst."""
    known, seconds = times != UNKNOWN_TIME, times.astype(np.float64)
    burst = np.abs(seconds[:, None] - seconds) <= BURST_MS
    burst &= known[:, None] & known
    return np.asarray(vectors @ vectors.T >= np.where(burst, NEARLY, SAME), np.bool_)
