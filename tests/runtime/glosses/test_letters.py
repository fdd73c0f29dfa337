from __future__ import annotations

import pytest

from gamer.runtime.glosses.letters import Names, latin

NAMES = Names(["Caroline", "John Smith", "Nate", "Joanna", "Maria", "Amy", "Hailey Johnson", "PM", "Montana"])


@pytest.mark.parametrize(
    ("word", "want"),
    [
        ("Наташа", "natasha"),
        ("Ёлка", "elka"),
        ("Αθήνα", "athina"),
        ("たこ", "tako"),
        ("한국", "hangug"),
        ("Café", "cafe"),
        ("犬", ""),
    ],
)
def test_letters_are_turned_one_by_one(word: str, want: str) -> None:
    assert latin(word) == want


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("Кэролайн", "Caroline"),
        ("Джона", "John"),
        ("Джоанны", "Joanna"),
        ("Марией", "Maria"),
        ("Хейли", "Hailey"),
        ("Эми", "Amy"),
        ("Джоном", "John"),
        ("стол", None),
    ],
)
def test_names_meet_names_in_any_case(word: str, name: str | None) -> None:
    assert NAMES.like(word) == name


def test_the_words_of_a_name_are_names_and_others_are_not() -> None:
    assert "smith" in NAMES
    assert "Smith" in NAMES
    assert "table" not in NAMES
    assert Names(["red wine"]).like("вине") is None
