"""Which sentence of the photos found answers a question: by the clause that asks, its value, its occasion."""

from __future__ import annotations

from collections import defaultdict

import pytest

from gamer.runtime.questions.quotations import QuotedPhoto, asking, quotation

RARITY: dict[str, float] = defaultdict(lambda: 3.0)


def said(question: str, *texts: str | QuotedPhoto) -> tuple[str, bool]:
    told = [QuotedPhoto(text) if isinstance(text, str) else text for text in texts]
    found = quotation(asking(question), told, RARITY)
    assert found is not None
    return found.text, found.answers


@pytest.mark.parametrize(
    ("question", "core", "around"),
    [
        ("On the day of the fair, what hat did Ann wear?", {"hat", "ann", "wear"}, {"fair"}),
        ("What hat did Ann wear when we sailed?", {"hat", "ann", "wear"}, {"sail"}),
        ("We saw a boat at the pier — what colour was it?", {"see", "boat", "pier"}, set()),
    ],
)
def test_the_clause_that_asks_is_told_from_its_circumstances(
    question: str, core: set[str], around: set[str]
) -> None:
    asked = asking(question)
    assert (set(asked.core), set(asked.around)) == (core, around)


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (
            "On the day of the fair, what did my sister wear?",
            "The fair was loud on that day of fairs. My sister wore a straw hat.",
            "My sister wore a straw hat.",
        ),
        ("What colour was the van?", "A blue boat. A white van by the pier.", "A white van by the pier."),
        ("Which hand held the cup?", "The cup is held high. In her left hand she held the cup.", None),
        ("What did the old sign say?", "An old sign. The sign read 'NO ENTRY'.", "The sign read 'NO ENTRY'."),
        ("How did we get to Oslo?", "We took the ferry sign. We went to Oslo by train.", None),
    ],
)
def test_the_sentence_has_what_the_clause_asks_for(question: str, text: str, answer: str | None) -> None:
    assert said(question, text) == (answer or text.split(". ")[1], True)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which hand held the cup?", "He held the cup in his hand."),
        ("What colour was the van?", "The van stood far away from all of us, near a very blue lake."),
        ("How did we get to Oslo?", "Oslo was cold."),
        ("What did the old sign say?", "An old sign by the road."),
        ("What was the waiter wearing on his wrist?", "A plate of soup on the table."),
    ],
)
def test_what_has_no_such_value_or_words_is_the_nearest_and_no_answer(question: str, text: str) -> None:
    assert said(question, text) == (text, False)


def test_circumstances_that_the_day_tells_choose_the_photo() -> None:
    question = "When we sailed, what colour was my hat?"
    assert said(question, "My hat is red.", QuotedPhoto("My hat is blue.", around=1.0)) == (
        "My hat is blue.",
        True,
    )
    assert said(question, "My hat is red.", "My hat is blue.") == ("My hat is red.", True)
