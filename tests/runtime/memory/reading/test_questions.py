"""Which facts a question asks for."""

from __future__ import annotations

import pytest

from gamer.index.memory.records import Item, NewItem
from gamer.runtime.memory.reading.questions import fitting, people_of, read

FACTS = {
    "home": "Linz",
    "likes hiking": "like hiking",
    "likes rain": "hate rain",
    "sister's home": "Rome",
    "sister's likes tea": "likes tea",
    "sister's name": "Clara",
    "persona: name": "Sam",
}


def items() -> list[Item]:
    return [
        Item(at, NewItem("core", key, text, at), False) for at, (key, text) in enumerate(FACTS.items(), 1)
    ]


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("What do you know about me?", ["home", "likes hiking", "likes rain", "persona: name"]),
        ("what have I told you so far?", ["home", "likes hiking", "likes rain", "persona: name"]),
        ("Who am I?", ["home", "likes hiking", "likes rain", "persona: name"]),
        ("What do you know about Clara?", ["sister's home", "sister's likes tea", "sister's name"]),
        ("What do I like?", ["likes hiking"]),
        ("what do I hate?", ["likes rain"]),
        ("What does Clara like?", ["sister's likes tea"]),
        ("What does Clara look like?", []),
        ("What do you know about Berlin?", []),
        ("Does Clara know about the party?", []),
        ("What don't I like?", ["likes rain"]),
        ("What do I enjoy most?", ["likes hiking"]),
        ("What do you know about cooking?", []),
        ("Do I like rain?", ["likes rain"]),
    ],
)
def test_a_question_asks_for_facts(question: str, keys: list[str]) -> None:
    known = items()
    assert [one.value.key for one in fitting(read(question, people_of(known)), known)] == keys
