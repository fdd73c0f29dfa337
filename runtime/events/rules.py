"""The default decider: a logistic regression on a few figures of rhythm, day and likeness.

Its weights are figures of a rule, fitted to the development users of camroll-mpr by `gamer bench study events
--fit`, which writes them with its other results; bench/results/events.json says how good they are for a
person who was not part of the fit. Two of the inputs occur nowhere in that data: positions and pixels. The
weight of distance is therefore set by hand, and pictures count as texts do (rhythm.py measures both in the
person's own spread).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import atan2, cos, exp, log, log1p, radians, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from .rhythm import Rhythm, log_gap
from .segment import Decision, Draft, Moment

_DAY_MS, _NIGHT_ENDS_MS = 86_400_000, 4 * 3_600_000
_LONG = log(1 + 6 * 3600)
_SHORT = log(1 + 600)
_EARTH_KM = 6371.0
_WEIGHT_OF_DISTANCE = 0.3  # a log-odds for each log(1 + km) beyond the first kilometre; by hand, see above
# Memories of an event after which a photo only changes its summary if it says something else.
_FEW = 3


@dataclass(frozen=True)
class Weights:
    """Log-odds that a photo starts a new event, by feature.

    `gap`: log(1 + seconds) since the photo before. `against_local`, `against_usual`: the gap less the medians
    of the last gaps and of all. `rank`: the share of the person's gaps that are shorter. `short`, `long`: how
    far the log gap is above ten minutes and above six hours. `day`: whether a night lies between. `last`,
    `mean`, `best`: likeness to the photo before, the event's mean, the likest of its last photos
    (Rhythm.likeness). `photos`, `duration`: log of the event's photos and of 1 + its seconds. `threshold`:
    least probability of a new event.
    """

    bias: float
    gap: float
    against_local: float
    against_usual: float
    rank: float
    short: float
    long: float
    day: float
    last: float
    mean: float
    best: float
    photos: float
    duration: float
    threshold: float


FEATURES = tuple(f.name for f in fields(Weights) if f.name not in ("bias", "threshold"))
FITTED = Weights(
    bias=-2.6183,
    gap=0.1667,
    against_local=-0.0534,
    against_usual=-0.1182,
    rank=-0.114,
    short=0.1566,
    long=0.4077,
    day=-0.0346,
    last=-0.4837,
    mean=-0.2531,
    best=-0.3958,
    photos=-0.0407,
    duration=0.0363,
    threshold=0.6,
)


def features(rhythm: Rhythm, draft: Draft, moment: Moment) -> NDArray[np.float64]:
    """float64 [len(FEATURES)] of a photo that is not yet observed by `rhythm`."""
    before = draft.moments[-1]
    gap = log_gap(before, moment)
    last, mean, best = rhythm.likeness(draft, moment)
    return np.array(
        [
            gap,
            gap - rhythm.local(gap),
            gap - rhythm.usual(gap),
            rhythm.rank(gap),
            max(0.0, gap - _SHORT),
            max(0.0, gap - _LONG),
            float(_day(before) != _day(moment)),
            last,
            mean,
            best,
            log(len(draft.moments)),
            log1p(((moment.wall or 0) - draft.start) / 1000),
        ]
    )


class Rules:
    """Decides by `weights`; remembers the person's rhythm, so each album wants a new one."""

    def __init__(self, weights: Weights = FITTED) -> None:
        self._weights, self._rhythm = weights, Rhythm()
        self._of_feature = np.array([getattr(weights, name) for name in FEATURES])

    def decide(self, draft: Draft | None, moment: Moment) -> Decision:
        """UPDATE if the photo's memories say something that the event does not say yet."""
        if draft is None:
            self._rhythm.observe(moment)
            return Decision("ADD", 1.0, "the first photo")
        x = features(self._rhythm, draft, moment)
        self._rhythm.observe(moment)
        return self.weigh(x, draft, moment)

    def weigh(self, x: NDArray[np.float64], draft: Draft, moment: Moment) -> Decision:
        """The decision for features `x`, float64 [len(FEATURES)]."""
        km = distance(draft, moment)
        odds = (
            self._weights.bias + float(self._of_feature @ x) + _WEIGHT_OF_DISTANCE * log(max(km or 0.0, 1.0))
        )
        probability = 1 / (1 + exp(-max(-30.0, min(30.0, odds))))
        reason = _reason(x, draft, moment, km)
        if probability >= self._weights.threshold:
            return Decision("ADD", probability, reason)
        likeness = float(x[FEATURES.index("mean")])
        few = sum(bool(m.memories) for m in draft.moments[: _FEW + 1]) < _FEW
        tells = bool(moment.memories) and (few or likeness < 0)
        return Decision("UPDATE" if tells else "NO_OP", probability, reason)


def distance(draft: Draft, moment: Moment) -> float | None:
    """Kilometres on the sphere from the event's last photo with a position; None if either has none."""
    placed = next((m for m in reversed(draft.moments) if m.lat is not None and m.lon is not None), None)
    if placed is None or moment.lat is None or moment.lon is None:
        return None
    south, north = radians(placed.lat or 0.0), radians(moment.lat)
    half = sin((north - south) / 2) ** 2
    half += cos(south) * cos(north) * sin(radians(moment.lon - (placed.lon or 0.0)) / 2) ** 2
    return 2 * _EARTH_KM * atan2(sqrt(half), sqrt(max(0.0, 1 - half)))


def _day(moment: Moment) -> int:
    """The day that a photo belongs to; a day ends at four in the morning."""
    return ((moment.wall or 0) - _NIGHT_ENDS_MS) // _DAY_MS


def _reason(x: NDArray[np.float64], draft: Draft, moment: Moment, km: float | None) -> str:
    parts = [f"{_duration((moment.wall or 0) - draft.end)} later"]
    if x[FEATURES.index("day")]:
        parts.append("another day")
    if km is not None and km >= 1:
        parts.append(f"{km:.0f} km away")
    likeness = float(x[FEATURES.index("mean")])
    if abs(likeness) >= 0.5:
        parts.append(f"{'more' if likeness > 0 else 'less'} like the event than usual")
    return ", ".join(parts)


def _duration(milliseconds: int) -> str:
    seconds = milliseconds // 1000
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {name}"
    return f"{seconds} s"
