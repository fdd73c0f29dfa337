"""Clauses that leave their verb out, and clauses that only look so."""

from __future__ import annotations

import pytest

from gamer.runtime.memory.reading.facts import clauses_of, facts_of


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("Peter lives in Aberdeen and Ruth in Truro.", {"peter's home": "Aberdeen", "ruth's home": "Truro"}),
        ("My sister works at Fiat and my brother at Volvo.", {"brother's employer": "Volvo"}),
        ("I work at Shell and my wife Joan at BP.", {"employer": "Shell", "wife's employer": "BP"}),
        ("Anna is 12 and Tom 9.", {"anna's age": "12", "tom's age": "9"}),
        ("I'm 34 and my wife 36.", {"age": "34", "wife's age": "36"}),
        ("I was born in Leeds and Ruth in York.", {"birthplace": "Leeds", "ruth's birthplace": "York"}),
        (
            "Clara moved to Ghent, Tom to Bruges and Ann to Antwerp.",
            {"clara's home": "Ghent", "tom's home": "Bruges", "ann's home": "Antwerp"},
        ),
    ],
)
def test_the_verb_of_the_clause_before_holds(said: str, wanted: dict[str, str]) -> None:
    assert wanted.items() <= {fact.key: fact.value for fact in facts_of(said)}.items()


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I live in Braga and Porto.", [("home", "Braga and Porto")]),
        ("My wife works at BP and Sons.", [("wife's employer", "BP and Sons")]),
        ("I lived in Kent, England in 2012.", [("home before", "Kent")]),
        ("Peter works for Rolls and Royce in Derby.", [("peter's employer", "Rolls and Royce in Derby")]),
        ("We live in Stoke and Peter is in Leeds.", [("home", "Stoke")]),
        ("I moved to Ghent in May and Tom in June.", [("home", "Ghent")]),
        ("I am 40 and Rosa 7 years younger.", [("age", "40")]),
        ("I am 40 and Rosa 7 months old.", [("age", "40")]),
    ],
)
def test_two_values_and_clauses_with_a_verb_are_no_gaps(said: str, wanted: list[tuple[str, str]]) -> None:
    assert [(fact.key, fact.value) for fact in facts_of(said)] == wanted


@pytest.mark.parametrize(
    ("said", "job"),
    [
        ("I deliver parcels in Leeds.", "deliver parcels in Leeds"),
        ("I sell insurance for Aviva.", "sell insurance for Aviva"),
        ("I sell my bike tomorrow.", None),
        ("I fix it every week.", None),
        ("I cleaned windows.", None),
        ("I'm selling cars.", None),
        ("We clean windows together.", None),
        ("I manage fine without sugar.", None),
        ("I build sandcastles with my kids.", None),
    ],
)
def test_what_is_done_for_a_living_is_done_now_and_to_nothing_certain(said: str, job: str | None) -> None:
    assert {fact.key: fact.value for fact in facts_of(said)}.get("job") == job


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I am 40 and Rosa 7 years old.", "Rosa is 7 years old."),
        ("I work at Shell and Anna at BP.", "Anna works at BP."),
        ("Anna is 12 and I 40.", "I am 40."),
    ],
)
def test_the_verb_agrees_with_its_subject(said: str, wanted: str) -> None:
    assert clauses_of(said)[1] == wanted
