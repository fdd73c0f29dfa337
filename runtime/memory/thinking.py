"""What decides in a memory, by rules: what a turn tells, and what to retrieve next for a question.

The steps are what is said of the period that the question names, then of all time, then of the names in it.
Another decider (`deciders.py`) may ask a language model instead, and comes back to these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..cues.calendar_days import TimeContext
from ..cues.time_ranges import find_times
from .reading import facts
from .reading.facts import NOBODY, Fact, Meant
from .recall import Period
from .words import content

_AFTERWARDS_MS = 14 * 86_400_000  # people talk about a day for some time after it


@dataclass(frozen=True)
class RoundQuestion:
    """A question. `now`: the clock on the wall. `known`: whether a core memory answers it.

    `months`: gives the months in which something was said, "2026-01", ascending.
    """

    question: str
    now: datetime
    known: bool
    months: Callable[[], list[str]] = list


@dataclass(frozen=True)
class Step:
    """One retrieval. `thought`: why. `period`: None for all times. `text`: what is looked for."""

    thought: str
    keywords: tuple[str, ...]
    period: Period | None
    text: str = ""


@dataclass(frozen=True)
class PastRound:
    """A retrieval that was made, and whether it found nothing that answers."""

    step: Step
    empty: bool


class Decider:
    """Decides what a turn tells, which sentence is a topic's, and what to retrieve. Texts are data to it."""

    def facts(self, text: str, meant: Meant = NOBODY) -> list[Fact]:
        """The facts of a turn, in order. `meant`: whom "she" means in it."""
        return facts.facts_of(text, meant)

    def topic(self, said: Sequence[str]) -> str | None:
        """The one of these sentences that tells what a topic was about; None to leave it to the counts."""
        return None

    def think(self, asked: RoundQuestion, seen: Sequence[PastRound]) -> Step | None:
        """The next retrieval; None where the answer can be given."""
        return think(asked, seen)


def think(asked: RoundQuestion, seen: Sequence[PastRound]) -> Step | None:
    """The next retrieval; None where the answer can be given."""
    keywords = tuple(content(asked.question))
    if not seen and (period := period_of(asked.question, asked.now)) is not None:
        thought = "The question names a time: first what was said then, or soon after."
        return Step(thought, keywords, period, asked.question)
    if seen and not seen[-1].empty:
        return None
    if all(one.step.period is not None for one in seen):
        thought = (
            "It is known by its key; what was said:" if asked.known else "What was said about it at any time."
        )
        return Step(thought, keywords, None, asked.question)
    names = tuple(word for word in asked.question.split()[1:] if word[:1].isupper() and content(word))
    if names and not asked.known and all(one.step.keywords != names for one in seen):
        return Step("Nothing fits; the names alone.", names, None, " ".join(names))
    return None


def period_of(question: str, now: datetime) -> Period | None:
    """The time that the question names, and a while after it; None if it names none."""
    cues = find_times(question[:2_000], TimeContext(now)).cues
    starts = [cue.start for cue in cues if cue.start is not None]
    ends = [cue.end for cue in cues if cue.end is not None]
    if not cues or (not starts and not ends):
        return None
    start = min(starts, default=-(1 << 60))
    return Period(start, max(ends, default=1 << 60) + _AFTERWARDS_MS)
