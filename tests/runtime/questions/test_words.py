"""The vocabulary is data: sorted, one word a line, each role's words once."""

from __future__ import annotations

from pathlib import Path

import pytest

from gamer.runtime.questions import words
from gamer.runtime.questions.words import text_of, words_of

LINES = Path(words.__file__).with_name("en.txt").read_text(encoding="utf-8").splitlines()


def test_each_role_lists_its_words_once_and_sorted() -> None:
    roles: dict[str, list[str]] = {}
    for line in LINES:
        if line.startswith("["):
            assert line not in roles, f"{line} stands twice"
            role = roles.setdefault(line, [])
        elif line and not line.startswith("#"):
            role.append(line.partition(" = ")[0])
    for name, listed in roles.items():
        assert listed == sorted(set(listed)), name


def test_spelling_phrases_and_contractions_give_the_usual_word() -> None:
    assert [word.key for word in words_of("whats the most recent pic w/o people")] == [
        *("what", "the", "most recent", "pic", "without", "people"),
    ]


def test_what_is_quoted_has_no_role() -> None:
    quoted = words_of('a sign that says "before the second photo"')[5:-1]
    assert not any(word.values for word in quoted)


@pytest.mark.parametrize("text", ["Tom's cat, at last!", "kick-off at St. Pancras", "x (y) z"])
def test_words_are_written_as_they_were(text: str) -> None:
    assert text_of(words_of(text)).rstrip("!") == text.rstrip("!")
