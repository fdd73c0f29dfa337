"""Runs the tools over one snapshot of an album: each call reads, none changes anything.

Named subsets last as long as the toolbox, which is one task. What a tool returns holds texts of strangers
(memories, text in pictures, file names): they are data, quoted in previews, and no tool follows them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np

from gamer.index import Event, FloatArray, Photo, RowArray, RowSet, image_id, top
from gamer.index.album.ids import EVENT_ID
from gamer.index.album.leaving import open_leaving, partly_withheld
from gamer.index.entities.words import query_terms

from ..events.build import segment_album
from ..indexing.encode import Encoder
from ..questions.facets import Facet
from ..search import copies, facets, membership
from ..search.answer import Answer
from ..search.engine import Engine
from ..search.hits import shown_memory
from ..search.options import FOR_SETS
from ..wall_time import iso
from . import calls
from .calls import SHOWN, VIEWED, VIEWED_OF_SET, ToolError
from .conditions import Conditions
from .expression import evaluate, parse_condition
from .results import Item, Occasion, Result, one_line
from .timeline import Timeline
from .viewers import Viewer, quoted, read_what_is_known

MAX_SUBSETS = 50
MAX_VIEW = 8_000  # characters of a viewer's answer
EVENTS = 3  # of a search, and of grep
_ALL = "all"  # the subset that is always there
_LIKE_WEIGHTS = {"image": 0.6, "text": 0.4}  # of a photo's likeness to examples, by channel
RRF = 60  # of reciprocal rank fusion, where a search has both a text and examples


class Toolbox:
    """The tools over one engine's album. `now`: wall time, from which "last spring" is counted.

    `viewer`: what answers `view`; without one, what is known of the photos. `leaving`: who asks runs
    elsewhere; the tools then work over an album in which what must stay on the device does not exist.
    """

    def __init__(
        self,
        engine: Engine,
        now: datetime | None = None,
        viewer: Viewer | None = None,
        leaving: bool = False,
    ) -> None:
        self.leaving, self._unseen = leaving, frozenset[str]()
        if leaving:
            models, self._unseen = engine.models, partly_withheld(engine.album)
            view = open_leaving(engine.album, Encoder(models), lambda path: segment_album(path, models))
            engine = Engine(models, view, engine.ranking)
        self.engine, self.album, self._now = engine, engine.album, now
        self._everything = np.arange(len(self.album))
        self._viewer = viewer or read_what_is_known
        self.subsets: dict[str, RowArray] = {}
        self._seen: dict[str, int] = {}  # the rows of the short ids that a tool has shown
        self.timeline = Timeline(self.album.times())
        self.facet_rows = facets.FacetRows(self.album, engine.facts)
        self._conditions = Conditions(self.album, engine.models.gazetteer, self.timeline, self.row_of)

    def call(self, call: calls.Call) -> Result:
        """Runs one call. Raises ToolError, or AlbumError for a damaged album."""
        run: Callable[[Any], Result] = getattr(self, f"_{calls.name_of(call)}")
        result = run(call)
        name = getattr(call, "save_as", "")
        return self._saved(result, name) if name else result

    def row_of(self, name: str) -> int:
        """The row of a photo named by its short id or by its own. Raises ToolError."""
        if name in self._seen:  # reading all ids of a large album takes as long as a search
            return self._seen[name]
        if name in self._rows:
            return self._rows[name]
        raise ToolError(f"no photo {name[:60]!r}: give an id that a tool has shown")

    def item(self, row: int, score: float | None = None) -> Item:
        return self.items([row], [score])[0]

    def items(self, rows: Sequence[int] | RowArray, scores: Sequence[float | None] = ()) -> tuple[Item, ...]:
        photos = self.album.photos(rows)
        known = scores or [None] * len(photos)
        items = tuple(
            Item(image_id(photo.id), int(row), iso(photo.wall), shown_memory(photo), score)
            for photo, row, score in zip(photos, rows, known, strict=True)
        )
        self._seen.update((item.id, item.row) for item in items)
        return items

    # The tools, by their names in calls.TOOLS.

    def _search(self, call: calls.Search) -> Result:
        if not call.text.strip() and not call.like:
            raise ToolError("search: give a text, ids of examples, or both")
        within, rankings, presence = self._within(call.within), [], None
        if call.text.strip():
            answer = self._answer(call.text, membership.CANDIDATES if call.every else call.k, within)
            hits = membership.members(self.album, answer, self.engine.ranking) if call.every else answer.hits
            rankings.append([(hit.row, hit.probability) for hit in hits])
            presence = membership.presence(answer, self.engine.ranking, len(self.engine.album))
        if call.like:
            rankings.append(self._by_likeness([self.row_of(name) for name in call.like], call.k, within))
        ranked = rankings[0]
        if len(rankings) > 1:
            fits = {row for row, _ in ranked}
            fused = _fused(rankings)
            ranked = [(row, s) for row, s in fused if row in fits] if call.every else fused[: call.k]
        rows = [row for row, _ in ranked]
        items = self.items(rows[:SHOWN], [score for _, score in ranked[:SHOWN]])
        doubt = presence is not None and presence < membership.PRESENT
        note = f"probably not in the album ({presence:.0%} that it is); the nearest:" if doubt else ""
        events: tuple[Occasion, ...] = ()
        if call.text.strip() and self.album.events():
            events = self._events(call.text, within, self.engine.models.text.encode_query(call.text))
        return Result(tuple(rows), items, note, presence=presence, events=events)

    def _answer(self, text: str, k: int, within: RowSet) -> Answer:
        options = replace(FOR_SETS, within=within, timed=False)
        return self.engine.search(text, k, now=self._now, options=options)

    def _by_likeness(self, examples: list[int], k: int, within: RowSet) -> list[tuple[int, float]]:
        total = np.zeros(len(self.album), np.float32)
        known = False
        for channel, weight in _LIKE_WEIGHTS.items():
            mean = (
                self.album.mean_of(channel, np.array(examples)) if channel in self.album.channels() else None
            )
            if mean is not None:
                scores = self.album.scores(channel, mean)
                total += np.float32(weight) * np.where(np.isfinite(scores), scores, np.float32(0.0))
                known = True
        if not known:
            raise ToolError("search: the examples have no vectors; index their pictures first")
        total[examples] = -np.inf
        rows = within.keep(top(total, len(total)))
        return [(int(row), float(total[row])) for row in rows[:k] if np.isfinite(total[row])]

    def _grep(self, call: calls.Grep) -> Result:
        phrase = call.words.strip()
        quoted = len(phrase) > 2 and phrase[0] == phrase[-1] == '"'
        words = phrase.strip('"')
        if not words.strip():
            raise ToolError("grep: give words, or a phrase in quotes")
        within, holds = self._within(call.within), _phrase(words).search if quoted else None
        found = self.album.search_text(words, call.k if holds is None else len(self.album), within.rows)
        rows = [int(row) for row in found.rows]
        if holds is not None:
            rows = [row for row in rows if any(holds(m.text) for m in self.album.photo(row).memories)]
            rows = rows[: call.k]
        note = "" if rows or query_terms(words) else "grep: only common words; give a rarer one"
        events = self._events(words, within, None, holds)
        return Result(tuple(rows), self.items(rows[:SHOWN]), note, events=events)

    def _events(
        self,
        text: str,
        within: RowSet,
        vector: FloatArray | None,
        holds: Callable[[str], object] | None = None,
    ) -> tuple[Occasion, ...]:
        """The EVENTS with a photo `within` that fit a text best, by its words and, if given, its vector.

        `holds`: what their name, summary or place must.
        """
        found = [event for event, _ in self.album.search_events(text, vector, len(self.album.events()))]
        if holds is not None:
            found = [
                event for event in found if any(map(holds, (event.name, event.summary, event.place or "")))
            ]
        if len(within.rows) < len(self.album):
            found = [one for one in found if any(within.mask[self.row_of(photo)] for photo in one.photos)]
        return tuple(map(Occasion.of, found[:EVENTS]))

    def _filter(self, call: calls.Filter) -> Result:
        within = self._within(call.within)
        if call.where.strip():
            within = within.among(RowSet(evaluate(parse_condition(call.where), self._conditions.compare)))
        rows = within.rows
        rows = self.timeline.sort(rows, newest_first=call.order == "newest")
        return self.result(rows[: call.limit] if call.limit else rows)

    def distinct(self, rows: Sequence[int]) -> tuple[int, ...]:
        """The rows without copies of one before."""
        return tuple(dict.fromkeys(copies.first_of_each(self.album, rows)))

    def having(self, named: Sequence[Facet], rows: Sequence[int]) -> tuple[int, ...]:
        """The rows with all of the facets."""
        masks = [found.mask for found in self.facet_rows.named(named).values()]
        return tuple(row for row in rows if all(mask[row] for mask in masks))

    def lacking(self, fact: str, rows: Sequence[int]) -> tuple[int, ...]:
        """The rows of which a fact is not known: no date, no place, no text, no flash."""
        known = self.engine.facts.knowing(fact).mask
        return tuple(row for row in rows if not known[row])

    def groups(self, by: str, rows: Sequence[int]) -> list[str]:
        """For each row its day, month, year, place or event; UNKNOWN where the album does not say."""
        return self._conditions.groups(by, np.asarray(rows, np.int64))

    def result(self, rows: RowArray) -> Result:
        return Result(tuple(int(row) for row in rows), self.items(rows[:SHOWN]))

    def _list(self, call: calls.List) -> Result:
        rows = self.timeline.sort(self._within(call.within).rows)
        groups: dict[str, int] = {}
        for name in self._conditions.groups(call.by, rows):
            groups[name] = groups.get(name, 0) + 1
        quote = '"' if call.by in ("place", "event") else ""  # texts of strangers, unlike dates
        shown = [f"{quote}{one_line(name, 80)}{quote}: {count}" for name, count in groups.items()]
        return Result(note=_lines(shown, SHOWN) or "nothing to list", data=groups)

    def _metadata(self, call: calls.Metadata) -> Result:
        rows = [self.row_of(name) for name in call.ids]
        records = [self._record(row, photo) for row, photo in zip(rows, self.album.photos(rows), strict=True)]
        return Result(tuple(rows), (), _lines([_shown(record) for record in records], SHOWN), data=records)

    def _record(self, row: int, photo: Photo) -> dict[str, Any]:
        places = photo.told("place")
        event = self.event_of(row)
        return {
            "id": image_id(photo.id),
            "taken": iso(photo.wall),
            "zone": photo.tz_source,
            "lat": photo.lat,
            "lon": photo.lon,
            "place": one_line(places[0], 100) if places else None,
            "event": event.id if event else None,
            "event_name": one_line(event.name, 80) if event else None,
        }

    def _get(self, call: calls.Get) -> Result:
        if EVENT_ID.fullmatch(call.id) and call.id not in self._rows:
            return self._event(call.id)
        row = self.row_of(call.id)
        photo = self.album.photo(row)
        record = self._record(row, photo)
        memories = [{"source": m.source, "text": m.text} for m in photo.memories]
        note = _lines([quoted(m, 1_000) for m in photo.memories], SHOWN)
        return Result((row,), self.items([row]), note, data=record | {"memories": memories})

    def _event(self, name: str) -> Result:
        event = next((one for one in self.album.events() if one.id == name), None)
        if event is None:
            raise ToolError(f"no event {name!r}: give an id that a tool has shown")
        rows = [self.row_of(photo) for photo in event.photos]
        told = Occasion.of(event)
        return Result(tuple(rows), self.items(rows[:SHOWN]), told.line(1_000), data=asdict(told))

    def _view(self, call: calls.View) -> Result:
        if bool(call.ids) == bool(call.within):
            raise ToolError("view: give either ids or the name of a subset")
        most = VIEWED if call.ids else VIEWED_OF_SET
        rows = [self.row_of(name) for name in call.ids] or [int(row) for row in self.subset(call.within)]
        if len(rows) > most:
            raise ToolError(f"view: {len(rows)} photos; look at {most} at a time")
        answer = self._viewer(call.prompt, self._to_view(rows))[:MAX_VIEW]
        return Result(tuple(rows), self.items(rows), answer, data=answer)

    def _to_view(self, rows: list[int]) -> list[Photo]:
        """The photos for the viewer; where answers leave, a picture with a withheld memory has no file."""
        photos = self.album.photos(rows)
        return [replace(photo, path=None) if photo.id in self._unseen else photo for photo in photos]

    def _combine(self, call: calls.Combine) -> Result:
        if not call.save_as:
            raise ToolError("combine: give the new subset a name (save_as)")
        first, second = self.subset(call.first), self.subset(call.second)
        inside = np.isin(first, second)
        if call.how == "or":
            rows = np.concatenate([first, second[~np.isin(second, first)]])
        else:
            rows = first[inside if call.how == "and" else ~inside]
        return self.result(rows)

    def _web_search(self, call: calls.WebSearch) -> Result:
        raise ToolError("web_search: off; nothing leaves the device. Answer from the album")

    # Subsets and events.

    def subset(self, name: str) -> RowArray:
        """The rows of a subset, in the order of the call that made it. Raises ToolError."""
        if name == _ALL:
            return self._everything
        if name not in self.subsets:
            known = ", ".join([_ALL, *self.subsets])
            raise ToolError(f"no subset {name[:40]!r}; there are: {known}")
        return self.subsets[name]

    def _within(self, name: str) -> RowSet:
        if not name or name == _ALL:
            return RowSet.of(self._everything, len(self.album))
        return RowSet.of(self.subset(name), len(self.album))

    def _saved(self, result: Result, name: str) -> Result:
        if name == _ALL:
            raise ToolError(f"the name {_ALL} is taken by the whole album; choose another")
        if name not in self.subsets and len(self.subsets) >= MAX_SUBSETS:
            raise ToolError(f"{MAX_SUBSETS} subsets are kept already; use one of their names")
        self.subsets[name] = np.array(result.rows, np.int64)
        return replace(result, saved_as=name)

    def event_of(self, row: int) -> Event | None:
        return self._conditions.event_of(row)

    @cached_property
    def _rows(self) -> dict[str, int]:
        shown = [(photo_id, row) for row, photo_id in enumerate(self.album.ids())]
        # A short id wins: a file may be named as another photo's short id is.
        return dict(shown) | {image_id(photo_id): row for photo_id, row in shown}


def _shown(record: dict[str, Any]) -> str:
    """A record of `metadata` in one line, with names, which strangers may have given, in quotes."""
    quoted = ("place", "event_name")
    return ", ".join(
        f'{key} "{value}"' if key in quoted else f"{key} {value}"
        for key, value in record.items()
        if value is not None
    )


def _lines(lines: list[str], most: int) -> str:
    more = [f"and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join(lines[:most] + more)


def _phrase(words: str) -> re.Pattern[str]:
    """Whole words in this order, whatever their case and the space between them."""
    return re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, words.split())) + r"(?!\w)", re.IGNORECASE)


def _fused(rankings: list[list[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Reciprocal rank fusion: best first."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, (row, _) in enumerate(ranking):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF + rank)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))
