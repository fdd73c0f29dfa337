"""F1 of a segmentation against events that are known: over boundaries, and over pairs of photos."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Cuts = NDArray[np.bool_]


@dataclass(frozen=True)
class EventScores:
    """Both 0..1. `boundary`: a boundary lies between two consecutive photos of different events. `pairwise`:
    over the pairs of photos that are in one event.
    """

    boundary: float
    pairwise: float


def score(cuts: Cuts, events: Sequence[Hashable]) -> EventScores:
    """`cuts`: bool [n - 1], whether an event begins after photo i. `events`: the data set's one of each of
    n photos, which counts as true.

    Those events may interleave in time; cuts cannot, so that a perfect pairwise F1 is not always possible.
    """
    true = boundaries(events)
    return EventScores(
        _f1(int((cuts & true).sum()), int(cuts.sum()), int(true.sum())), _pairwise(cuts, events)
    )


def boundaries(events: Sequence[Hashable]) -> Cuts:
    return np.array([a != b for a, b in pairwise(events)], np.bool_)


def macro(scores: Iterable[EventScores]) -> EventScores:
    """The mean over users; each user counts the same."""
    table = np.array([(s.boundary, s.pairwise) for s in scores])
    return EventScores(*(float(mean) for mean in table.mean(axis=0)))


def _pairwise(cuts: Cuts, events: Sequence[Hashable]) -> float:
    ours = np.concatenate([[0], np.cumsum(cuts)]).tolist()
    both = zip(ours, events, strict=True)
    return _f1(_pairs(both), _pairs(ours), _pairs(events))


def _pairs(labels: Iterable[Hashable]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(labels).values())


def _f1(hits: int, found: int, true: int) -> float:
    """1 if there was nothing to find and nothing was found."""
    return 2 * hits / (found + true) if found + true else 1.0
