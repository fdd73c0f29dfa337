"""How a person takes photos: the gaps between them, and how alike a photo is to the one before it.

Two hours without a photo mean little for one person and a new event for another; captions of one model are
all alike, of another all different. So gaps and cosines are measured against the person's own, as far as the
photos so far show them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from math import log

import numpy as np

from gamer.index import FloatArray

from ..vectors import unit
from .segment import CHANNELS, RECENT, Draft, Moment

LOCAL = 10  # gaps that make the rhythm of the hour
LIKENESSES = 200  # cosines of neighbours that a cosine is compared with
_SETTLED = 20  # photos after which the person's mean vector counts in full
_PRIOR = (0.3, 0.2, 5.0)  # mean and deviation of the cosines of neighbours before any are known; its weight


# The mean likenesses (last, mean, best) over the development users of camroll-mpr: what is not known speaks
# for neither side.
NEUTRAL = (0.0, 0.1, 0.3)


class Rhythm:
    """Running figures over the photos observed so far. Times are in seconds, gaps as log(1 + seconds)."""

    def __init__(self) -> None:
        self._local: deque[float] = deque(maxlen=LOCAL)
        self._sorted: list[float] = []
        self._last: Moment | None = None
        self._channels = {channel: _Channel() for channel in CHANNELS}

    def observe(self, moment: Moment) -> None:
        """Takes in a photo, in order of time."""
        if self._last is not None:
            gap = log_gap(self._last, moment)
            self._local.append(gap)
            insort(self._sorted, gap)
        for channel, figures in self._channels.items():
            figures.observe(moment.vector(channel))
        self._last = moment

    def local(self, default: float) -> float:
        """The median of the last LOCAL log gaps; `default` before the first."""
        return float(np.median(self._local)) if self._local else default

    def usual(self, default: float) -> float:
        """The median of all log gaps; `default` before the first."""
        return self._sorted[len(self._sorted) // 2] if self._sorted else default

    def rank(self, gap: float) -> float:
        """The share of the person's gaps that are shorter, 0.5 before the first."""
        return (bisect_left(self._sorted, gap) + 1) / (len(self._sorted) + 2)

    def likeness(self, draft: Draft, moment: Moment) -> tuple[float, float, float]:
        """How like the photo is to the last one, to the event's mean, and to the likest of its last RECENT.

        In standard deviations of the person's neighbouring photos, the mean over the channels that both have;
        NEUTRAL where they share none.
        """
        known = [
            figures.likeness(draft, channel, vector)
            for channel, figures in self._channels.items()
            if (vector := moment.vector(channel)) is not None and draft.mean(channel) is not None
        ]
        last, mean, best = np.mean(known, axis=0) if known else NEUTRAL
        return float(last), float(mean), float(best)


class _Channel:
    """The mean vector of a person's photos in a channel, and the cosines of neighbours around it.

    Without the mean, which holds what all captions share ("I remember taking ..."), cosines tell more.
    """

    def __init__(self) -> None:
        self._sum: FloatArray | None = None
        self._count = 0
        self._last: FloatArray | None = None
        self._cosines: deque[float] = deque(maxlen=LIKENESSES)

    def observe(self, vector: FloatArray | None) -> None:
        if vector is None:
            return
        if self._last is not None:
            self._cosines.append(float(self._centred(self._last) @ self._centred(vector)))
        self._sum = vector if self._sum is None else self._sum + vector
        self._count += 1
        self._last = vector

    def likeness(self, draft: Draft, channel: str, vector: FloatArray) -> tuple[float, float, float]:
        x = self._centred(vector)
        recent = [v for m in draft.moments[-RECENT:] if (v := m.vector(channel)) is not None]
        mean = draft.mean(channel)
        cosines = [float(self._centred(v) @ x) for v in recent] or [0.0]
        to_mean = 0.0 if mean is None else float(self._centred(mean) @ x)
        centre, spread = self._spread()
        last, whole, best = ((value - centre) / spread for value in (cosines[-1], to_mean, max(cosines)))
        return last, whole, best

    def _centred(self, vector: FloatArray) -> FloatArray:
        if self._sum is None:
            return vector
        return unit(vector - self._sum * np.float32(min(1.0, self._count / _SETTLED) / self._count))

    def _spread(self) -> tuple[float, float]:
        """Mean and standard deviation of the cosines of neighbours, drawn to _PRIOR while there are few."""
        mean, deviation, weight = _PRIOR
        values = np.array(self._cosines)
        total = len(values) + weight
        centre = (float(values.sum()) + weight * mean) / total
        square = (float(((values - centre) ** 2).sum()) + weight * deviation**2) / total
        return centre, max(square, 1e-4) ** 0.5


def log_gap(before: Moment, after: Moment) -> float:
    """log(1 + seconds) between two dated photos."""
    return log(1 + max(0, (after.wall or 0) - (before.wall or 0)) / 1000)
