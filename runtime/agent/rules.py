"""The mind without a model: compiles a question's anchor, order, day, set and count into tool calls.

Deterministic; each call costs one search or one filter. Its thoughts explain the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..search.membership import PRESENT
from . import sentences
from .calls import Call, Combine, Filter, Search
from .loop import NOTHING, Act, Answer, End, Observation, Turns
from .question import MAX_READ, Question, read_question
from .question_words import EXHAUSTIVE
from .results import Result
from .spans import Span
from .toolbox import Toolbox

Calls = Generator[Act, Observation, Result]  # a part of a plan; returns the result of its last call
_ANCHORS = 5  # photos that a search for an anchor shows
_SOON = 24  # hours that "after" reaches when it names no number and no order
_EVENT_UNITS = ("trip", "journey", "outing", "event", "walk", "hike", "party", "visit")


@dataclass(frozen=True)
class RulesMind:
    """`spans`: the times that a text names, and whether it names nothing else."""

    toolbox: Toolbox
    spans: Callable[[str], Span]
    name: str = "rules"

    def solve(self, question: str, end: End) -> Turns:
        read = read_question(question, lambda text: self.spans(text).only)
        if end == "sentence" and read.asks != "count":
            return (yield from self._said(read))
        found = yield from self._found(read)
        if not found.rows:
            return replace(NOTHING, sentence=found.note or NOTHING.sentence)
        return sentences.count(found) if end == "sentence" else Answer(found.rows, _counted(found))

    def _said(self, read: Question) -> Generator[Act, Observation, Answer]:
        """A sentence rests on the memories nearest to the question, and on what its relation leads to."""
        led = Result()
        if read.other and not read.relation:
            return (yield from self._earlier(read))
        if read.relation or (read.order and not read.occasion):
            led = yield from self._found(read)
        nearest = yield from _do(
            "Read the memories nearest to the question.", Search(read.text[:MAX_READ], k=sentences.EVIDENCE)
        )
        return sentences.answer(self.toolbox, read, led, nearest)

    def _earlier(self, read: Question) -> Generator[Act, Observation, Answer]:
        """Which of two things was first."""
        first = yield from self._anchor(read.anchor, 0)
        second = yield from self._anchor(read.other, 0)
        return sentences.earlier(read, first, second)

    def _found(self, read: Question) -> Calls:
        """The set of photos that a question asks for."""
        plans = {"": self._plain, "same": self._same, "between": self._between}
        return (yield from plans.get(read.relation, self._around)(read))

    def _plain(self, read: Question) -> Calls:
        """A question without an anchor: a time alone is a filter, all else a search."""
        span = self.spans(read.target)
        if not read.target and (read.order or read.count or read.asks == "count"):
            found = yield from _do("The question names nothing that photos show: take all.", Filter())
        elif span.only and span.where:
            found = yield from _do(
                f"The question names nothing but a time: all photos of it ({span.where}).", Filter(span.where)
            )
        else:
            found = yield from _do(
                f"Find every photo of “{read.target}”.", Search(read.target, every=True, save_as="found")
            )
            if _absent(found):
                return _no(f"The album does not seem to have “{read.target}”.")
        if read.without and found.rows:
            found = yield from self._without(read, found)
        return self._ordered(read, found)

    def _without(self, read: Question, found: Result) -> Calls:
        shown = yield from _do(
            f"Find every photo of “{read.without}”.", Search(read.without, every=True, save_as="unwanted")
        )
        if _absent(shown):
            return found
        return (
            yield from _do("Leave these out.", Combine("minus", "found", "unwanted", save_as="found_without"))
        )

    def _same(self, read: Question) -> Calls:
        anchor = yield from self._anchor(read.anchor, read.anchor_order)
        if not anchor.items or anchor.items[0].taken is None:
            return _undated(anchor, read.anchor)
        where, said = self._unit(read.unit, anchor, read.shift), f"the same {read.unit}"
        if read.shift:
            said = f"the {read.unit} {abs(read.shift)} {'after' if read.shift > 0 else 'before'}"
        if read.side:
            where = f"{where} and time {'<' if read.side == 'earlier' else '>'} {anchor.items[0].id}"
            said += f", {read.side} than the anchor"
        elif not read.with_anchor:
            where = f"{where} and not photo = {anchor.items[0].id}"
            said += ", without the anchor itself"
        found = yield from _do(f"Take the photos of {said}.", Filter(where, save_as="unit"))
        if not found.rows:
            day = sentences.said_date(anchor.items[0].taken)
            return _no(f"“{read.anchor}” is from {day}; there are no photos of {said}.")
        if read.target:
            found = yield from _do(
                f"Among them, every photo of “{read.target}”.",
                Search(read.target, within="unit", every=True, save_as="found"),
            )
            if _absent(found):
                return _no(f"None of the photos of {said} seems to show “{read.target}”.")
        return self._ordered(read, found)

    def _unit(self, unit: str, anchor: Result, shift: int = 0) -> str:
        """The condition for the unit of time around the anchor's photo, or `shift` of them away."""
        item = anchor.items[0]
        taken = item.taken or ""
        if shift:
            return sentences.shifted(taken, shift, unit)
        event = self.toolbox.event_of(item.row)
        if unit in _EVENT_UNITS and event is not None:
            return f"event = {event.id}"
        if unit == "month":
            return f"time = {taken[:7]}"
        if unit in ("week", "weekend") or unit in _EVENT_UNITS:
            first, last = sentences.around(taken, {"week": 3, "weekend": 1}.get(unit, 2))
            return f"time >= {first} and time <= {last}"
        return f"time = {taken[:10]}"

    def _around(self, read: Question) -> Calls:
        anchor = yield from self._anchor(read.anchor, read.anchor_order)
        if not anchor.items or anchor.items[0].taken is None:
            return _undated(anchor, read.anchor)
        sign = "<" if read.relation == "before" else ">"
        side: Literal["oldest", "newest"] = "newest" if read.relation == "before" else "oldest"
        where = f"time {sign} {anchor.items[0].id}"
        if read.unit:
            where += f" and not ({self._unit(read.unit, anchor)})"
        if read.target:
            return (yield from self._matching(read, where))
        limit = max(read.count, 1) if read.count or read.order else 0
        if not limit and not EXHAUSTIVE.search(read.text):
            return (yield from self._soon(read, anchor, where))
        if (
            read.order > 1
            or (read.order == 1 and read.relation == "before")
            or (read.order == -1 and read.relation == "after")
        ):
            found = yield from _do(f"Take all photos {read.relation} it.", Filter(where))
            return self._ordered(read, found)
        thought = f"Take the photos right {read.relation} it."
        return (yield from _do(thought, Filter(where, order=side, limit=limit)))

    def _soon(self, read: Question, anchor: Result, where: str) -> Calls:
        """ "Photos after the launch" are those of the next hours; if there are none, of the nearest day."""
        reach = -_SOON if read.relation == "before" else _SOON
        first, last = sentences.hours(anchor.items[0].taken or "", reach)
        near = f"{where} and time >= {first} and time <= {last}"
        found = yield from _do(f"Take the photos within {_SOON} hours {read.relation} it.", Filter(near))
        if found.rows:
            return found
        side: Literal["oldest", "newest"] = "newest" if read.relation == "before" else "oldest"
        nearest = yield from _do("There are none: find the nearest.", Filter(where, order=side, limit=1))
        if not nearest.items or nearest.items[0].taken is None:
            return nearest
        day = f"{where} and time = {nearest.items[0].taken[:10]}"
        return (yield from _do("Take all of its day.", Filter(day)))

    def _matching(self, read: Question, where: str) -> Calls:
        """Photos of the target on one side of the anchor; where none is sure, the likeliest one there."""
        yield from _do(
            f"Find every photo of “{read.target}”.", Search(read.target, every=True, save_as="target")
        )
        found = yield from _do(
            f"Of these, those {read.relation} the anchor.", Filter(where, within="target", save_as="side")
        )
        if not found.rows:
            side = yield from _do(
                f"None is sure: look at all photos {read.relation} it.", Filter(where, save_as="side")
            )
            if not side.rows:
                return _no(f"There is no photo {read.relation} it.")
            found = yield from _do("Take the likeliest of them.", Search(read.target, within="side", k=1))
            return found
        if read.count and not read.order:  # "the cat before it" is the nearest one
            read = replace(read, order=-1 if read.relation == "before" else 1)
        return self._ordered(read, found)

    def _between(self, read: Question) -> Calls:
        first = yield from self._anchor(read.anchor, 0)
        second = yield from self._anchor(read.other, 0)
        for found, phrase in ((first, read.anchor), (second, read.other)):
            if not found.items or found.items[0].taken is None:
                return _undated(found, phrase)
        a, b = sorted((first.items[0], second.items[0]), key=lambda item: item.taken or "")
        found = yield from _do(
            "Take the photos between the two.", Filter(f"time > {a.id} and time < {b.id}", save_as="between")
        )
        if read.target and found.rows:
            found = yield from _do(
                f"Among them, every photo of “{read.target}”.",
                Search(read.target, within="between", every=True, save_as="found"),
            )
            if _absent(found):
                return _no(f"None of the photos between the two seems to show “{read.target}”.")
        return self._ordered(read, found)

    def _anchor(self, phrase: str, order: int) -> Calls:
        """The anchor's photo as the first item; nothing if the album does not seem to have it."""
        if order:
            found = yield from _do(
                f"Find every photo of the anchor, “{phrase}”.", Search(phrase, every=True, save_as="anchors")
            )
            if _absent(found):
                return _no(f"The album does not seem to have “{phrase}”.")
            side: Literal["oldest", "newest"] = "oldest" if order > 0 else "newest"
            return (
                yield from _do("Take the one in question.", Filter(within="anchors", order=side, limit=1))
            )
        found = yield from _do(f"Find the anchor, “{phrase}”.", Search(phrase, k=_ANCHORS))
        return _no(f"The album does not seem to have “{phrase}”.") if _absent(found) else found

    def _ordered(self, read: Question, found: Result) -> Result:
        """The first, last or n-th of what was found, or all of it; with `occasion` all of that one day."""
        if not found.rows or not (read.order or read.count):
            return found
        timeline = self.toolbox.timeline
        rows = timeline.sort(np.array(found.rows, np.int64), newest_first=read.order < 0)
        rows = rows[timeline.dated[rows]][max(read.order, 1) - 1 :]
        if read.occasion and rows.size:
            days = timeline.days()
            rows = rows[days[rows] == days[rows[0]]]
        elif read.count or read.relation:
            rows = rows[: max(read.count, 1)]
        return replace(self.toolbox.result(timeline.sort(rows)), presence=found.presence)


def _do(thought: str, call: Call) -> Calls:
    observation = yield Act(thought, call)
    return observation.result


def _no(why: str) -> Result:
    """Nothing, with the sentence that says why."""
    return Result(note=why)


def _undated(anchor: Result, phrase: str) -> Result:
    """Nothing: the anchor was not found, or has no date from which to go on."""
    return anchor if not anchor.items else _no(f"The album does not know when “{phrase}” was.")


def _absent(found: Result) -> bool:
    return found.presence is not None and found.presence < PRESENT


def _counted(found: Result) -> str:
    return "1 photo" if len(found.rows) == 1 else f"{len(found.rows)} photos"
