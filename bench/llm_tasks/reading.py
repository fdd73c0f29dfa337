"""Two tasks with a right answer: entities and relations of notes, and the words of a query that say when and
where. The language model is asked as the product asks it, beside the product's rules.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from gamer.index import Mention, canonical
from gamer.runtime.cues.parse import parse
from gamer.runtime.cues.quoted import QuotedCues, cues_by_llm
from gamer.runtime.indexing.extract import LlmExtractor
from gamer.runtime.models.models import Models

from .gold import Note, gold

NOW = datetime(2026, 6, 1, 12)
_LEADING = re.compile(
    r"^(?:(?:in|on|at|from|of|during|near|over|behind|the|my|our|a|an)\s+)+|[\s,.;:?!]+$", re.I
)


@dataclass(frozen=True)
class Extraction:
    """F1 over all notes of the entities' canonical names, and of the relations (head, tail) without kind."""

    entities_f1: float
    relations_f1: float
    p50_ms: float


@dataclass(frozen=True)
class CueQuotes:
    """Shares of queries whose words of time, and of place, are quoted right; of what is not there, ""."""

    times: float
    places: float
    p50_ms: float


def extraction(read: Callable[[str], Collection[Mention]]) -> Extraction:
    notes, spent = gold().notes, list[int]()
    found = list[tuple[set[object], set[object]]]()
    for note in notes:
        begin = perf_counter_ns()
        mentions = read(note.text)
        spent.append(perf_counter_ns() - begin)
        found.append(_found(mentions))
    wanted = [_wanted(note) for note in notes]
    entities, relations = (_f1([got[at] for got in found], [right[at] for right in wanted]) for at in (0, 1))
    return Extraction(round(entities, 4), round(relations, 4), median_ms(spent))


def extraction_by(models: Models) -> Extraction | None:
    """By the rules and the bundle's language model, as `--extract llm` reads notes.

    None for a model that cannot be held by a grammar.
    """
    if not models.can_be_held:
        return None
    with tempfile.TemporaryDirectory() as aside:
        reader = LlmExtractor.open(models, Path(aside) / "answers.sqlite")
        try:
            return extraction(reader)
        finally:
            reader.close()


def cues_by_rules(models: Models) -> CueQuotes:
    def read(query: str) -> QuotedCues:
        cues = parse(query, NOW, models.gazetteer)
        spans = [cue.span for cue in cues.times] + [cue.span for cue in cues.recurring]
        times, places = [query[a:b] for a, b in spans], [place.text for place in cues.places]
        return QuotedCues(max(times, key=len, default=""), max(places, key=len, default=""), "")

    return _quoted(read)


def cues_by(models: Models) -> CueQuotes | None:
    """None for a model that cannot be held by a grammar."""
    if not models.can_be_held:
        return None
    return _quoted(lambda query: cues_by_llm(models, query) or QuotedCues("", "", ""))


def _quoted(read: Callable[[str], QuotedCues]) -> CueQuotes:
    questions, spent = gold().queries, list[int]()
    times = places = 0
    for question in questions:
        begin = perf_counter_ns()
        quotes = read(question.text)
        spent.append(perf_counter_ns() - begin)
        times += _bare(quotes.time) == _bare(question.time)
        places += _bare(quotes.place) == _bare(question.place)
    count = len(questions)
    return CueQuotes(round(times / count, 4), round(places / count, 4), median_ms(spent))


def _found(mentions: Collection[Mention]) -> tuple[set[object], set[object]]:
    names = {canonical(mention.name) for mention in mentions}
    return set(names), {
        (canonical(mention.parent), canonical(mention.name)) for mention in mentions if mention.parent
    }


def _wanted(note: Note) -> tuple[set[object], set[object]]:
    return (
        {canonical(name) for name in note.entities},
        {(canonical(head), canonical(tail)) for head, tail in note.relations},
    )


def _f1(found: list[set[object]], wanted: list[set[object]]) -> float:
    both = sum(len(got & right) for got, right in zip(found, wanted, strict=True))
    return 2 * both / max(1, sum(map(len, found)) + sum(map(len, wanted)))


def _bare(quote: str) -> str:
    return _LEADING.sub("", quote.strip()).casefold()


def median_ms(spent: list[int]) -> float:
    return round(float(np.median(spent)) / 1e6, 2)
