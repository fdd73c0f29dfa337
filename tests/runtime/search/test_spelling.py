"""Spelling is mended with English words in English queries only."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gamer.runtime.search.spelling import mended

ALBUM: Any = SimpleNamespace(
    listed_entities=lambda: [SimpleNamespace(name="Berta")],
    words=lambda text: SimpleNamespace(words=()),
)
MODELS: Any = SimpleNamespace(
    text=SimpleNamespace(words={"house": 5, "torque": 6, "table": 7}),
    gazetteer=SimpleNamespace(lookup=lambda name: ()),
)


@pytest.mark.parametrize(
    ("query", "right"),
    [
        ("the hause of my friend", "the house of my friend"),
        ("wir sind am hause mit dem Hund", "wir sind am hause mit dem Hund"),
        ("en la tabla con el perro", "en la tabla con el perro"),
        ("der Hund mit Bertha", "der Hund mit Berta"),
    ],
)
def test_words_of_another_language_are_not_mended_and_names_are(query: str, right: str) -> None:
    assert mended(query, ALBUM, MODELS) == right
