"""Suite `asked`: questions in relation to an anchor as they are read, the photos found, what these tell."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from gamer.runtime.agent import loop
from gamer.runtime.agent.rules import RulesMind
from gamer.runtime.agent.spans import SpanReader
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.events.build import segment_album
from gamer.runtime.models.models import Models
from gamer.runtime.questions.question import Question
from gamer.runtime.questions.reader import read
from gamer.runtime.search.engine import Engine
from tools.conformance.fixture import Answers, Case, Given, Suite

_DATE = re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}")
NOW = "2026-11-21T00:00:00"
MOST = 20  # photos of an answer
TIMES = ("2015", "in 2015", "christmas", "after christmas", "last summer", "may", "before may", "yesterday")
FOREIGN = (
    ("Fotos nach der Hochzeit", "de"),
    ("das letzte Foto vor dem Umzug", "de"),
    ("was ich am Tag nach dem Konzert fotografiert habe", "de"),
    ("photos avant le mariage", "fr"),
    ("la dernière photo avant le concert", "fr"),
    ("fotos después de la boda", "es"),
    ("la foto prima del concerto", "it"),
    ("fotos antes do casamento", "pt"),
)
FOUND = (
    "the photo before the rocket launch",
    "the photo right after the motorcycle",
    "photos after the rocket launch",
    "photos before the rocket launch",
    "all photos after the rocket launch",
    "the last two photos before the coffee",
    "the first photo after the Roman coins",
    "the second photo after the Roman coins",
    "what did I photograph the day after the lawn",
    "photos from the day before the rocket launch",
    "two months after the coffee",
    "a year after the Roman coins",
    "photos from the weekend of the motorcycle",
    "everything from the same day as the galaxies",
    "what else did I photograph the day I saw the galaxies",
    "photos of the same trip as the galaxies",
    "earlier on the day I saw the galaxies",
    "the week after the flower",
    "the month after the flower",
    "the year before the flower",
    "photos between the coffee and the rocket launch",
    "how many photos did I take between the Roman coins and the rocket launch",
    "the coffee before the flower",
    "the galaxies before the rocket launch",
    "the last flower before the rocket launch",
    "photos after the giraffe",
    "the photo before the tripod",
    "did I see the coffee first, or the flower?",
    "the photo after the first motorcycle",
    "where was I before the rocket launch",
    "cat chasing after a ball",
    "photos after sunset",
    "the last photo before 2026",
    "photos after 2025",
    "the picture of the cat",
)
# For a time, a place or a person.
TOLD = (
    "when did I see the coffee",
    "what time was the rocket launch",
    "when did I last photograph a flower",
    "when did I last take a photo",
    "where did I take the rocket photo",
    "where was the coffee",
    "where was I before the rocket launch",
    "when was the photo before the rocket launch taken",
    "when was I in Rome",
    "where was I in 2026",
    "when was I last in Orlando",
    "when did I meet Zoltan",
    "who was at the rocket launch",
    "when did I see the giraffe",
    "wann war der Raketenstart",
    "where did I see the coffee in Iceland",
    "when was the last time I saw a motorcycle",
    "where was I the day after the lawn",
    "where did I take my first photos",
)


def suite(bundle: Path, album: Path, stage: Path) -> Suite:
    """`stage`: an empty folder that stays while the suite is replayed."""
    split = stage / "events.gamer"
    shutil.copyfile(album, split)
    segment_album(split, Models.open(bundle))
    texts = [(text, "") for text in dict.fromkeys(_of_tests())] + list(FOREIGN)
    read = [
        Case(f"read-{n}", {"op": "read", "text": t, "language": code}) for n, (t, code) in enumerate(texts)
    ]
    found = [Case(f"found-{n}", {"op": "found", "query": query, "now": NOW}) for n, query in enumerate(FOUND)]
    found += [Case(f"told-{n}", {"op": "told", "query": query, "now": NOW}) for n, query in enumerate(TOLD)]
    shared = {"bundle": str(bundle), "album": str(split), "times": list(TIMES)}
    return Suite("asked", (*read, *found), shared)


def _of_tests() -> Iterator[str]:
    """What the tests of the reader put to it."""
    from tests.runtime.questions import test_reader

    yield from (text for text, _ in (*test_reader.RELATIONS, *test_reader.ORDERS))
    yield from test_reader.PLAIN


def asked(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del folder
    engine = stack.enter_context(Engine.open(Path(shared["bundle"]), Path(shared["album"])))
    return {
        "read": lambda given: _read(given["text"], given["language"], shared["times"]),
        "found": lambda given: _found(engine, given),
        "told": lambda given: _told(engine, given),
    }


def _read(text: str, language: str, times: Sequence[str]) -> Given:
    question = read(text, is_time=lambda phrase: phrase.lower() in times, language=language)
    return {"read": list(_fields(question))}


def _fields(question: Question) -> Iterator[object]:
    yield from (question.asks, question.target, question.order, question.number)
    yield from (question.occasion, question.exhaustive)
    if question.anchor:
        yield from (question.relation, question.unit, question.anchor, question.other)
        yield from (question.anchor_order, question.with_anchor, question.shift, question.side)


def _told(engine: Engine, given: Given) -> Given:
    """What the photos tell, with the dates as the apps say them."""
    now = datetime.fromisoformat(given["now"])
    toolbox = Toolbox(engine, now)
    mind = RulesMind(toolbox, SpanReader(engine, now))
    answer = loop.run(mind, toolbox, given["query"], "sentence").answer
    said = _DATE.sub(lambda date: datetime.strptime(date[0], "%d %B %Y").date().isoformat(), answer.sentence)
    days = re.sub(r"Photos of \d+ days, from (.*) to (.*)", r"\1 … \2", said).replace(" at ", " ")
    return {"told": days if answer.found else ""}


def _found(engine: Engine, given: Given) -> Given:
    """The ids of the photos; none where the question has no anchor, or nothing is found."""
    now = datetime.fromisoformat(given["now"])
    toolbox, spans = Toolbox(engine, now), SpanReader(engine, now)
    language = engine.language_of(given["query"])
    question = read(given["query"], is_time=lambda text: spans(text).is_time, language=language)
    if not question.relation:  # a comparison of two is told in a sentence
        return {"ids": []}
    answer = loop.run(RulesMind(toolbox, spans), toolbox, given["query"], "set").answer
    rows = answer.rows[:MOST] if answer.found else ()
    return {"ids": [photo.id for photo in engine.album.photos(rows)]}
