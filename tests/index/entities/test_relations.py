"""Which entities of a memory describe others, and how."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index import extract

CHAIR = ("chair", "", "")


def triplets(text: str) -> set[tuple[str, str, str]]:
    """(head, relation, tail) of each relation in `text`; (name, "", "") of what describes nothing."""
    return {(m.parent, m.relation, m.name) if m.parent else (m.name, "", "") for m in extract(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The chair at IKEA costs $119", {CHAIR, ("chair", "at", "IKEA"), ("chair", "costs", "$119")}),
        ("Chair: 119 at IKEA", {CHAIR, ("chair", "at", "IKEA"), ("chair", "costs", "119")}),
        (
            "We bought a wooden chair for $119 at IKEA.",
            {("wooden chair", "", ""), ("wooden chair", "costs", "$119"), ("wooden chair", "at", "IKEA")},
        ),
        (
            "Ramen at Ichiran in Shibuya with Anna and Tom.",
            {
                ("ramen", "", ""),
                ("ramen", "at", "Ichiran"),
                ("Ichiran", "in", "Shibuya"),
                ("ramen", "with", "Anna"),
                ("ramen", "with", "Tom"),
            },
        ),
        (
            "Bella is Anna's dog.",
            {("bella", "", ""), ("bella", "is", "dog"), ("dog", "of", "Anna")},
        ),
        (
            "We met Tom at the station in Graz",
            {("Tom", "", ""), ("Tom", "at", "station"), ("station", "in", "Graz")},
        ),
        ("In Anna's garden we ate", {("garden", "", ""), ("garden", "of", "Anna")}),
        ("In Tokyo I ate sushi", {("sushi", "", ""), ("sushi", "in", "Tokyo")}),
        ("On May 3 we had lunch", {("lunch", "", ""), ("lunch", "on", "May 3")}),
        ("lunch in Kyoto, Japan", {("lunch", "", ""), ("lunch", "in", "Kyoto"), ("Kyoto", "in", "Japan")}),
        ("a gift from Tom, a red kite", {("gift", "", ""), ("gift", "from", "Tom"), ("red kite", "", "")}),
        # A new sentence, and a word that relates nothing, begin anew.
        ("We saw a chair. At IKEA we had lunch", {CHAIR, ("lunch", "", ""), ("lunch", "at", "IKEA")}),
    ],
)
def test_words_between_entities_relate_them(text: str, expected: set[tuple[str, str, str]]) -> None:
    assert triplets(text) == expected


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("Anna: 5 minutes late, sorry", True),
        ("Anna: see you", True),
        ("Chair: 119 at IKEA", False),
        ("Chair: 119", False),
    ],
)
def test_a_name_before_a_colon_speaks_unless_a_note_follows(text: str, speaks: bool) -> None:
    assert any(mention.kind == "person" for mention in extract(text)) == speaks


@pytest.mark.parametrize("word", ["met", "costs", "bought", "wore"])
def test_a_verb_is_no_entity(word: str) -> None:
    assert word not in {mention.name for mention in extract(f"My sister {word} the green umbrella")}


_WORDS = """
chair IKEA Tokyo Anna Tom's dog is at in with and , . : ; 119 $5 costs the May 3 met ’s Café
"""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*_WORDS.split(), "\n"]), max_size=30).map(" ".join))
def test_relations_never_go_round_and_name_what_is_there(text: str) -> None:
    mentions = {mention.name: mention for mention in extract(text)}
    for mention in mentions.values():
        seen = {mention.name}
        above = mention.parent
        assert bool(above) or not mention.relation
        while above is not None:
            assert above in mentions, (text, mentions)
            assert above not in seen, (text, mentions)
            seen.add(above)
            above = mentions[above].parent
