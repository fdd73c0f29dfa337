"""Sentences and the facts that they give, and what no sentence may do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index.memory.records import NewItem
from gamer.runtime.memory.reading import facts
from gamer.runtime.memory.reading.facts import facts_of
from gamer.runtime.memory.words import content


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I live in Porto.", [("home", "Porto")]),
        ("We moved to Lisbon last year and I work as a nurse.", [("home", "Lisbon"), ("job", "nurse")]),
        ("I used to live in Graz, now I live in Linz.", [("home before", "Graz"), ("home", "Linz")]),
        ("My name is Ada.", [("name", "Ada")]),
        ("I am 34 years old.", [("age", "34")]),
        ("I am allergic to peanuts.", [("allergy: peanuts", "peanuts")]),
        ("My dog is called Rex.", [("dog's name", "Rex")]),
        ("I no longer like coffee.", [("likes coffee", "no longer like coffee")]),
        ("I love tea and she hates it.", [("likes tea", "love tea")]),
        ("I love tea and Anna hates it.", [("likes tea", "love tea")]),
        ("I never eat meat.", [("habit: eat meat", "never eat meat")]),
        ("I always need coffee.", [("habit: need coffee", "always need coffee")]),
        ("My dentist appointment is on the 5th of May.", [("date of dentist appointment", "the 5th of May")]),
        ("I never moved to Lisbon.", []),
        ("My goal is to .", []),
        ("Please answer me .", []),
        ("I usually walked home.", []),
        ("I'd live in Rome.", []),
        ("I'd like a beer.", []),
        ("Where do I live?", []),
        ("I moved to Lisbon in March.", [("home", "Lisbon")]),
        ("I have worked as a nurse since 2019.", [("job", "nurse")]),
        ("I work as a nurse since 2019.", [("job", "nurse")]),
        ("I am a bit older than Tom.", []),
        ("I'm a lot better.", []),
        ("I became a father.", []),
        ("Clara lives in Faro.", [("clara's home", "Faro")]),
        ("My brother moved to Berlin in May.", [("brother's home", "Berlin")]),
        ("Tom works as a vet.", [("tom's job", "vet")]),
        ("Dinner moved to Friday.", []),
        ("Everyone moved to Berlin.", []),
        ("I am a retired engineer now.", [("job", "retired engineer")]),
        ("If I moved to Rome, I would be happy.", []),
        ("She said I live in Rome.", []),
        ("Ich wohne in Berlin. 我住在上海。", []),
    ],
)
def test_facts(said: str, wanted: list[tuple[str, str]]) -> None:
    assert [(fact.key, fact.value) for fact in facts_of(said)] == wanted


BEGINNINGS = [
    "I live in ",
    "My ",
    "I like ",
    "I am allergic to ",
    "Please answer me ",
    "I never ",
    "My goal is to ",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(BEGINNINGS), st.text(max_size=40)), max_size=12).map("".join))
def test_whatever_is_said_can_be_stored_and_was_said(text: str) -> None:
    said = text.casefold().replace("’", "'")
    for fact in facts_of(text):
        NewItem(fact.kind, fact.key, fact.value, 0)
        made_up = [word for word in content(fact.value) if word not in said]
        assert not made_up, ascii((text, fact))


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "a" + " " * n + "b",
        lambda n: "I like x" + " " * n + "y",
        lambda n: "we" + " just" * n,
        lambda n: "i am a " + "a" * n,
        lambda n: "my the " * n,
        lambda n: "and " * n,
    ],
)
def test_the_rules_read_bounded_clauses(make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []

    def read(clause: str, meant: facts.Meant) -> tuple[facts.Meant, list[facts.Fact]]:
        lengths.append(len(clause))
        return meant, []

    monkeypatch.setattr(facts, "of_clause", read)
    facts_of(make(15_000))
    assert lengths
    assert max(lengths) <= facts.MAX_CLAUSE
