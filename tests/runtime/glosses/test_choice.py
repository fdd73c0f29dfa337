from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import numpy as np

from gamer.index.album.layers.lexical import Word, WordScores
from gamer.runtime.glosses.choice import chosen
from gamer.runtime.glosses.reading import Piece, Reading
from gamer.runtime.glosses.table import Gloss

READING = Reading(
    "es",
    (
        Piece("¿"),
        Piece("El", (Gloss("the", 1.0),)),
        Piece(" "),
        Piece("patio", (Gloss("court", 1.0), Gloss("yard", 0.8), Gloss("pit", 0.3))),
        Piece(" "),
        Piece("de", (Gloss("of", 1.0),)),
        Piece(" Pam 2019?"),
    ),
)


def _holding(*words: str) -> WordScores:
    rows = np.array([0], np.int64)
    found = tuple(Word(word, rows, np.ones(1, np.float32), 1.0) for word in words)
    return cast(WordScores, SimpleNamespace(words=found))


def _look_up(*held: str) -> object:
    def look_up(forms: Sequence[tuple[str, ...]]) -> WordScores:
        none = np.zeros(0, np.int64)
        missing = [Word(form, none, np.zeros(0, np.float32), 1.0) for (form,) in forms if form not in held]
        return WordScores((*_holding(*held).words, *missing), 1)

    return look_up


def test_the_album_chooses_a_gloss_that_it_holds() -> None:
    glossed = chosen(READING, _look_up("yard"))  # type: ignore[arg-type]
    assert glossed.text == "the yard of Pam 2019?"
    assert glossed.forms == (("yard", "court", "pit"), ("pam",), ("2019",))
    assert glossed.lines == ("patio → yard, court, pit",)


def test_without_the_album_the_dictionary_chooses_and_a_weak_gloss_is_not_taken() -> None:
    assert chosen(READING, _look_up()).text == "the court of Pam 2019?"  # type: ignore[arg-type]
    assert chosen(READING, _look_up("pit")).text == "the court of Pam 2019?"  # type: ignore[arg-type]
