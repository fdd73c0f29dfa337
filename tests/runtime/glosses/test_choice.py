from __future__ import annotations

from gamer.runtime.glosses.choice import Holding, chosen
from gamer.runtime.glosses.reading import Piece, Reading
from gamer.runtime.glosses.table import Gloss

READING = Reading(
    "¿El patio de Pam 2019?",
    "es",
    (
        Piece("¿"),
        Piece("El", (Gloss("the", 1.0),), "El"),
        Piece(" "),
        Piece(
            "patio", (Gloss("court", 1.0), Gloss("yard", 0.8), Gloss("pit", 0.3)), "patio", is_english=True
        ),
        Piece(" "),
        Piece("de", (Gloss("of", 1.0),), "de"),
        Piece(" Pam 2019?"),
    ),
)


def _holding(*held: str) -> Holding:
    """The words of an album whose memory holds `held`."""
    return lambda words: set(held) & set(words)


def test_the_album_chooses_a_gloss_that_it_holds() -> None:
    glossed = chosen(READING, _holding("yard"))
    assert glossed is not None
    assert glossed.text == "the yard of Pam 2019?"
    assert glossed.forms == (("yard", "court", "pit"), ("pam",), ("2019",))
    assert glossed.lines == ("patio → yard, court, pit",)


def test_without_the_album_the_dictionary_chooses_and_a_weak_gloss_is_not_taken() -> None:
    for held in ((), ("pit",)):
        glossed = chosen(READING, _holding(*held))
        assert glossed is not None
        assert glossed.text == "the court of Pam 2019?"


OWN = Reading(
    "perro en Strandcafé",
    "es",
    (
        Piece("perro", (Gloss("dog", 1.0),), "perro"),
        Piece(" "),
        Piece("en", (Gloss("in", 1.0),), "en"),
        Piece(" "),
        Piece("strand", (Gloss("beach", 1.0),), "Strandcafé"),
        Piece("café", (Gloss("coffee", 1.0), Gloss("take", 0.4)), "Strandcafé"),
    ),
)


def test_the_querys_own_words_stay_beside_their_glosses() -> None:
    glossed = chosen(OWN, _holding("dog"))
    assert glossed is not None
    assert glossed.text == "dog in beachcoffee"
    assert glossed.forms == (
        ("perro", "dog"),
        ("strandcafé", "beach"),
        ("strandcafé", "coffee", "take", "took", "taken"),
    )


def test_an_album_in_the_language_of_the_query_gets_it_as_it_is() -> None:
    glossed = chosen(OWN, _holding("perro", "strandcafé"))
    assert glossed is not None
    assert glossed.text == "perro en Strandcafé"
    assert ("en",) in glossed.forms
    assert ("perro", "dog") in glossed.forms


def test_a_query_of_words_that_say_nothing_is_left_as_it_is() -> None:
    assert chosen(Reading("en", "es", OWN.pieces[2:3]), _holding()) is None
