"""Segments photos into events, one by one: a photo joins the current event or starts the next.

It knows no album and no model. A `Decider` decides by what lies before the photo, never by what comes
after it, so that a photo that is added later changes no earlier decision. The three actions are those of the
sequential event memory of camroll (section 4.1): ADD, UPDATE, NO_OP.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from gamer.index import FloatArray

from ..errors import RuntimeFailure
from ..vectors import unit

# ADD: the photo starts an event. UPDATE: it joins the current one, whose summary changes. NO_OP: it joins,
# and the summary stays.
Action = Literal["ADD", "UPDATE", "NO_OP"]
ACTIONS: tuple[Action, ...] = ("ADD", "UPDATE", "NO_OP")
CHANNELS = ("text", "image")
CAPTIONS = 3  # texts of the photos just before that a decider is shown
RECENT = 8  # photos of an event that the next one is compared with one by one


@dataclass(frozen=True)
class Moment:
    """What segmenting knows of a photo.

    `wall`: wall time in ms (Photo.wall), None for an undated photo. `lat`, `lon`: degrees, both or neither.
    `text`, `image`: its vectors, float32 [D], L2-normalised, None where it has none. `memories`: texts that
    people or programs wrote about it; `places`: the texts of its `place` memories.
    """

    id: str
    wall: int | None
    lat: float | None = None
    lon: float | None = None
    text: FloatArray | None = field(default=None, compare=False, repr=False)
    image: FloatArray | None = field(default=None, compare=False, repr=False)
    memories: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    def vector(self, channel: str) -> FloatArray | None:
        return self.text if channel == "text" else self.image


@dataclass(frozen=True)
class Decision:
    """`probability`: that the photo starts a new event, 0..1. `reason`: one line, for people."""

    action: Action
    probability: float
    reason: str


class Draft:
    """The current event so far: its photos, and the sum of their vectors by channel."""

    def __init__(self, first: Moment) -> None:
        self.moments: list[Moment] = []
        self._sums: dict[str, FloatArray] = {}
        # The photos that the summary is made of: those up to the last ADD or UPDATE.
        self.told = 0
        self.add(first, tells=True)

    def add(self, moment: Moment, *, tells: bool) -> None:
        self.moments.append(moment)
        for channel in CHANNELS:
            vector = moment.vector(channel)
            if vector is not None:
                self._sums[channel] = self._sums[channel] + vector if channel in self._sums else vector
        if tells:
            self.told = len(self.moments)

    def mean(self, channel: str) -> FloatArray | None:
        """The mean of the photos' vectors, float32 [D], of unit length; None where no photo has one."""
        total = self._sums.get(channel)
        return None if total is None else unit(total)

    @property
    def start(self) -> int:
        return self.moments[0].wall or 0

    @property
    def end(self) -> int:
        return self.moments[-1].wall or 0

    @property
    def captions(self) -> tuple[str, ...]:
        """The first memory of each of the last CAPTIONS photos that have one."""
        return tuple(m.memories[0] for m in self.moments[-CAPTIONS:] if m.memories)


class Decider(Protocol):
    """Decides one photo after the other, each photo once, in order of time.

    A decider may remember what it has seen (the person's rhythm), so each album wants a new one.
    """

    def decide(self, draft: Draft | None, moment: Moment) -> Decision:
        """`draft`: the current event, None before the first photo, for which the action is ADD."""
        ...


@dataclass(frozen=True)
class Segmented:
    """`events`: photos in order of time, an event after the other. `decisions`: one a dated photo, in order.

    `undated`: ids of photos without a time; they are in no event.
    """

    events: tuple[tuple[Moment, ...], ...]
    decisions: tuple[Decision, ...]
    undated: tuple[str, ...]


class Segmenter:
    """Takes dated photos in order of time. `events`: the finished ones and the current one."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._drafts: list[Draft] = []
        self._cut = False
        self.decisions: list[Decision] = []

    def add(self, moment: Moment) -> Decision:
        """Raises RuntimeFailure for an undated photo, and for one that is earlier than the last."""
        draft = self._drafts[-1] if self._drafts else None
        if moment.wall is None:
            raise RuntimeFailure(f"{moment.id}: has no date, and an event is a stretch of time: leave it out")
        if draft is not None and moment.wall < draft.end:
            raise RuntimeFailure(f"{moment.id}: earlier than the photo before it: sort the photos by time")
        decision = self._decider.decide(draft, moment)
        if draft is None or self._cut:
            decision = Decision(
                "ADD", 1.0, decision.reason if draft is None else "after an event that was set"
            )
        self._cut = False
        if draft is None or decision.action == "ADD":
            self._drafts.append(Draft(moment))
        else:
            draft.add(moment, tells=decision.action == "UPDATE")
        self.decisions.append(decision)
        return decision

    def cut(self) -> None:
        """Makes the next photo start an event, whatever the decider says."""
        self._cut = True

    @property
    def events(self) -> tuple[tuple[Moment, ...], ...]:
        return tuple(tuple(draft.moments) for draft in self._drafts)


def segment(moments: Iterable[Moment], decider: Decider) -> Segmented:
    """Segments photos, which may come in any order."""
    moments = list(moments)
    segmenter = Segmenter(decider)
    for moment in in_order(moments):
        segmenter.add(moment)
    undated = tuple(sorted(m.id for m in moments if m.wall is None))
    return Segmented(segmenter.events, tuple(segmenter.decisions), undated)


def in_order(moments: Sequence[Moment]) -> Iterator[Moment]:
    """The dated photos by time; those of the same millisecond by id."""
    dated = [(m.wall, m.id, m) for m in moments if m.wall is not None]
    return (moment for *_, moment in sorted(dated, key=lambda item: item[:2]))
