"""The mind of rules from question to photos, with the real models over a small album of plain memories."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from gamer.runtime.agent import rules
from gamer.runtime.agent.loop import Outcome, run
from gamer.runtime.agent.rules import RulesMind
from gamer.runtime.agent.spans import SpanReader
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from tests.runtime.agent.small_album import engine_over, event, names, photo

pytestmark = pytest.mark.slow
NOW = datetime(2026, 11, 21)
# Three days; the rows are not in order of time.
PHOTOS = [
    photo("snowman", "2025-01-10T12:00:00", "a snowman in front of our house"),
    photo("dog-3", "2025-06-03T18:00:00", "a brown dog asleep on the carpet"),
    photo("dog-1", "2025-06-01T10:00:00", "a brown dog running on the beach"),
    photo("kite", "2025-06-01T12:00:00", "a red kite flying in the sky"),
    photo("ice", "2025-06-01T14:00:00", "two cones of strawberry ice cream"),
    photo("dog-2", "2025-06-01T16:00:00", "a brown dog with a stick"),
    photo("lighthouse", "2025-06-02T09:00:00", "the white lighthouse on the cliff"),
    photo("gull", "2025-06-02T09:00:00", "a gull sitting on a railing"),
    photo("ferry", "2025-06-02T15:00:00", "the ferry leaving the port"),
    photo("pizza", "2025-06-02T20:00:00", "a pizza with mushrooms"),
    photo("piano", None, "grandfather playing the piano"),
    photo("fireworks", "2025-12-31T23:59:59", "fireworks over the river"),
]
EVENTS = [
    event("A day at the beach", "dog-1", "kite", "ice", "dog-2"),
    event("The coast", "lighthouse", "ferry"),
]


@pytest.fixture(scope="module")
def engine(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_over(Models.open(bundle), tmp_path_factory.mktemp("rules"), PHOTOS, EVENTS) as engine:
        yield engine


def ask(engine: Engine, question: str) -> Outcome:
    toolbox = Toolbox(engine, NOW)
    return run(RulesMind(toolbox, SpanReader(toolbox.engine, NOW)), toolbox, question)


def answer(engine: Engine, question: str) -> list[str]:
    outcome = ask(engine, question)
    assert outcome.ended == "answer"
    assert outcome.answer.found == bool(outcome.answer.rows)
    return names(engine, outcome.answer.rows)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("the other photos from the day of the red kite", "dog-1 ice dog-2"),
        ("everything from the same day as the red kite", "dog-1 kite ice dog-2"),
        ("all photos from the trip with the white lighthouse", "lighthouse ferry"),
        ("the photo right before the red kite", "dog-1"),
        ("the photo right after the red kite", "ice"),
        ("two photos after the red kite", "ice dog-2"),
        ("photos without a date", "piano"),
        ("photos from June 1 2025 without a dog", "kite ice"),
        ("the next photo after the day I saw the red kite", "lighthouse"),
        ("the second photo after the red kite", "dog-2"),
        ("the two photos before the ferry leaving the port", "lighthouse gull"),
        ("the photo right after the white lighthouse", "gull"),  # taken in the same second
        ("the photo right before the gull on the railing", "lighthouse"),
        ("all photos after the ferry leaving the port", "pizza dog-3 fireworks"),
        ("photos after the ferry leaving the port", "pizza"),  # soon after, not for ever
        ("earlier on the same day as the ferry leaving the port: the photos", "lighthouse gull"),
        ("what else I photographed later on the same day as the white lighthouse", "gull ferry pizza"),
        ("pictures of a brown dog but not with a stick", "dog-1 dog-3"),
        ("the next dog after the red kite", "dog-2"),
        ("the last dog before the white lighthouse", "dog-2"),
        ("the next brown dog after the one with a stick", "dog-3"),
        ("the first dog of the day with the red kite", "dog-1"),
        ("the last dog of the day with the red kite", "dog-2"),
        ("the first photo of the day with the ferry leaving the port", "lighthouse"),
        ("the last photo of the day with the ferry leaving the port", "pizza"),
        ("all photos between the red kite and the white lighthouse", "ice dog-2"),
        ("all photos between the white lighthouse and the red kite", "ice dog-2"),
        ("the photo right after the fireworks over the river", ""),
        ("the photo right before the snowman", ""),
        ("photos from January 2025", "snowman"),
        ("January 2025", "snowman"),
        ("photos from 2 June 2025", "lighthouse gull ferry pizza"),
        ("the newest photo", "fireworks"),
        ("the first photo", "snowman"),
        ("the last two photos", "dog-3 fireworks"),
        ("the first photo of this year", ""),
        ("a pizza with mushrooms", "pizza"),
    ],
)
def test_a_question_leads_to_its_photos(engine: Engine, question: str, expected: str) -> None:
    assert sorted(answer(engine, question)) == sorted(expected.split())


@pytest.mark.parametrize(
    "question",
    [
        "the photo right after the quarterly earnings spreadsheet of a zeppelin factory",
        "everything from the day of the quarterly earnings spreadsheet of a zeppelin factory",
    ],
)
def test_an_anchor_that_the_album_does_not_hold_leads_nowhere(engine: Engine, question: str) -> None:
    outcome = ask(engine, question)
    assert outcome.answer.rows == ()
    assert not outcome.answer.found
    assert len(outcome.steps) == 1


@pytest.mark.parametrize(
    "question",
    [
        "the photo right after grandfather playing the piano",
        "the photo right before grandfather playing the piano",
        "everything from the same day as grandfather playing the piano",
        "all photos between grandfather playing the piano and the red kite",
        "all photos between the red kite and grandfather playing the piano",
    ],
)
def test_an_anchor_without_a_time_leads_nowhere(engine: Engine, question: str) -> None:
    assert answer(engine, question) == []


def test_an_answer_costs_few_calls_and_the_same_question_the_same_ones(engine: Engine) -> None:
    question = "the next dog after the red kite"
    first, second = ask(engine, question), ask(engine, question)
    assert [s.call for s in first.steps] == [s.call for s in second.steps]
    assert len(first.steps) <= 4
    assert first.answer == second.answer
    assert all(s.thought for s in first.steps)


@pytest.mark.parametrize(
    "question",
    ["?", "...", "the", "before", "after the", "between and", "same day as", "the day of", "first", "\x00",
     "🐈", "how many", "x" * 100_000, "before " * 10_000, "'; DROP TABLE photos", 'the photo after "" and "']
)  # fmt: skip
def test_odd_questions_end_with_an_answer_or_a_line(engine: Engine, question: str) -> None:
    outcome = ask(engine, question)
    assert outcome.ended.isprintable()
    assert len(outcome.steps) <= 25


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (
            "the other photos from the day of the fireworks over the river",
            "“the fireworks over the river” is from 31 December 2025; there are no photos of the same day, "
            "without the anchor itself.",
        ),
        (
            "what else I photographed on the day of the nuclear submarine",
            "The album does not seem to have “the nuclear submarine”.",
        ),
        (
            "the photo right after grandfather playing the piano",
            "The album does not know when “grandfather playing the piano” was.",
        ),
        ("show me photos from Reykjavik", "None from Reykjavik."),
        ("screenshots of the brown dog", "Screenshots: none in this album."),
        ("show me my favourite photos", "None of these is marked as a favourite."),
    ],
)
def test_an_answer_without_photos_says_what_is_missing(engine: Engine, question: str, why: str) -> None:
    outcome = ask(engine, question)
    assert (outcome.answer.rows, outcome.answer.found) == ((), False)
    assert outcome.answer.sentence == why


@pytest.mark.parametrize("unseen", [(), ("nuclear", "submarine")])
def test_only_what_pictures_cannot_be_searched_for_is_said_to_be_left_in(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, unseen: tuple[str, ...]
) -> None:
    monkeypatch.setattr(rules, "unpictured", lambda text, models: unseen)
    outcome = ask(engine, "photos from January 2025 without a nuclear submarine")
    assert names(engine, outcome.answer.rows) == ["snowman"]
    said = outcome.answer.sentence
    assert said.startswith("1 photo. Nothing is left out: pictures cannot") if unseen else said == "1 photo"


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("which day did I photograph most?", "2025-06-01 and 2025-06-02: 4 photos each"),
        ("in which month did I take the most photos of a brown dog?", "2025-06: 3 photos"),
        ("how many photos a month in 2025?", "2025-01: 1, 2025-06: 9, 2025-12: 1"),
        ("how many photos of a brown dog per day", "2025-06-01: 2, 2025-06-03: 1"),
        ("how many photos are from June 2025?", "9"),
        ("where was I in June 2025?", "The album does not know where."),
        ("where was I in May 2020?", "None of May 2020."),
    ],
)
def test_numbers_are_told_by_day_month_and_year(engine: Engine, question: str, sentence: str) -> None:
    toolbox = Toolbox(engine, NOW)
    mind = RulesMind(toolbox, SpanReader(toolbox.engine, NOW))
    assert run(mind, toolbox, question, end="sentence").answer.sentence == sentence


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("what does Nora say about the sofa?", True),
        ("what does Clara say about the sofa?", False),  # nobody called so is in the album
        ("what did Nora say in Porto in May?", True),  # a place and a time are no names
        ("what does Nora Schmidt say about the sofa?", True),
        ("what does Aunt Nora say about the sofa?", True),
        ("what does Mum say about the sofa?", True),  # a memory may call her mother
        ("what does Nora say about the Italian sofa?", True),
        ("what does Nora's IKEA sofa feel like?", True),
        ("What Does Clara Say About The Sofa?", True),  # a heading: capitals tell nothing
        ("when did Clara sit on the sofa?", False),
        ("when did Nora sit on the sofa?", True),
    ],
)
def test_a_name_that_the_album_has_nowhere_is_not_spoken_for(
    bundle: Path, tmp_path: Path, question: str, known: bool
) -> None:
    told = photo("sofa", "2025-05-02T09:00:00", "Nora says the sofa is too soft", lat=41.15, lon=-8.61)
    with engine_over(Models.open(bundle), tmp_path, [*PHOTOS, told]) as engine:
        said = ask(engine, question).answer
        assert names(engine, said.rows)[0] == "sofa"
    assert said.found == known
    assert ("does not seem to say" in said.sentence) == (not known)
    assert "too soft" in said.sentence or "2 May 2025" in said.sentence


FLAT = "Welcome to our flat\nWifi network: CasaGuest\nPassword: 22222222222\nCheckout at 11:00"


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("what is the wifi password", "Password: 22222222222"),
        ("what is the wifi called", "Wifi network: CasaGuest"),
        ("how much was the espresso", "Espresso 1.80"),
    ],
)
def test_of_what_is_printed_the_line_answers_that_is_asked_for(
    bundle: Path, tmp_path: Path, question: str, line: str
) -> None:
    photos = [
        photo("flat", "2025-03-10T10:00:00", ("ocr", FLAT)),
        photo("bar", "2025-03-11T10:00:00", ("ocr", "CAFE LUNA\nEspresso 1.80\nCroissant 2.40\nTotal 4.20")),
    ]
    with engine_over(Models.open(bundle), tmp_path, photos) as engine:
        assert ask(engine, question).answer.sentence == line
