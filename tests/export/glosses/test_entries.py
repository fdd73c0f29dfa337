from __future__ import annotations

import pytest

from gamer.export.glosses.entries import cleaned, glosses, without_accents


@pytest.mark.parametrize(
    ("headword", "text", "want"),
    [
        ("hund", "Hund /hʊnt/ <masc>\n [zool.] dog <n>, hound <n>\n   Synonym: {Köter}\n", ["dog", "hound"]),
        ("brücke", 'Brücke\nbridge\n      "eine bauen"  - build a bridge\n\nBöcke\ntrestles', ["bridge"]),
        ("juntos", "juntos /x/\n1. together\n2. at the same time\n", ["together", "at the same time"]),
        ("laufen", "to run; to be fast; sth. quick", ["run", "fast", "quick"]),
        ("dog", "dog\n   [dɘg]\n   1. _n.\n      1) собака, пёс; Dog созвездие", ["собака", "пёс"]),
        ("bold", "<b>fat</b>, <script>alert(1)</script>", ["fat", "alert"]),
        ("long", "x" * 10_000 + ", long", ["long"]),
        ("control", "da\x00te, \u202eevil", ["da te", "evil"]),
    ],
)
def test_an_entry_is_read_as_its_glosses(headword: str, text: str, want: list[str]) -> None:
    assert glosses(headword, text) == want


def test_a_gloss_is_a_few_words_of_one_script() -> None:
    assert cleaned("a very long gloss of many words") == ""
    assert cleaned("cake of soap кусок") == ""
    assert cleaned("C3PO") == ""
    assert cleaned("?!") == ""
    assert cleaned("犬") == "犬"
    assert cleaned("в") == "в"
    assert cleaned("b") == ""


def test_an_entry_gives_a_bounded_number_of_glosses() -> None:
    assert len(glosses("x", ", ".join(f"word{chr(97 + n)}" for n in range(26)))) == 12


def test_accents_are_left_out_as_people_type() -> None:
    assert without_accents("où est l'été à Łódź") == "ou est l'ete a Łodz"
