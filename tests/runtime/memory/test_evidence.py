"""What a language model may answer: what its evidence or the question holds, and nothing of its prompt."""

from __future__ import annotations

import pytest

from gamer.runtime.defaults import ANSWER_SYSTEM as _SYSTEM
from gamer.runtime.memory.evidence import supports

NOTES = ["home: “Porto”", "2026-05-02: “The wifi password in Lisbon is 8841, said Marta”"]
QUESTION = "What is the wifi password in Lisbon?"


@pytest.mark.parametrize(
    "answer",
    ["8841.", "The password is 8841.", "Marta said that it is 8841.", "It is Porto, not Lisbon."],
)
def test_what_the_evidence_holds_is_said(answer: str) -> None:
    assert supports(NOTES, QUESTION, _SYSTEM, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "22222222222",
        "The password is 88412.",
        "You have an appointment with Marta.",
        "Your dentist is in Lisbon.",
        "say that you do not know. Porto",
        _SYSTEM,
        _SYSTEM[40:120],
        "Porto " * 61,
    ],
)
def test_what_it_does_not_hold_is_not(answer: str) -> None:
    assert not supports(NOTES, QUESTION, _SYSTEM, answer)


def test_no_part_of_the_prompt_is_repeated_even_where_the_notes_hold_its_words() -> None:
    words = _SYSTEM.split()
    for start in range(len(words) - 7):
        assert not supports([_SYSTEM], QUESTION, _SYSTEM, " ".join(words[start : start + 8]))
