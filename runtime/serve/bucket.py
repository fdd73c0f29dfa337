"""Token buckets, one a client, of bounded number.

Written here rather than taken from a limiter package: those count requests in windows, keep clients without
bound, or want a store; a search costs more than a thumbnail, and forty lines say it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from math import ceil

from .settings import Rate


class Buckets:
    """`take` on one thread only (the event loop's).

    The client seen longest ago is forgotten first, and starts full again.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client → (tokens, when)

    def take(self, client: str, cost: float) -> int:
        """0 when the client may go on, else the seconds after which it may."""
        now = self._clock()
        level, when = self._levels.pop(client, (self._rate.burst, now))
        level = min(self._rate.burst, level + (now - when) * self._rate.per_second)
        allowed = (
            level >= cost - 1e-9
        )  # or a client that waits as long as it was told meets the last rounding
        self._levels[client] = (level - cost if allowed else level, now)
        if len(self._levels) > self._rate.clients:
            self._levels.popitem(last=False)
        return 0 if allowed else max(1, ceil((cost - level) / self._rate.per_second))
