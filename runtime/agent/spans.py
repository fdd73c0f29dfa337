"""The time and place that a text names, as a condition for `filter`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..cues.time_ranges import merged
from ..search.engine import Engine
from ..search.query_facts import is_time_or_place, none_of, says_nothing_else
from ..wall_time import iso


@dataclass(frozen=True)
class Span:
    """`where`: the condition, "" if none is named. `only`: whether the text names nothing else. `none`: if it
    does not, what to say where no photo fits. `daily`: whether the text is nothing but a time of day.
    """

    where: str
    only: bool
    none: str = ""
    daily: bool = False

    @property
    def is_time(self) -> bool:
        """Whether the text is a time or place, which is no anchor."""
        return self.only or self.daily

    @property
    def is_place(self) -> bool:
        """Whether the text names a place, and nothing else."""
        return self.only and self.where.startswith(("place =", "(place ="))


class SpanReader:
    """Reads spans in relation to one engine's album. `now`: wall time, from which "last spring" counts."""

    def __init__(self, engine: Engine, now: datetime | None) -> None:
        self._engine, self._now = engine, now

    def __call__(self, text: str) -> Span:
        cues = self._engine.cues(text, self._now)
        places = [place for place in cues.places if place.photos != 0]
        if cues.negated or cues.recurring or not (cues.times or cues.places):
            return Span("", False, daily=is_time_or_place(cues))
        only = is_time_or_place(cues)
        none = str(none_of(cues)) if says_nothing_else(cues, (*cues.times, *cues.places)) else ""
        when = [_between(start, end) for start, end in merged(cues.times)]
        where = [f'place = "{place.name}"' for place in places if '"' not in place.name]
        both = [_joined(" or ", part) for part in (when, where) if part]
        return Span(" and ".join(both), only and bool(both), none)


def _between(start: int | None, end: int | None) -> str:
    parts = [f"time >= {iso(start)}"] if start is not None else []
    parts += [f"time <= {iso(end)}"] if end is not None else []
    return _joined(" and ", parts) or "year >= 1"


def _joined(word: str, parts: list[str]) -> str:
    """The conditions with `word` between them, in brackets where there are several."""
    return f"({word.join(parts)})" if len(parts) > 1 else "".join(parts)
