"""The loop: budgets hold for any mind, and whatever ends a task leaves its trace and closes the mind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gamer.index import AlbumError
from gamer.runtime.agent.calls import Call, Filter, Get, Search, View
from gamer.runtime.agent.loop import (
    MAX_QUESTION,
    Act,
    Answer,
    Budget,
    End,
    Observation,
    Step,
    Turns,
    ending,
    run,
)
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.engine import Engine
from tests.runtime.agent.small_album import photo, short

PHOTOS = [photo(f"p{n}", f"2025-05-{n + 1:02}T10:00:00", f"memory {n}") for n in range(4)]
DONE = Answer((1,), "done")


@pytest.fixture
def toolbox(engine: Engine) -> Toolbox:
    return Toolbox(engine)


class Scripted:
    """A mind from a generator function; records what it observed and whether it was closed."""

    name = "scripted"

    def __init__(self, script: Callable[[Scripted], Turns]) -> None:
        self.script, self.observed, self.closed = script, list[Observation](), False

    def solve(self, question: str, end: End) -> Turns:
        try:
            return (yield from self.script(self))
        finally:
            self.closed = True


def repeating(call: Call | None) -> Scripted:
    def script(mind: Scripted) -> Turns:
        while True:
            mind.observed.append((yield Act("again", call)))

    return Scripted(script)


def following(*turns: Call | BaseException | None, answer: Any = DONE) -> Scripted:
    def script(mind: Scripted) -> Turns:
        for turn in turns:
            if isinstance(turn, BaseException):
                raise turn
            mind.observed.append((yield Act("next", turn)))
        return answer  # type: ignore[no-any-return]

    return Scripted(script)


def test_a_mind_that_calls_for_ever_is_ended_by_its_calls(toolbox: Toolbox) -> None:
    mind = repeating(Filter(limit=1))
    outcome = run(mind, toolbox, "q", budget=Budget(calls=3, views=5, turns=30))
    assert outcome.ended == "budget"
    assert len(outcome.steps) == 3
    assert outcome.left.calls == 0
    assert [o.left.calls for o in mind.observed] == [2, 1, 0]
    assert mind.closed
    assert outcome.answer.rows == (0,)
    assert not outcome.answer.found


def test_a_mind_that_thinks_for_ever_is_ended_by_its_turns(toolbox: Toolbox) -> None:
    mind = repeating(None)
    outcome = run(mind, toolbox, "q", budget=Budget(calls=3, views=5, turns=7))
    assert outcome.ended == "budget"
    assert len(outcome.steps) == 7
    assert mind.closed
    assert [o.left.turns for o in mind.observed] == [6, 5, 4, 3, 2, 1, 0]
    assert outcome.answer.rows == ()
    assert not outcome.answer.found
    assert all(step.call is None and step.observation is None for step in outcome.steps)


def test_views_have_their_own_budget_and_cost_calls_too(toolbox: Toolbox) -> None:
    view = View("what?", (short("p0"),))
    mind = following(view, view, view, Filter())
    outcome = run(mind, toolbox, "q", budget=Budget(calls=9, views=1, turns=9))
    errors = [o.error for o in mind.observed]
    assert errors[0] == "" == errors[3]
    assert all("no views left" in error for error in errors[1:3])
    assert mind.observed[1].result.rows == ()
    assert outcome.left == Budget(5, 0, 5)


def test_a_budget_of_nothing_answers_nothing(toolbox: Toolbox) -> None:
    outcome = run(repeating(Filter()), toolbox, "q", budget=Budget(0, 0, 0))
    assert (outcome.ended, outcome.steps, outcome.answer.found) == ("budget", (), False)
    finished = run(following(), toolbox, "q", budget=Budget(0, 0, 0))
    assert finished.ended == "answer"
    assert finished.answer == DONE


def test_a_refused_call_costs_a_call_and_is_told_in_one_line(toolbox: Toolbox) -> None:
    mind = following(Get("img_nothing"), Filter("nonsense"), Filter())
    outcome = run(mind, toolbox, "q")
    assert ["no photo" in mind.observed[0].error, "no field" in mind.observed[1].error] == [True, True]
    assert mind.observed[2].error == ""
    assert outcome.left.calls == Budget().calls - 3
    assert outcome.ended == "answer"
    assert all("\n" not in o.error for o in mind.observed)


def test_every_step_is_reported_as_it_ends(toolbox: Toolbox) -> None:
    told: list[Step] = []
    outcome = run(following(Filter(), None, Get(short("p1"))), toolbox, "q", on_step=told.append)
    assert tuple(told) == outcome.steps
    assert [s.call is None for s in told] == [False, True, False]
    assert [p.id for p in outcome.photos] == [short("p1")]
    assert outcome.mind == "scripted"


@pytest.mark.parametrize("failure", [RuntimeFailure("the model broke"), AlbumError("the album is damaged")])
def test_a_mind_that_fails_leaves_its_trace_and_what_it_found(toolbox: Toolbox, failure: Exception) -> None:
    mind = following(Filter("day = 2025-05-02"), failure)
    outcome = run(mind, toolbox, "q")
    assert outcome.ended == str(failure)
    assert len(outcome.steps) == 1
    assert mind.closed
    assert outcome.answer.rows == (1,)
    assert not outcome.answer.found


def test_a_tool_that_fails_ends_the_task_with_the_trace(
    toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(call: Call) -> None:
        raise AlbumError("a.gamer: the photo in row 2 is damaged")

    first = following(Filter("day = 2025-05-02"), Search("x"))
    monkeypatch.setattr(toolbox, "_search", damaged)
    outcome = run(first, toolbox, "q")
    assert outcome.ended == "a.gamer: the photo in row 2 is damaged"
    assert len(outcome.steps) == 1
    assert first.closed
    assert outcome.answer.rows == (1,)


def test_an_answer_whose_photo_is_damaged_ends_with_the_line(toolbox: Toolbox) -> None:
    outcome = run(following(answer=Answer((99,), "here")), toolbox, "q")
    assert "no photo in row 99" in outcome.ended
    assert outcome.photos == ()
    assert not outcome.answer.found


def test_a_failure_of_the_program_itself_is_not_hidden(toolbox: Toolbox) -> None:
    mind = following(Filter(), ZeroDivisionError("a bug"))
    with pytest.raises(ZeroDivisionError):
        run(mind, toolbox, "q")
    assert mind.closed


def test_rows_of_any_sequence_are_an_answer(toolbox: Toolbox) -> None:
    for rows in ([2, 0], np.array([2, 0])):
        outcome = run(following(answer=Answer(rows, "list")), toolbox, "q")  # type: ignore[arg-type]
        assert [p.row for p in outcome.photos] == [2, 0]
        assert outcome.ended == "answer"


def test_stop_is_asked_before_the_mind_thinks_and_before_each_call(toolbox: Toolbox) -> None:
    unasked = repeating(Filter())
    outcome = run(unasked, toolbox, "q", stop=lambda: True)
    assert (outcome.ended, outcome.steps, unasked.observed) == ("interrupted", (), [])
    told: list[Step] = []
    mind = repeating(Filter(limit=2))
    outcome = run(mind, toolbox, "q", on_step=told.append, stop=lambda: len(told) == 2)
    assert outcome.ended == "interrupted"
    assert len(outcome.steps) == 2
    assert mind.closed
    assert len(mind.observed) == 1
    assert outcome.answer.rows == (0, 1)


def test_a_stop_while_the_mind_thinks_prevents_its_call(toolbox: Toolbox) -> None:
    pressed: list[bool] = []

    def script(mind: Scripted) -> Turns:
        pressed.append(True)
        yield Act("late", Filter())
        return DONE

    mind = Scripted(script)
    outcome = run(mind, toolbox, "q", stop=lambda: bool(pressed))
    assert outcome.ended == "interrupted"
    assert outcome.steps == ()
    assert mind.closed


def test_an_interruption_closes_the_mind_and_keeps_the_trace(toolbox: Toolbox) -> None:
    def interrupt(step: Step) -> None:
        raise KeyboardInterrupt

    mind = repeating(Filter(limit=1))
    outcome = run(mind, toolbox, "q", on_step=interrupt)
    assert outcome.ended == "interrupted"
    assert len(outcome.steps) == 1
    assert mind.closed


def test_a_mind_that_will_not_be_closed_cannot_go_on(toolbox: Toolbox) -> None:
    def script(mind: Scripted) -> Turns:
        while True:
            try:
                yield Act("more", Filter())
            except GeneratorExit:
                yield Act("and more", Filter())

    outcome = run(Scripted(script), toolbox, "q", budget=Budget(calls=2))
    assert outcome.ended == "budget"
    assert len(outcome.steps) == 2


@pytest.mark.parametrize(("question", "says"), [("", "empty"), (" \n\t", "empty")])
def test_an_empty_question_is_refused(toolbox: Toolbox, question: str, says: str) -> None:
    with pytest.raises(RuntimeFailure, match=says):
        run(following(), toolbox, question)


def test_a_question_has_at_most_a_hundred_thousand_characters(toolbox: Toolbox) -> None:
    assert run(following(), toolbox, "x" * MAX_QUESTION).ended == "answer"
    with pytest.raises(RuntimeFailure, match="100001 characters: give at most 100000"):
        run(following(), toolbox, "x" * (MAX_QUESTION + 1))


def test_an_album_path_is_no_argument_of_a_call(toolbox: Toolbox, tmp_path: Path) -> None:
    """Ids name photos, never files: a path of a file that exists is no photo."""
    (tmp_path / "p0").write_text("x")
    mind = following(Get(str(tmp_path / "p0")), Get("../a.gamer"))
    run(mind, toolbox, "q")
    assert all("no photo" in o.error for o in mind.observed)


@pytest.mark.parametrize(
    ("question", "language", "end"),
    [
        ("when did I see the rocket?", "en", "sentence"),
        ("How many photos of cats do I have?", "en", "sentence"),
        ("what did the espresso cost?", "en", "sentence"),
        ("the photo before the parade", "en", "set"),
        ("What are my best photos of the sea?", "en", "set"),
        ("Wann war ich in Rom?", "de", "sentence"),
        ("Fotos von meinem Hund", "de", "set"),
        ("¿cuándo desayuné con Ana?", "es", "sentence"),
        ("Когда я был в Риме?", "ru", "sentence"),
    ],
)
def test_a_question_says_whether_photos_or_a_sentence_are_wanted(
    question: str, language: str, end: End
) -> None:
    assert ending(question, language) == end
