"""What the fields of a `filter` condition mean for one album, and the groups of `list`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from gamer.index import MEMORY_SOURCES, Album, Event, RowArray, RowSet
from gamer.index.album.ids import EVENT_ID
from gamer.index.fields import FIELDS, Field

from ..bundle.gazetteer import Gazetteer
from ..questions.grouped import UNKNOWN
from ..search.album_facts import group_names
from .calls import ToolError
from .expression import Comparison, Mask
from .timeline import WEEKDAYS, Timeline, compared, moment


class Conditions:
    """`row_of`: from a photo's id to its row; raises ToolError."""

    def __init__(
        self, album: Album, gazetteer: Gazetteer, timeline: Timeline, row_of: Callable[[str], int]
    ) -> None:
        self._album, self._gazetteer, self._timeline, self._row_of = album, gazetteer, timeline, row_of

    def compare(self, comparison: Comparison) -> Mask:
        """bool [photos]: the photos that meet a comparison. Raises ToolError for a meaningless value."""
        field, operator, value = comparison.field, comparison.operator, comparison.value
        if field in ("time", "day", "month", "year"):
            return self._time(operator, value)
        if field == "hour":
            return self._number(operator, value, "hour", self._timeline.hours()) & self._timeline.dated
        if field == "people" and value.strip().isdecimal():
            return self._number(operator, value, "people", self._people)
        meanings: dict[str, Callable[[str], Mask]] = {
            "weekday": self._weekday,
            "place": self._place,
            "source": self._source,
            "event": self._event,
            "people": self._person,
            "photo": self._photo,
            **{detail.name: partial(self._detail, detail) for detail in FIELDS},
        }
        found = meanings[field](value)
        if operator not in ("=", "!="):
            raise ToolError(f"filter: {field} is compared with = or != for a name, else with a whole number")
        return found if operator == "=" else np.asarray(~found)

    def groups(self, by: str, rows: RowArray) -> list[str]:
        """For each row the group that it belongs to; UNKNOWN where the album does not say."""
        if by != "event":
            return group_names(self._album, self._gazetteer, by, rows.tolist())
        events = [self.event_of(row) for row in rows.tolist()]
        return [f"{event.id} {event.name}" if event else UNKNOWN for event in events]

    def event_of(self, row: int) -> Event | None:
        return self._events.get(row)

    def _time(self, operator: str, value: str) -> Mask:
        if value[:1].isdigit():
            return self._timeline.compare(operator, moment(value))
        return self._timeline.compare_place(operator, self._row_of(value))

    def _number(self, operator: str, value: str, field: str, column: RowArray) -> Mask:
        if not value.strip().isdecimal() or len(value) > 6:  # isdigit() is true of "²", int() is not
            raise ToolError(f"filter: {field} is compared with a whole number, not with {value[:40]!r}")
        return compared(operator, column, int(value), int(value))

    def _weekday(self, value: str) -> Mask:
        if value.lower() not in WEEKDAYS:
            raise ToolError(f"filter: no weekday {value[:40]!r}; choose one of: {', '.join(WEEKDAYS)}")
        return np.asarray(self._timeline.dated & (self._timeline.weekdays() == WEEKDAYS.index(value.lower())))

    def _place(self, value: str) -> Mask:
        """By the name that a place memory has, or by the boxes of the gazetteer's places of that name."""
        folded = value.casefold()
        named = [row for row, text in self._album.memories_of("place") if folded in text.casefold()]
        mask = RowSet.of(np.array(named, np.int64), len(self._album)).mask
        boxes = [box for place in self._gazetteer.lookup(value)[:8] for box in place.boxes]
        return np.asarray(mask | self._album.within(boxes).mask) if boxes else mask

    def _source(self, value: str) -> Mask:
        if value.lower() not in MEMORY_SOURCES:
            choices = ", ".join(MEMORY_SOURCES)
            raise ToolError(f"filter: no source {value[:40]!r}; choose one of: {choices}")
        rows = [row for row, _ in self._album.memories_of(value.lower())]
        return RowSet.of(np.array(rows, np.int64), len(self._album)).mask

    def _event(self, value: str) -> Mask:
        folded = value.casefold()
        rows = [
            row
            for row, event in self._events.items()
            if event.id == value or (not value.startswith("ev_") and folded in event.name.casefold())
        ]
        return RowSet.of(np.array(rows, np.int64), len(self._album)).mask

    def _person(self, value: str) -> Mask:
        folded = value.casefold()
        rows = [
            row
            for row, text in self._album.memories_of("people")
            if folded in (name.strip().casefold() for name in text.split(","))
        ]
        return RowSet.of(np.array(rows, np.int64), len(self._album)).mask

    def _photo(self, value: str) -> Mask:
        return RowSet.of(np.array([self._row_of(value)]), len(self._album)).mask

    def _detail(self, field: Field, value: str) -> Mask:
        folded = value.casefold()
        if field.choices and folded not in field.choices:
            raise ToolError(f"filter: no {field.name} {value[:40]!r}; choose {field.rule}")
        rows = [
            row
            for known, rows in self._album.rows_by_detail[field.name].items()
            if known.casefold() == folded
            for row in rows
        ]
        return RowSet.of(np.array(rows, np.int64), len(self._album)).mask

    @cached_property
    def _people(self) -> RowArray:
        """int64 [photos]: how many people an exporter named."""
        counts = np.zeros(len(self._album), np.int64)
        for row, text in self._album.memories_of("people"):
            counts[row] += sum(bool(name.strip()) for name in text.split(","))
        return counts

    @cached_property
    def _events(self) -> dict[int, Event]:
        """Row → its event; empty for an album without events.

        An id of another form, which a stranger's file may hold, could be read as more of a condition.
        """
        events = [event for event in self._album.events() if EVENT_ID.fullmatch(event.id)]
        rows = {photo_id: row for row, photo_id in enumerate(self._album.ids())} if events else {}
        return {rows[photo_id]: event for event in events for photo_id in event.photos}
