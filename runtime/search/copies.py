"""Copies and bursts of a photo, shown as one hit with the ids of the others.

A copy (sent on, made smaller, exported twice) has the same likeness whatever its date; photos of a burst
follow one another within seconds and look nearly the same. See `likeness` in indexing/likeness.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, FloatArray
from gamer.index.records import COPIES, UNKNOWN_TIME

from .answer import Hit

# Cosines. Over 547 photographs of one person, in which there is no copy, the likest two have 0.987, and the
# two of the same second 0.976; a picture saved again at another size has 0.9995.
SAME, NEARLY = 0.995, 0.95
BURST_MS = 3_000
MOST = 1_000  # photos of which copies are looked for


def together(album: Album, hits: Sequence[Hit]) -> tuple[Hit, ...]:
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
    vectors = [album.mean_of(COPIES, np.array([row], np.int64)) for row in rows]
    times = album.times()[np.asarray(rows, np.int64)]
    firsts: list[int] = []
    for at, row in enumerate(rows):
        kept = [before for before in range(at) if firsts[before] == rows[before]]
        first = next((before for before in kept if _alike(vectors, times, before, at)), at)
        firsts.append(rows[first] if first != at else row)
    return firsts


def _alike(vectors: Sequence[FloatArray | None], times: NDArray[np.int64], a: int, b: int) -> bool:
    left, right = vectors[a], vectors[b]
    if left is None or right is None:
        return False
    known = UNKNOWN_TIME not in (times[a], times[b])
    burst = known and abs(float(times[a]) - float(times[b])) <= BURST_MS
    return float(left @ right) >= (NEARLY if burst else SAME)
