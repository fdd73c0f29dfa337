"""The vocabulary is data: sorted, one word a line, each role's words once."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gamer.runtime.cues import tables
from gamer.runtime.questions import words
from gamer.runtime.questions.words import language_of_wishes, text_of, words_of

RULES = Path(tables.__file__).with_name("cue_rules.json")


def _roles(language: str) -> dict[str, list[str]]:
    """Role → its words in the vocabulary of a language, each with its reading, in their order."""
    roles: dict[str, list[str]] = {}
    for role, pairs in _pairs()["questions"]["words"][language].items():
        assert len(pairs) == len({word for word, _ in pairs}), f"{role} has a word twice"
        roles[role] = [f"{word} = {reading}" if reading else word for word, reading in pairs]
    return roles


@cache
def _pairs() -> Any:
    """cue_rules.json with the words of each role as pairs, which shows one that stands twice."""

    def pairs(members: list[tuple[str, Any]]) -> Any:
        is_role = bool(members) and all(isinstance(value, str) for _, value in members)
        names = [name for name, _ in members]
        assert is_role or len(names) == len(set(names)), names
        return members if is_role else dict(members)

    return json.loads(RULES.read_text(encoding="utf-8"), object_pairs_hook=pairs)


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "it", "nl", "pt", "ru"])
def test_each_role_lists_its_words_once_and_sorted(language: str) -> None:
    for name, lines in _roles(language).items():
        listed = [line.partition(" = ")[0] for line in lines]
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


@pytest.mark.parametrize("language", ["de", "es", "fr", "it", "nl", "pt", "ru"])
def test_words_of_another_language_say_words_of_the_english_vocabulary(language: str) -> None:
    roles = _roles(language)
    assert roles.keys() <= {"phrase", "spelling"}
    for word in roles.get("phrase", ()):
        assert " " in word
        assert word in {line.partition(" = ")[0] for line in roles["spelling"]}
    for line in roles["spelling"]:
        word, _, english = line.partition(" = ")
        article, written = word.endswith("'"), word.replace("' ", "'")
        said = words_of(f"{word}x", language)[:-1] if article else words_of(written, language)
        assert "".join(one.text for one in said).replace(" ", "") == word.replace(" ", ""), line
        assert " ".join(one.key for one in said) == english, line
        hides_an_english_one = words_of(word)[0].values
        assert hides_an_english_one or _read_words() >= set(english.split()), line


@cache
def _read_words() -> set[str]:
    """The words of the English vocabulary, and those that the reader's code names."""
    english = {word for words in tables.tables().questions.words["en"].values() for word in words}
    lists = {word for words in tables.tables().questions.lists.values() for word in words}
    code = "\n".join(file.read_text(encoding="utf-8") for file in Path(words.__file__).parent.glob("*.py"))
    said = "\n".join([code, *english, *lists])
    return set(re.findall(r"[\w'-]+", said))


def test_a_word_of_another_language_is_one_in_a_query_of_that_language_alone() -> None:
    assert [word.key for word in words_of("la playa sin gente", "es")][2] == "without"
    assert [word.key for word in words_of("sin city", "")] == ["sin", "city"]
    assert words_of("how many", "xx") == words_of("how many", "de") == words_of("how many")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("foto senza persone", "it"),
        ("quante foto del gatto", "it"),
        ("foto prima del matrimonio", "it"),
        ("preferiti", "it"),
        ("foto's na de vakantie", "nl"),
        ("fotos sem cachorro", "pt"),
        ("fotos antes de 2020", ""),  # Spanish, or Portuguese
        ("my favourite photos without people after the party", ""),
        ("sin city", ""),
        ("comic sans", ""),
    ],
)
def test_words_of_a_wish_tell_their_language(text: str, language: str) -> None:
    assert language_of_wishes(text, ("de", "es", "fr", "it", "nl", "pt", "ru")) == language
