"""The mind without a model: compiles a question's anchor, order, day, set and count into tool calls.

Deterministic; each call costs one search or one filter. Its thoughts explain the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from .. import defaults
from ..questions.question import Question
from ..questions.reader import MAX_READ, read
from ..search.answer import photos
from ..search.facets import fact_without
from ..search.membership import PRESENT
from ..search.unpictured import not_searched, unpictured
from ..search.wishes_met import means_marks
from . import sentences
from .calls import Call, Filter, Search
from .loop import NOTHING, Act, Answer, End, Observation, Turns
from .results import Result
from .spans import Span
from .toolbox import Toolbox

Calls = Generator[Act, Observation, Result]  # a part of a plan; returns the result of its last call
_ANCHORS, _SOON = defaults.ANCHORS, defaults.SOON_HOURS
_EVENT_UNITS = ("trip", "event")
_WHERE = ("at", "from", "in", "near")


@dataclass(frozen=True)
class RulesMind:
    """`spans`: the times that a text names, and whether it names nothing else."""

    toolbox: Toolbox
    spans: Callable[[str], Span]
    name: str = "rules"

    def solve(self, question: str, end: End) -> Turns:
        has = self.toolbox.facet_rows
        language = self.toolbox.engine.language_of(question)
        asks = partial(
            read,
            question,
            lambda text: self.spans(text).is_time,
            has=has,
            language=language,
            is_place=lambda text: self.spans(text).is_place,
        )
        asked = asks()
        if asked.favourites and not means_marks(self.toolbox.engine, asked):
            asked = asks(has_favourites=False)
        counts = asked.counts or asked.each or (asked.asks == "count" and asked.about_photos)
        if end == "sentence" and not counts:
            return (yield from self._said(asked))
        found = yield from self._found(asked)
        if not found.rows:
            return replace(NOTHING, rows=found.nearest, sentence=found.note or NOTHING.sentence)
        if counts:  # as a search counts: copies once
            found = replace(found, rows=self.toolbox.distinct(found.rows))
        if asked.each:
            return sentences.grouped(self.toolbox, asked, found)
        if end == "sentence":
            return sentences.count(found)
        said = [photos(len(found.rows)), *([found.note] if asked.without and found.note else [])]
        return Answer(found.rows, ". ".join(said))

    def _said(self, asked: Question) -> Generator[Act, Observation, Answer]:
        """A sentence rests on the memories nearest to the question, and on what its relation leads to."""
        led = Result()
        if asked.other and not asked.relation:
            return (yield from self._earlier(asked))
        by_facts = asked.asks in ("when", "where", "who") or sentences.asks_for_days(asked)
        if by_facts and self._span(asked).only:
            return (yield from self._told(asked))
        if asked.relation or asked.order:
            led = yield from self._found(asked)
        # A time or place is that of what is asked about, whose other words would only draw others near.
        about = asked.target if asked.asks in ("when", "where") and asked.target else asked.text
        nearest = yield from _do(
            "Read the memories nearest to the question.", Search(about[:MAX_READ], k=sentences.EVIDENCE)
        )
        return sentences.answer(self.toolbox, asked, led, nearest)

    def _told(self, asked: Question) -> Generator[Act, Observation, Answer]:
        """Of a question that names only when or where, what all photos of it say: "when was I in Italy"."""
        found = yield from self._found(asked)
        if not found.rows:
            return replace(NOTHING, sentence=found.note or NOTHING.sentence)
        if not asked.order and asked.asks == "where":
            return sentences.places(self.toolbox, found)
        if sentences.asks_for_days(asked) or (asked.asks == "when" and not asked.order):
            return sentences.days(self.toolbox, asked, found)
        return sentences.answer(self.toolbox, asked, found, found)

    def _earlier(self, asked: Question) -> Generator[Act, Observation, Answer]:
        """Which of two things was first."""
        first = yield from self._anchor(asked.anchor, 0)
        second = yield from self._anchor(asked.other, 0)
        return sentences.earlier(asked, first, second)

    def _found(self, asked: Question) -> Calls:
        """The set of photos that a question asks for."""
        plans = {"": self._plain, "same": self._same, "between": self._between}
        return (yield from plans.get(asked.relation, self._around)(asked))

    def _plain(self, asked: Question) -> Calls:
        """A question without an anchor: a time, a place or a fact alone is a filter, all else a search."""
        span = self._span(asked)
        if not asked.target:
            found = yield from _do("The question names nothing that photos show: take all.", Filter())
        elif span.only and span.where:
            found = yield from _do(
                "The question names only when or where: take all photos of it.", Filter(span.where)
            )
            if not found.rows:
                return _no(sentences.sentence(span.none))
        else:
            found = yield from _do(
                f"Find every photo of “{asked.target}”.", Search(asked.target, every=True, save_as="found")
            )
            if _absent(found):
                absent = self._unsearched(asked.target)
                absent = absent or f"the album does not seem to have “{asked.target}”"
                unsure = () if span.none or asked.is_limited else found.rows[: sentences.NEAREST]
                return _no(sentences.sentence(span.none or absent), unsure)
        note = ""
        if asked.without and found.rows:
            found = yield from self._without(asked, found)
            note = found.note
        found = self._ordered(asked, found)
        return replace(found, note=found.note or note)

    def _span(self, asked: Question) -> Span:
        """Of the target, which has lost the "from" that makes a place of "Orlando"."""
        span = self.spans(asked.target)
        before = asked.text.partition(asked.target or asked.text)[0].casefold().split()[-1:]
        if span.where or not before or before[0] not in _WHERE:
            return span
        return self.spans(f"{before[0]} {asked.target}")

    def _without(self, asked: Question, found: Result) -> Calls:
        notes: list[str] = []
        for thing in asked.without:
            if fact := fact_without(self.toolbox.engine.facts, thing):
                found = self._only(found, self.toolbox.lacking(fact, found.rows))
                continue
            shown = yield from _do(
                f"Find every photo of “{thing}”, to leave it out.", Search(thing, every=True)
            )
            if _absent(shown):
                if why := self._unsearched(thing):
                    notes.append(f"Nothing is left out: {why}.")
                continue
            unwanted = set(shown.rows)
            found = self._only(found, tuple(row for row in found.rows if row not in unwanted))
        return replace(found, note=" ".join(notes))

    def _unsearched(self, phrase: str) -> str:
        """Why pictures cannot be searched for a phrase; "" if they can."""
        engine = self.toolbox.engine
        words = () if engine.is_glossed(phrase) else unpictured(phrase, engine.models)
        return str(not_searched(words, engine.models)) if words else ""

    def _only(self, found: Result, rows: tuple[int, ...]) -> Result:
        return replace(self.toolbox.result(np.array(rows, np.int64)), presence=found.presence)

    def _same(self, asked: Question) -> Calls:
        anchor = yield from self._anchor(asked.anchor, asked.anchor_order)
        if not anchor.items or anchor.items[0].taken is None:
            return _undated(anchor, asked.anchor)
        where, said = self._unit(asked.unit, anchor, asked.shift), f"the same {asked.unit}"
        if asked.shift:
            said = f"the {asked.unit} {abs(asked.shift)} {'after' if asked.shift > 0 else 'before'}"
        if asked.side:
            where = f"{where} and time {'<' if asked.side == 'earlier' else '>'} {anchor.items[0].id}"
            said += f", {asked.side} than the anchor"
        elif not asked.with_anchor:
            where = f"{where} and not photo = {anchor.items[0].id}"
            said += ", without the anchor itself"
        found = yield from _do(f"Take the photos of {said}.", Filter(where, save_as="unit"))
        if not found.rows:
            day = sentences.said_date(anchor.items[0].taken)
            return _no(f"“{asked.anchor}” is from {day}; there are no photos of {said}.")
        if asked.target:
            found = yield from _do(
                f"Among them, every photo of “{asked.target}”.",
                Search(asked.target, within="unit", every=True, save_as="found"),
            )
            if _absent(found):
                return _no(f"None of the photos of {said} seems to show “{asked.target}”.")
        return self._ordered(asked, found)

    def _unit(self, unit: str, anchor: Result, shift: int = 0) -> str:
        """The condition for the unit of time around the anchor's photo, or `shift` of them away."""
        item = anchor.items[0]
        taken = item.taken or ""
        if shift:
            return sentences.shifted(taken, shift, unit)
        event = self.toolbox.event_of(item.row)
        if unit in _EVENT_UNITS and event is not None:
            return f"event = {event.id}"
        if unit in ("month", "year"):
            return f"time = {taken[:7] if unit == 'month' else taken[:4]}"
        if unit in ("week", "weekend") or unit in _EVENT_UNITS:
            first, last = sentences.around(taken, {"week": 3, "weekend": 1}.get(unit, 2))
            return f"time >= {first} and time <= {last}"
        return f"time = {taken[:10]}"

    def _around(self, asked: Question) -> Calls:
        anchor = yield from self._anchor(asked.anchor, asked.anchor_order)
        if not anchor.items or anchor.items[0].taken is None:
            return _undated(anchor, asked.anchor)
        sign = "<" if asked.relation == "before" else ">"
        side: Literal["oldest", "newest"] = "newest" if asked.relation == "before" else "oldest"
        where = f"time {sign} {anchor.items[0].id}"
        if asked.unit:
            where += f" and not ({self._unit(asked.unit, anchor)})"
        if asked.target:
            return (yield from self._matching(asked, where))
        limit = max(asked.number, 1) if asked.number or asked.order else 0
        if not limit and not asked.exhaustive:
            return (yield from self._soon(asked, anchor, where))
        if (
            abs(asked.order) > 1
            or (asked.order == 1 and asked.relation == "before")
            or (asked.order == -1 and asked.relation == "after")
        ):
            found = yield from _do(f"Take all photos {asked.relation} it.", Filter(where))
            return self._ordered(asked, found)
        thought = f"Take the photos right {asked.relation} it."
        return (yield from _do(thought, Filter(where, order=side, limit=limit)))

    def _soon(self, asked: Question, anchor: Result, where: str) -> Calls:
        """ "Photos after the launch" are those of the next hours; if there are none, of the nearest day."""
        reach = -_SOON if asked.relation == "before" else _SOON
        first, last = sentences.hours(anchor.items[0].taken or "", reach)
        near = f"{where} and time >= {first} and time <= {last}"
        found = yield from _do(f"Take the photos within {_SOON} hours {asked.relation} it.", Filter(near))
        if found.rows:
            return found
        side: Literal["oldest", "newest"] = "newest" if asked.relation == "before" else "oldest"
        nearest = yield from _do("There are none: find the nearest.", Filter(where, order=side, limit=1))
        if not nearest.items or nearest.items[0].taken is None:
            return nearest
        day = f"{where} and time = {nearest.items[0].taken[:10]}"
        return (yield from _do("Take all of its day.", Filter(day)))

    def _matching(self, asked: Question, where: str) -> Calls:
        """Photos of the target on one side of the anchor; where none is sure, the likeliest one there."""
        yield from _do(
            f"Find every photo of “{asked.target}”.", Search(asked.target, every=True, save_as="target")
        )
        found = yield from _do(
            f"Of these, those {asked.relation} the anchor.", Filter(where, within="target", save_as="side")
        )
        if not found.rows:
            side = yield from _do(
                f"None is sure: look at all photos {asked.relation} it.", Filter(where, save_as="side")
            )
            if not side.rows:
                return _no(f"There is no photo {asked.relation} it.")
            found = yield from _do("Take the likeliest of them.", Search(asked.target, within="side", k=1))
            return found
        if asked.number and not asked.order:  # "the cat before it" is the nearest one
            asked = replace(asked, order=-1 if asked.relation == "before" else 1)
        return self._ordered(asked, found)

    def _between(self, asked: Question) -> Calls:
        first = yield from self._anchor(asked.anchor, 0)
        second = yield from self._anchor(asked.other, 0)
        for found, phrase in ((first, asked.anchor), (second, asked.other)):
            if not found.items or found.items[0].taken is None:
                return _undated(found, phrase)
        a, b = sorted((first.items[0], second.items[0]), key=lambda item: item.taken or "")
        found = yield from _do(
            "Take the photos between the two.", Filter(f"time > {a.id} and time < {b.id}", save_as="between")
        )
        if asked.target and found.rows:
            found = yield from _do(
                f"Among them, every photo of “{asked.target}”.",
                Search(asked.target, within="between", every=True, save_as="found"),
            )
            if _absent(found):
                return _no(f"None of the photos between the two seems to show “{asked.target}”.")
        return self._ordered(asked, found)

    def _anchor(self, phrase: str, order: int) -> Calls:
        """The anchor's photo as the first item; nothing if the album does not seem to have it."""
        if order:
            found = yield from _do(
                f"Find every photo of the anchor, “{phrase}”.", Search(phrase, every=True, save_as="anchors")
            )
            if _absent(found):
                return _no(f"The album does not seem to have “{phrase}”.")
            side: Literal["oldest", "newest"] = "oldest" if order > 0 else "newest"
            one = Filter(within="anchors", order=side, limit=abs(order))
            found = yield from _do("Take the one in question.", one)
            return self._only(found, found.rows[abs(order) - 1 : abs(order)]) if abs(order) > 1 else found
        found = yield from _do(f"Find the anchor, “{phrase}”.", Search(phrase, k=_ANCHORS))
        return _no(f"The album does not seem to have “{phrase}”.") if _absent(found) else found

    def _ordered(self, asked: Question, found: Result) -> Result:
        """The first, last or n-th of what was found, or all of it; with `occasion` all of that one day."""
        if asked.facets:
            found = self._only(found, self.toolbox.having(asked.facets, found.rows))
            if lacking := [one for one in self.toolbox.facet_rows.named(asked.facets) if one.is_lacking]:
                return _no(sentences.sentence(str(lacking[0])))
        if asked.favourites and found.rows:
            marked = self.toolbox.engine.facts.favourites.mask
            found = self._only(found, tuple(row for row in found.rows if marked[row]))
            if not found.rows:
                return _no("None of these is marked as a favourite.")
        if not found.rows or not (asked.order or asked.number):
            return found
        timeline = self.toolbox.timeline
        rows = timeline.sort(np.array(found.rows, np.int64), newest_first=asked.order < 0)
        rows = rows[timeline.dated[rows]][max(abs(asked.order), 1) - 1 :]
        if asked.occasion and rows.size:
            days = timeline.days()
            rows = rows[days[rows] == days[rows[0]]]
        elif asked.number or asked.relation:
            rows = rows[: max(asked.number, 1)]
        return replace(self.toolbox.result(timeline.sort(rows)), presence=found.presence)


def _do(thought: str, call: Call) -> Calls:
    observation = yield Act(thought, call)
    return observation.result


def _no(why: str, nearest: tuple[int, ...] = ()) -> Result:
    """Nothing, with the sentence that says why, and what is nearest."""
    return Result(note=why, nearest=nearest)


def _undated(anchor: Result, phrase: str) -> Result:
    """Nothing: the anchor was not found, or has no date from which to go on."""
    return anchor if not anchor.items else _no(f"The album does not know when “{phrase}” was.")


def _absent(found: Result) -> bool:
    return found.presence is not None and found.presence < PRESENT
