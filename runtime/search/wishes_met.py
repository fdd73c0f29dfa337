"""A search as a person means it: around the five stages, what resemblance cannot say.

What a query wants left out, favourites, "how many", and "after the wedding" are read by questions/reader.py.
A doubtful answer is tried again with the query's spelling mended (spelling.py). Each further search stands in
the trace.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Protocol

import numpy as np

from gamer.index import Album, RowSet

from ..bundle.manifest import Ranking
from ..cues.parse import Cues
from ..cues.places import PlaceCue
from ..cues.time_ranges import TimeCue
from ..defaults import SET_SEARCHES
from ..models.models import Models
from ..questions import grouped
from ..questions.facets import fact_of
from ..questions.question import Question
from ..questions.reader import read
from ..questions.request import gone_to
from ..questions.words import words_of
from . import copies, facets, membership, spelling
from .album_facts import AlbumFacts, group_names
from .answer import Answer
from .confidence import calibrated
from .options import DEFAULT, FOR_SETS, MAX_K, SILENT, Observer, SearchOptions
from .query_facts import is_time_or_place, query_facts, says_nothing_else
from .remarks import Remark
from .stages import refine
from .state import Request
from .unpictured import not_searched, unpictured

EMPTY = Remark("empty")


class Engine(Protocol):
    """What answers the single searches: gamer.runtime.search.engine.Engine."""

    models: Models
    album: Album
    facts: AlbumFacts
    ranking: Ranking

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        refined_by: str = "fast",
        mode: str = "fused",
        now: datetime | None = None,
        options: SearchOptions = DEFAULT,
        observer: Observer = SILENT,
    ) -> Answer: ...

    def cues(self, text: str, now: datetime | None = None) -> Cues: ...

    def is_glossed(self, text: str, language: str = "") -> bool: ...

    def language_of(self, text: str) -> str: ...

    def cues_with_events(self, text: str, now: datetime | None = None, language: str = "") -> Cues: ...


def _noted(answer: Answer, remark: Remark | None) -> Answer:
    return replace(answer, note=None if remark is None else str(remark), remark=remark)


def answer(engine: Engine, request: Request) -> Answer:
    """Raises as Engine.search does."""
    return _Search(engine, request).answer()


def means_marks(engine: Engine, question: Question) -> bool:
    """Whether "my favourite photos" are those that are marked; without any, a favourite is only a word."""
    if len(engine.facts.favourites):
        return True
    return question.bare and not engine.album.words("favourite").bm25.any()


class _Search:
    def __init__(self, engine: Engine, request: Request) -> None:
        self._engine, self._request, self._now = engine, request, request.now
        self._read_before: dict[str, Cues] = {}
        options = request.options
        self._language = language = engine.language_of(request.query) if options.gloss else options.language
        self._facets = facets.FacetRows(engine.album, engine.facts)
        asks = partial(
            read,
            request.query,
            lambda text: is_time_or_place(self._cues(text)),
            is_cue=self._is_excluded,
            has=self._facets,
            language=language,
            is_place=lambda text: is_time_or_place(self._cues(text)) and not self._cues(text).times,
        )
        self._question: Question = asks()
        if self._question.favourites and not means_marks(engine, self._question):
            self._question = asks(has_favourites=False)
        self._remarks: list[Remark] = []  # for the trace

    def answer(self) -> Answer:
        question, most = self._question, self._request.k
        options = replace(self._request.options, wishes=False)
        within = self._within(options.within)
        ordered = question.is_ordered and self._orders_photos()
        counts = question.counts or bool(question.each) or ordered
        text = self._of_target() if question.each or ordered else self._of_query()
        language = "" if refine.says_nothing(text) else self._language  # "photos" is English
        asked = replace(options, within=within, then=self._printed(text), language=language)
        if counts:
            asked = replace(asked, adapter=FOR_SETS.adapter, earlier=FOR_SETS.earlier)
        # Copies make room for the photos behind them.
        number = 2 * most + 5
        answer = self._mended(text, self._search(text, number, asked), number, asked)
        meant = self._meant(answer, asked) if counts else []
        counted = [] if ordered else self._distinct(meant)
        answer = self._by_facts(text, calibrated(answer), asked)
        answer, count = self._unpictured(answer, len(counted) if counts and not ordered else None)
        answer = self._lacking(answer)
        literal = self._is_literal() and answer.hits and not answer.remark
        if literal and refine.says_nothing(refine.fast(answer.trace.refined)):
            # They are there, and nothing else was asked but times and places, which have been judged.
            hits = answer.hits
            if not (answer.trace.cues or answer.trace.cube_lines):
                hits = tuple(replace(hit, probability=1.0) for hit in hits)
            answer = replace(answer, hits=hits, presence=1.0)
        if question.each and counted:
            answer, count = self._grouped(text, answer, counted, asked)
        in_order = self._in_order(text, answer, meant, asked) if ordered and meant else None
        answer = in_order or answer
        remarks = (*answer.trace.remarks, *self._remarks)
        cues = tuple(map(str, remarks))
        trace = replace(answer.trace, query=self._request.query, cues=cues, remarks=remarks)
        hits = copies.together(self._engine.album, answer.hits)
        hits = hits[abs(question.order) - 1 :][: question.number or most] if in_order else hits[:most]
        answer = replace(answer, hits=hits, trace=trace, count=count)
        return answer if len(self._engine.album) else _noted(answer, EMPTY)

    def _search(self, text: str, k: int, options: SearchOptions) -> Answer:
        return self._engine.search(
            text,
            min(k, MAX_K),
            refined_by=self._request.refined_by,
            mode=self._request.mode,
            now=self._now,
            options=options,
            observer=self._request.observer,
        )

    def _mended(self, text: str, answer: Answer, k: int, options: SearchOptions) -> Answer:
        """`answer`, or that to the query with its spelling mended, if only that one is found."""
        if not answer.doubtful or options.vector is not None:
            return answer
        english = not (options.gloss and self._engine.is_glossed(text, options.language))
        mended = spelling.mended(text, self._engine.album, self._engine.models, english)
        if mended == text:
            return answer
        again = self._search(mended, k, options)
        if again.doubtful:
            return answer
        self._remarks.append(Remark("spelt", mended))
        return again

    def _unpictured(self, answer: Answer, count: int | None) -> tuple[Answer, int | None]:
        """A doubtful answer, or a count of 0, with a note of the words that the image encoder does not know.

        Then no photo is known not to show them, so that there is no count of 0.
        """
        refined = answer.trace.refined
        sure = not answer.doubtful and count != 0
        if sure or answer.remark or refine.says_nothing(refined):
            return answer, count
        if self._engine.is_glossed(self._request.query):
            return answer, count
        words = unpictured(refined, self._engine.models)
        if not words:
            return answer, count
        return _noted(answer, not_searched(words, self._engine.models)), count or None

    def _by_facts(self, text: str, answer: Answer, options: SearchOptions) -> Answer:
        """`answer`, certain where a time or place alone is asked for, doubtful where no photo fits it."""
        cues, within = self._cues(text), self._all_of(options.within)
        facts = query_facts(cues, self._engine.album, within, options.then)
        if facts is None:
            return answer
        note = None if len(facts.inside) else facts.none
        if facts.only and not (note and self._may_be_told(answer, cues)):
            judged = replace(answer, hits=facts.judged(answer.hits), presence=0.0 if note else 1.0)
            return _noted(judged, note)
        answer = self._elsewhere(text, answer)
        if cues.times and not len(facts.times) and answer.hits and answer.hits[0].taken_at is not None:
            answer = self._lowered(answer, max(cue.confidence for cue in cues.times))
        return _noted(answer, note if answer.doubtful else None)

    def _may_be_told(self, answer: Answer, cues: Cues) -> bool:
        """Whether a hit's memory names the place, or the album has no date or position that would say it."""
        facts = self._engine.facts
        if (cues.times and not facts.dated.any()) or (cues.places and not facts.placed.any()):
            return True
        told = " ".join(
            memory.text.casefold()
            for photo in self._engine.album.photos([hit.row for hit in answer.hits])
            for memory in photo.memories
        )
        named = [place for place in cues.places if place.photos == 0 or self._question.facets]
        return any(place.name.casefold() in told for place in named)

    def _lacking(self, answer: Answer) -> Answer:
        """`answer`, none where the album has no photo of a kind that is asked for."""
        none = next((one for one in self._remarks if one.is_lacking), None)
        return answer if none is None else _noted(replace(answer, hits=(), presence=0.0), none)

    def _lowered(self, answer: Answer, confidence: float) -> Answer:
        """`answer`, less likely by the confidence of a cue that it does not fit."""
        left = 1 - confidence
        hits = tuple(replace(hit, probability=round(hit.probability * left, 4)) for hit in answer.hits)
        return replace(answer, hits=hits, presence=round(answer.presence * left, 4))

    def _elsewhere(self, text: str, answer: Answer) -> Answer:
        """`answer`, less likely if the query names a place where the album has no photo.

        The best photo then lies elsewhere, unless a memory of it names the place. A photo whose place is not
        known is only right if the query says more than the place.
        """
        places = [place for place in self._cues(text).places if place.photos == 0]
        if not places or not answer.hits:
            return answer
        if answer.hits[0].lat is None and not self._names_only(text, places):
            return answer
        (first,) = self._engine.album.photos([answer.hits[0].row])
        told = " ".join(memory.text for memory in first.memories).casefold()
        wrong = [place for place in places if place.name.casefold() not in told]
        if not wrong:
            return answer
        self._remarks.append(Remark("elsewhere", name=wrong[0].name))
        return self._lowered(answer, max(place.confidence for place in wrong))

    def _within(self, within: RowSet | None) -> RowSet | None:
        """The photos that may be shown; None: all."""
        question, total = self._question, len(self._engine.album)
        allowed = self._all_of(within)
        if question.pictures and 0 < len(self._engine.facts.pictured) < total:
            allowed = allowed.among(self._engine.facts.pictured)
        for remark, rows in self._facets.named(question.facets).items():
            allowed = allowed.among(rows)
            self._remarks.append(remark)
        if question.favourites:
            allowed = allowed.among(self._engine.facts.favourites)
            self._remarks.append(Remark("favourites", n=len(allowed)))
        for phrase in question.without:
            fact = facets.fact_without(self._engine.facts, phrase)
            unwanted = self._engine.facts.knowing(fact) if fact else self._unwanted(phrase)
            self._remarks.append(Remark("without", phrase, n=len(unwanted)))
            allowed = allowed.without(unwanted)
        return None if allowed.is_full else allowed

    def _is_literal(self) -> bool:
        """Whether the query asks for what the album knows for certain: favourites, a facet, no date."""
        question = self._question
        return question.favourites or bool(question.facets) or any(map(fact_of, question.without))

    def _all_of(self, within: RowSet | None) -> RowSet:
        """`within`; all photos for None."""
        return RowSet(np.ones(len(self._engine.album), np.bool_)) if within is None else within

    def _cues(self, text: str) -> Cues:
        """What the rules read in `text`, each text once."""
        if text not in self._read_before:
            self._read_before[text] = self._engine.cues(text, self._now)
        return self._read_before[text]

    def _orders_photos(self) -> bool:
        """Whether the query has a word of order that is not a time's: "last Monday photos" are Monday's."""
        cues = self._cues(self._request.query)
        spans = [cue.span for cue in cues.times]
        return any(
            word.has("order") and not any(first <= word.start < last for first, last in spans)
            for word in words_of(cues.query, self._language)
        )

    def _printed(self, text: str) -> RowSet | None:
        """The photos on which a date is printed that the query's times hold, as on a receipt."""
        times = self._cues(text).times if self._engine.facts.printed else ()
        then = self._engine.facts.printed_within([(cue.start, cue.end) for cue in times])
        if not len(then):
            return None
        self._remarks.append(Remark("printed", n=len(then)))
        return then

    def _is_excluded(self, phrase: str) -> bool:
        """Whether the query's rules of cues exclude what `phrase` names: a time or a place."""
        told = [cue.text.casefold() for cue in self._cues(self._request.query).negated]
        return any(text in phrase.casefold() or phrase.casefold() in text for text in told)

    def _names_only(self, text: str, places: list[PlaceCue]) -> bool:
        for place in places:
            text = text.replace(place.text, "")
        return refine.says_nothing(refine.fast(text))

    def _unwanted(self, phrase: str) -> RowSet:
        """The photos that show what the query wants left out; none if the album likely has none.

        A photo whose own memory says the same ("a man without a hat") shows no hat.
        """
        album, ranking = self._engine.album, self._engine.ranking
        options = replace(FOR_SETS, gloss=self._request.options.gloss, language=self._language)
        answer = self._engine.search(phrase, MAX_K, now=self._now, options=options)
        if membership.presence(answer, ranking, len(album)) < membership.PRESENT:
            return RowSet.of(np.zeros(0, np.int64), len(album))
        rows = self._members(phrase, answer, options)
        photos = zip(rows, album.photos(rows), strict=True)
        negated = tuple(f"{word} {phrase.lower()}" for word in ("without", "without a", "no", "not"))
        shown = [
            row
            for row, photo in photos
            if not any(words in memory.text.lower() for memory in photo.memories for words in negated)
        ]
        return RowSet.of(np.asarray(shown, np.int64), len(album))

    def _members(self, text: str, first: Answer, options: SearchOptions) -> list[int]:
        """The rows of all photos that belong to what `text` means.

        While all MAX_K hits of a search do, the others are searched again. `first`: the answer to `text`.
        """
        album, ranking = self._engine.album, self._engine.ranking
        answer, rows, searches = first, list[int](), 1
        for _ in range(SET_SEARCHES):
            members = membership.members(album, answer, ranking)
            rows += [hit.row for hit in members]
            if len(members) < MAX_K:
                break
            left = self._all_of(options.within).without(RowSet.of(np.asarray(rows, np.int64), len(album)))
            if not len(left):
                break
            answer, searches = self._search(text, MAX_K, replace(options, within=left)), searches + 1
        if searches > 1:
            self._remarks.append(Remark("searched", text[:80], n=searches))
        return rows

    def _of_target(self) -> str:
        """The query for the photos that are counted by day or place, or put in order."""
        return self._facts_of(self._question.target) or self._question.target or "photos"

    def _of_query(self) -> str:
        """The query; that for the place of a stay, or for all that "how many from Rome" names."""
        if self._question.counts and (only := self._only(f"photos {self._question.query}")):
            return only
        stay = self._facts_of(gone_to(self._question.query))
        timed = stay and self._cues(stay).times  # "our weekend in May" is more than its month
        return self._soon(self._question.query) if timed or not stay else stay

    def _facts_of(self, target: str) -> str:
        """The query for the photos of a time, or of a place that the album has; "" for what says more."""
        dated = f"photos in {target}"
        known = target and (self._cues(dated).times or any(p.photos for p in self._cues(dated).places))
        return self._only(dated) if known else ""

    def _only(self, text: str) -> str:
        """`text` if it names a time or place and says nothing else, or ""."""
        named: list[TimeCue | PlaceCue] = [*self._cues(text).times, *self._cues(text).places]
        return text if named and says_nothing_else(self._cues(text), named) else ""

    def _soon(self, text: str) -> str:
        """`text`, or its form with a span of time after (or before) an event that the album knows."""
        soon = self._question.soon
        if not soon:
            return text
        read = self._cues(text)
        if read.times or read.negated_times:  # "after the summer of 2011"
            return text
        resolved = self._engine.cues_with_events(soon, self._now, self._language)
        return soon if any(cue.kind == "anchor" for cue in resolved.times) else text

    def _meant(self, answer: Answer, options: SearchOptions) -> list[int]:
        """The rows of what is meant: the photos in the cube, or those of the set that it ends; copies too."""
        album, ranking = self._engine.album, self._engine.ranking
        if refine.says_nothing(answer.trace.refined):
            inside = self._all_of(options.within)
            if answer.trace.cubes:
                inside = inside.among(album.within(answer.trace.cubes))
            return [int(row) for row in inside.rows]
        if membership.presence(answer, ranking, len(album)) < membership.PRESENT:
            return []
        text = answer.trace.query
        return self._members(text, self._search(text, MAX_K, options), options)

    def _grouped(
        self, text: str, answer: Answer, rows: list[int], options: SearchOptions
    ) -> tuple[Answer, int | None]:
        """`answer` with the numbers by day, month, year or place; of the most, these photos and how many."""
        album, question = self._engine.album, self._question
        names = group_names(album, self._engine.models.gazetteer, question.each, rows)
        counts = grouped.counted(names, question.most)
        if not counts:
            return answer, len(rows)
        chosen = [row for row, name in zip(rows, names, strict=True) if name in counts]
        within = RowSet.of(np.asarray(chosen, np.int64), len(album))
        answer = self._search(text, 2 * self._request.k + 5, replace(options, within=within))
        hits = tuple(replace(hit, probability=1.0) for hit in answer.hits)
        answer = replace(answer, hits=hits, presence=1.0)
        return _noted(answer, Remark("line", grouped.line(counts))), len(chosen)

    def _in_order(self, text: str, answer: Answer, rows: list[int], options: SearchOptions) -> Answer | None:
        """`answer` with the set's photos by time: "the last photo from Sydney"; None if none is dated."""
        album, question = self._engine.album, self._question
        photos = zip(rows, album.photos(rows), strict=True)
        dated = sorted((photo.wall, row) for row, photo in photos if photo.wall is not None)
        ordered = dated[::-1] if question.order < 0 else dated
        if not ordered:
            self._remarks.append(
                Remark("line", "none of these photos has a time: which is first is not known")
            )
            return None
        most = 2 * max(question.number or 0, abs(question.order), self._request.k) + 5
        place = {row: at for at, (_, row) in enumerate(ordered[:most])}
        within = RowSet.of(np.asarray(sorted(place), np.int64), len(album))
        found = self._search(text, len(place), replace(options, within=within))
        hits = sorted(found.hits, key=lambda hit: place[hit.row])
        sure = refine.says_nothing(found.trace.refined)
        hits = [replace(hit, probability=1.0) for hit in hits] if sure else hits
        return replace(answer, hits=tuple(hits), presence=1.0 if sure else answer.presence)

    def _distinct(self, rows: list[int]) -> list[int]:
        return sorted(set(copies.first_of_each(self._engine.album, rows)))
