"""Copies and bursts of a photo: in an answer one hit with the ids of the others, in an album groups.

A copy (sent on, made smaller, exported twice) has the same likeness whatever its date; photos of a burst
follow one another within seconds and look nearly the same. See `likeness` in indexing/likeness.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, FloatArray
from gamer.index.records import COPIES, UNKNOWN_TIME, Photo

from ..defaults import BURST_MS, NEARLY, SAME
from .answer import Hit, SimilarPhoto

Shown = TypeVar("Shown", Hit, SimilarPhoto)

# Cosines. Over 547 photographs of one person, in which there is no copy, the likest two have 0.987, and the
# two of the same second 0.976; a picture saved again at another size has 0.9995.
MOST = 3_000  # photos of an answer of which copies are looked for: every two are compared
PAIRS = 4_000_000  # of photos that are compared at most, to find what an original knows
BLOCK = 256  # photos compared with all before them at once


def together(album: Album, hits: Sequence[Shown], asked: int | None = None) -> tuple[Shown, ...]:
    """The hits, best first, each copy with those it is a copy of: one stands for all, and names the others.

    That is the one of which most is known, its time, place, camera and memories, with the rank of the best: a
    copy that was sent on has lost what its original has. Of two that tell as much it is that to whose
    name the other's adds ("-small", " (1)"). It is the best where that fits a time or place better. The
    photo in row `asked` always stands for itself.
    """
    firsts = first_of_each(album, [hit.row for hit in hits])
    groups: dict[int, list[Shown]] = {}
    for hit, first in zip(hits, firsts, strict=True):
        groups.setdefault(first, []).append(hit)
    return tuple(_one_of(album, group, asked) for group in groups.values())


def _one_of(album: Album, group: Sequence[Shown], asked: int | None) -> Shown:
    best = group[0]
    if len(group) == 1:
        return best
    rows = [hit.row for hit in group]
    known = dict(zip(rows, map(_known, album.photos(rows)), strict=True))
    names = [_name(hit.id) for hit in group]

    def rank_of(hit: Shown) -> tuple[bool, int, int]:
        own = _name(hit.id)
        begun = sum(name.startswith(own) for name in names) if own else 0
        return _fits(hit, best), known[hit.row], begun

    shown = best if best.row == asked else max(group, key=rank_of)
    others = tuple(hit.id for hit in group if hit is not shown)
    rank: dict[str, Any] = {}
    if isinstance(best, Hit):
        rank = {"score": best.score, "probability": best.probability, "parts": best.parts}
    return replace(shown, copies=others, **rank)


def _fits(hit: Shown, best: Shown) -> bool:
    """Whether a hit fits the query's times and places as well as the best of its group."""
    if isinstance(hit, Hit) and isinstance(best, Hit):
        return hit.parts.get("cue", 0.0) >= best.parts.get("cue", 0.0)
    return True


def _name(photo_id: str) -> str:
    """The name of a photo's file, without its folder and its ending; "" where the id is no file's."""
    return photo_id.rpartition("/")[2].rpartition(".")[0]


def _known(photo: Photo) -> int:
    """How many of a photo's time, place, camera and memories (at least one) are known, but not its looks."""
    told = any(memory.source != "label" for memory in photo.memories)
    dated = photo.taken_at is not None and photo.tz_source != "name"  # a name has no hour
    return dated + (photo.lat is not None) + (photo.camera is not None) + told


def first_of_each(album: Album, rows: Sequence[int]) -> list[int]:
    """For each of `rows` the earliest among them that it is a copy of, itself if there is none before."""
    if COPIES not in album.channels() or not 2 <= len(rows) <= MOST:
        return list(rows)
    firsts = _firsts(_vectors(album, rows), album.times()[np.asarray(rows, np.int64)])
    return [rows[first] for first in firsts]


def inherited(album: Album, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """bool [photos]: of which photos something is known, or of one that they are a copy of.

    `known` itself for an album without likenesses, or where more than PAIRS would be compared.
    """
    lacking, having = np.flatnonzero(~known), np.flatnonzero(known)
    if COPIES not in album.channels() or not 0 < len(lacking) * len(having) <= PAIRS:
        return known
    out, times, vectors = known.copy(), album.times(), album.means(COPIES)
    for start in range(0, len(lacking), BLOCK):
        rows = lacking[start : start + BLOCK]
        out[rows] = _alike(vectors[rows], times[rows], vectors[having], times[having]).any(1)
    return out


def groups(album: Album) -> list[tuple[int, ...]]:
    """The album's copies and bursts, as rows: in each group the photo taken first, then the others by time.

    The time grows with the square of the album: about two seconds for 20,000 photos.
    """
    if COPIES not in album.channels():
        return []
    times = album.times()
    by_time = np.lexsort((times, times == UNKNOWN_TIME))
    found: dict[int, list[int]] = {}
    for row, first in zip(by_time, _firsts(album.means(COPIES)[by_time], times[by_time]), strict=True):
        found.setdefault(int(by_time[first]), []).append(int(row))
    return [tuple(group) for group in found.values() if len(group) > 1]


def added(album: Album, ids: Sequence[str]) -> int:
    """How many of the photos `ids` are a copy of another photo of the album, or of its burst.

    They count as come last: of two of them that are alike one counts. The time grows with `ids` times the
    album. Raises AlbumError for an id that the album does not have.
    """
    if COPIES not in album.channels() or not ids:
        return 0
    rows = np.array([album.row_of(photo_id) for photo_id in ids], np.int64)
    times, vectors = album.times(), album.means(COPIES)
    others = np.ones(len(times), np.bool_)  # those that a photo may be a copy of: all before it
    others[rows] = False
    count = 0
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        for row, alike in zip(block, _alike(vectors[block], times[block], vectors, times), strict=True):
            count += bool((alike & others).any())
            others[row] = True
    return count


def _vectors(album: Album, rows: Sequence[int]) -> FloatArray:
    """float32 [rows, D]; zeros, which are like nothing, for a photo without a likeness."""
    found = [album.mean_of(COPIES, np.array([row], np.int64)) for row in rows]
    known = next((vector for vector in found if vector is not None), np.zeros(1, np.float32))
    return np.stack([np.zeros_like(known) if vector is None else vector for vector in found])


def _firsts(vectors: FloatArray, times: NDArray[np.int64]) -> list[int]:
    """For each of N photos the first before it that it is a copy of, and that is no copy itself; or it."""
    firsts = list(range(len(vectors)))
    kept = np.zeros(len(vectors), np.bool_)
    for start in range(0, len(vectors), BLOCK):
        block = slice(start, start + BLOCK)
        alike = _alike(vectors[block], times[block], vectors[: start + BLOCK], times[: start + BLOCK])
        for at, row in enumerate(alike, start):
            before = np.flatnonzero(row[:at] & kept[:at])
            kept[at] = not before.size
            if before.size:
                firsts[at] = int(before[0])
    return firsts


def _alike(
    vectors: FloatArray, times: NDArray[np.int64], others: FloatArray, their_times: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """bool [N, others]: whether two photos are copies of one another, or of one burst."""
    known = (times != UNKNOWN_TIME)[:, None] & (their_times != UNKNOWN_TIME)
    apart = np.abs(times.astype(np.float64)[:, None] - their_times)
    return np.asarray(vectors @ others.T >= np.where(known & (apart <= BURST_MS), NEARLY, SAME), np.bool_)
