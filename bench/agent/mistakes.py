"""What was wrong with a wrong set, and how a wrong answer came about, by rule from trace, truth and times.

A data set names the photos of the right answer and not the anchor of a question. Yet for "the same day as"
the anchor must lie on their day, and for "the photo before" just beside them. There, and only there, a trace
tells whether the anchor was found. How an answer came about is told by the six classes of camroll (A.2).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

from gamer.index import Album, image_id
from gamer.runtime.agent.calls import Filter, arguments_of
from gamer.runtime.agent.recording import Trace
from gamer.runtime.agent.timeline import Timeline
from gamer.runtime.questions.question import Question
from gamer.runtime.questions.reader import read
from gamer.runtime.wall_time import iso

RIGHT = "right"
# Category → what it means. A task belongs to the first that fits, in this order.
MISTAKES = {
    "answered what is not there": "photos were given, but nothing in the album fits",
    "too many": "all the right photos and others",
    "too few": "some of the right photos and no others",
    "partly right": "some of the right photos and others",
    "anchor not found": "no photo that may be the anchor was in any result before the answer",
    "wrong anchor": "one that may be was found, but the calls went on from another photo or day",
    "wrong order or day": "the calls went on from a photo or day that may be the anchor, to wrong photos",
    "none right": "no photo of the answer is right, or none was given",
}
# The same of classes.
CLASSES = {
    "budget spent": "the budget ended the task, or MANY calls or all views were used",
    "gave up": "it answered after FEW calls or fewer",
    "wrong evidence": "not all that is right was in a result",
    "looked": "it was, and some of it was viewed",
    "never looked": "it was, and none of it was viewed",
    "other": "nothing is known to be right",
}
MANY, FEW = 20, 2  # calls
_PHOTO, _DAY = re.compile(r"img_[0-9a-f]{10}"), re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Anchors:
    """Where a question's anchor must lie: its short id or its day is one of these."""

    photos: frozenset[str]
    days: frozenset[str]


class Calendar:
    """The photos of an album by short id: their days, and their order in time."""

    def __init__(self, album: Album) -> None:
        times, names = album.times(), [image_id(photo) for photo in album.ids()]
        self.order = [names[row] for row in Timeline(times).order]
        self.place = {name: at for at, name in enumerate(self.order)}
        self.day = {name: (iso(int(time)) or "")[:10] for name, time in zip(names, times, strict=True)}


def mistake(
    question: str, relevant: Collection[str], given: Collection[str], trace: Trace, when: Calendar
) -> str:
    """RIGHT or one of MISTAKES. `relevant`, `given`: short ids."""
    wanted, found = set(relevant), set(given)
    if wanted == found:
        return RIGHT
    if not wanted:
        return "answered what is not there"
    if wanted & found:
        return "too many" if wanted < found else "too few" if found < wanted else "partly right"
    anchors = anchors_of(read(question), wanted, when)
    if anchors is not None and (wrong := _anchor_mistake(anchors, trace, bool(found))):
        return wrong
    return "none right"


def class_of(relevant: Collection[str], trace: Trace) -> str:
    """One of CLASSES, for a task that was answered wrongly. `relevant`: short ids."""
    wanted, made = set(relevant), [turn for turn in trace.turns if turn.tool is not None]
    views = [turn for turn in made if turn.tool == "view"]
    if trace.ended == "budget" or len(made) >= MANY or len(views) >= trace.budget.views > 0:
        return "budget spent"
    if trace.ended == "answer" and len(made) <= FEW:
        return "gave up"
    if not wanted:
        return "other"
    if not wanted <= _shown(trace):
        return "wrong evidence"
    return "looked" if any(wanted.intersection(turn.photos) for turn in views) else "never looked"


def anchors_of(read: Question, wanted: set[str], when: Calendar) -> Anchors | None:
    """None where the right photos do not tell where the anchor must lie."""
    places = sorted(when.place[photo] for photo in wanted if photo in when.place)
    if not places or len(places) < len(wanted):
        return None
    if read.relation == "same" and read.unit == "day" and not read.shift:
        days = frozenset(when.day[photo] for photo in wanted)
        return Anchors(frozenset(photo for photo, day in when.day.items() if day in days), days)
    beside = {"before": places[-1] + 1, "after": places[0] - 1}.get(read.relation, -1)
    together = places[-1] - places[0] == len(places) - 1
    farthest = (read.relation, read.order) in (("before", 1), ("after", -1))
    if read.target or not together or farthest or read.order > 1 or not 0 <= beside < len(when.order):
        return None
    anchor = when.order[beside]
    return Anchors(frozenset({anchor}), frozenset({when.day[anchor]}))


def _anchor_mistake(anchors: Anchors, trace: Trace, answered: bool) -> str:
    photos, days = _gone_on_from(trace)
    if photos & anchors.photos or (not photos and days & anchors.days):
        return "wrong order or day"
    if not anchors.photos & _shown(trace):
        return "anchor not found"
    return "wrong anchor" if answered or photos or days else ""


def _gone_on_from(trace: Trace) -> tuple[set[str], set[str]]:
    """The photos that calls name, and the days in the conditions of filters."""
    photos, days = set[str](), set[str]()
    for turn in trace.turns:
        if turn.call is not None:
            photos.update(_PHOTO.findall(json.dumps(arguments_of(turn.call))))
        if isinstance(turn.call, Filter):
            days.update(_DAY.findall(turn.call.where))
    return photos, days


def _shown(trace: Trace) -> set[str]:
    return {photo for turn in trace.turns for photo in turn.photos}
