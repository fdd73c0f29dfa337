from __future__ import annotations

import pytest

from gamer.export.glosses.writing import Spelling
from gamer.runtime.glosses.guess import ranks
from gamer.runtime.glosses.letters import Names
from gamer.runtime.glosses.reading import Reader
from tests.runtime.glosses.conftest import MakeTable

ENGLISH = ranks(
    {
        word: number
        for number, word in enumerate(
            ["the", "of", "and", "a", "in", "on", "with", "my", "son", "beach", "dog", "cake", "chocolate"]
        )
    }
    | {word: 9_000 + number for number, word in enumerate(["josh", "main", "die", "swim", "look"])}
)
NAMES = Names(["Josh Miller", "Melanie", "John", "Caroline"])
GERMAN = {
    "der": {"the": 1.0},
    "die": {"the": 1.0},
    "mit": {"with": 1.0},
    "hund": {"dog": 1.0, "hound": 0.4, "mine car": 0.05},
    "strand": {"beach": 1.0},
    "schokolade": {"chocolate": 1.0},
    "schokoladen": {"chocolate": 1.0},
    "torte": {"cake": 1.0},
    "hat": {"holds": 1.0, "have": 0.6},
    "gestern abend": {"last night": 1.0},
}


@pytest.fixture
def reader(table: MakeTable) -> Reader:
    spanish = {"el": {"the": 1.0}, "perro": {"dog": 1.0}, "ver": {"look": 1.0}, "en": {"in": 1.0}}
    russian = {"собака": {"dog": 1.0}, "на": {"on": 1.0}, "пляже": {"beach": 1.0}}
    japanese = {"犬": {"dog": 1.0}, "海": {"beach": 1.0}, "犬小屋": {"kennel": 1.0}}
    tables = [
        table(Spelling("de", links=("", "n")), GERMAN),
        table(Spelling("es", endings=("lo",)), spanish),
        table(Spelling("fr"), {"chien": {"dog": 1.0}, "le": {"the": 1.0}, "plage": {"beach": 1.0}}),
        table(Spelling("ru"), russian),
        table(Spelling("ja", spaceless=True), japanese),
    ]
    return Reader(tables, ENGLISH)


def _read(reader: Reader, text: str) -> list[tuple[str, list[str]]]:
    reading = reader.read(text, NAMES)
    assert reading is not None
    pieces = [(piece.said, [option.text for option in piece.options]) for piece in reading.pieces]
    return [(said, options) for said, options in pieces if options]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("der Hund am Strand", "de"),
        ("el perro", "es"),
        ("perro", "es"),
        ("le chien", "fr"),
        ("Josh mit Hund", "de"),
        ("собака на пляже", "ru"),
        ("犬と海", "ja"),
    ],
)
def test_the_language_is_told_from_few_words(reader: Reader, text: str, language: str) -> None:
    reading = reader.read(text, NAMES)
    assert reading is not None
    assert reading.language == language


@pytest.mark.parametrize(
    "text",
    ["the dog on the beach", "my son", "die", "Josh in the main", "it's a dog", "Josh", "", "2019", "xyzzy"],
)
def test_an_english_query_is_left_as_it_is(reader: Reader, text: str) -> None:
    assert reader.read(text, NAMES) is None


def test_words_are_glossed_and_a_rare_gloss_is_not_taken(reader: Reader) -> None:
    assert _read(reader, "Der Hund am Strand!") == [
        ("Der", ["the"]),
        ("Hund", ["dog", "hound"]),
        ("Strand", ["beach"]),
    ]


def test_the_longest_phrase_is_taken(reader: Reader) -> None:
    assert _read(reader, "gestern  Abend mit Hund")[0] == ("gestern  Abend", ["last night"])


def test_a_compound_is_split_into_its_words(reader: Reader) -> None:
    assert _read(reader, "die Schokoladentorte")[1:] == [("schokoladen", ["chocolate"]), ("torte", ["cake"])]


def test_a_word_that_says_little_comes_first_among_its_glosses(reader: Reader) -> None:
    reading = reader.read("der Hund hat", NAMES)
    assert reading is not None
    assert reading.pieces[-1].options[0].text == "have"
    assert reading.pieces[-1].says_nothing


def test_a_pronoun_at_the_end_of_a_verb_is_cut_off(reader: Reader) -> None:
    assert _read(reader, "el perro verlo")[-1] == ("verlo", ["look"])


def test_an_article_before_an_apostrophe_goes(reader: Reader) -> None:
    reading = reader.read("l'chien d'plage", NAMES)
    assert reading is not None
    assert "".join(piece.said for piece in reading.pieces) == "chien plage"


def test_names_stay_and_those_of_other_scripts_meet_the_albums(reader: Reader) -> None:
    assert _read(reader, "Josh mit Hund") == [("mit", ["with"]), ("Hund", ["dog", "hound"])]
    assert _read(reader, "собака Кэролайн на пляже с Мелани")[1] == ("Кэролайн", ["Caroline"])
    assert _read(reader, "собака с Джоном")[-1] == ("Джоном", ["John"])


def test_a_run_without_spaces_is_read_by_its_longest_words(reader: Reader) -> None:
    assert _read(reader, "犬小屋と海") == [("犬小屋", ["kennel"]), ("海", ["beach"])]


def test_without_a_table_of_its_script_only_the_albums_names_are_read() -> None:
    reader = Reader([], ENGLISH)
    assert _read(reader, "фото Мелани") == [("Мелани", ["Melanie"])]
    assert reader.read("фото собаки", NAMES) is None


def test_a_query_of_many_words_is_read_up_to_a_bound(reader: Reader) -> None:
    assert len(_read(reader, "Hund " * 1_000)) == 48


def test_a_word_as_long_as_no_compound_is_not_split(table: MakeTable) -> None:
    words = {"torte": {"cake": 1.0}} | {"a" * letters: {"cat": 1.0} for letters in (94, 95, 96)}
    reader = Reader([table(Spelling("de", links=("",)), words)], ENGLISH)
    assert _read(reader, "Torte " + "a" * 94 + "torte")[-1] == ("torte", ["cake"])
    assert len(_read(reader, "Torte " + "a" * 96 + "torte")) == 1
