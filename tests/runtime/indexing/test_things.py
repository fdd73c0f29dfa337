"""Things by a language model: every word must be the memory's, and the rules stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamer.index.things.records import UNSPECIFIED, Attributes, Sighting
from gamer.runtime.indexing.things import FIELDS, LlmThings, grammar, sighting

NOTE = "I drank from the green enamel tankard of my uncle"


def answer(**values: str) -> str:
    return json.dumps(dict.fromkeys(FIELDS, "") | values, separators=(",", ":"))


def test_the_grammar_takes_words_of_the_note_and_no_others() -> None:
    rules = grammar(NOTE)
    assert rules.accepts(rules.step(rules.start(), answer(thing="tankard", color="green").encode()))
    assert not rules.step(rules.start(), answer(thing="bomb").encode())


def test_what_the_model_quotes_is_added_to_the_rules(tmp_path: Path) -> None:
    asked: list[str] = []

    def ask(note: str) -> str:
        asked.append(note)
        return answer(thing="tankard", color="green", material="enamel")

    extract = LlmThings(ask, "made-up", tmp_path / "answers")
    found = [extract(NOTE) for _ in range(2)][1]
    assert found == (Sighting("tankard", Attributes(color="green", material="enamel")),)
    assert len(asked) == 1  # the answer was kept
    (cup,) = LlmThings(lambda _: answer(thing="cup", feature="two handles"), "other", tmp_path / "answers")(
        "my red cup, it has two handles"
    )
    assert (cup.owned, cup.attributes.color, cup.attributes.feature) == (True, "red", "two handles")


@pytest.mark.parametrize(
    "said",
    [
        "",
        "no",
        "[]",
        "{}",
        '{"thing": 3}',
        answer(thing="bomb"),
        answer(color="green"),
        answer(thing="I"),
    ],
)
def test_an_answer_that_is_no_thing_of_the_note_gives_none(said: str) -> None:
    assert sighting(said, NOTE) is None


def test_a_value_that_the_note_does_not_say_is_left_out() -> None:
    found = sighting(answer(thing="tankard", color="pink", usage="uncle"), NOTE)
    assert found is not None
    assert (found.attributes.color, found.attributes.usage) == (UNSPECIFIED, "uncle")


def test_what_a_model_repeats_says_nothing() -> None:
    found = sighting(
        answer(thing="tankard", color="tankard", brand="enamel", style="enamel", usage="from"), NOTE
    )
    assert found == Sighting("tankard")
