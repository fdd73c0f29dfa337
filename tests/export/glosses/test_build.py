from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gamer.export.errors import ExportError
from gamer.export.glosses import build, sources
from gamer.export.glosses import entries as entries_of
from gamer.export.glosses.sources import Source
from gamer.runtime.glosses.table import GlossTable, Rule
from tests.export.glosses.conftest import Write

COMMON = {"dog": 1_600, "bridge": 800, "jigger": 50_000, "hound": 14_000, "cat": 2_000}


def _none(language: str) -> Mapping[str, build.Glosses]:
    raise AssertionError(language)


def _words(path: Path, *words: str) -> list[list[str]]:
    table = GlossTable(path)
    return [[gloss.text for gloss in table.lookup(word)] for word in words]


def test_the_commonest_gloss_comes_first_and_a_rare_one_is_left_out(dictd: Write, tmp_path: Path) -> None:
    path = dictd(
        "a", [("brücke", "Brücke\njigger"), ("brücke", "Brücke\nbridge"), ("hund", "Hund\nhound, dog")]
    )
    built = build.build("xx", [Source(path)], _none, COMMON, tmp_path / "glosses-xx.bin")
    assert (built.glossed, built.lemmas, built.size) == (2, False, built.path.stat().st_size)
    assert _words(built.path, "brücke", "brucke", "hund", "katze") == [
        ["bridge"],
        ["bridge"],
        ["dog", "hound"],
        [],
    ]


def test_a_dictionary_from_english_is_turned_round_and_counts_less(dictd: Write, tmp_path: Path) -> None:
    direct, turned = (
        dictd("a", [("кот", "кот\ncat")]),
        dictd("b", [("hound", "кот, собака"), ("dog", "собака")]),
    )
    both = [Source(direct), Source(turned, turned=True)]
    path = build.build("ru", both, _none, COMMON, tmp_path / "t.bin").path
    assert _words(path, "собака", "кот")[0][0] == "dog"
    assert _words(path, "кот")[0][0] == "cat"


def test_a_dictionary_through_another_language_is_followed(dictd: Write, tmp_path: Path) -> None:
    through = dictd("a", [("perro", "perro\nHund"), ("gato", "gato\nKater")])
    back = dictd("b", [("Hund", "Hund\nperro, can"), ("Pferd", "Pferd\ncaballo")])
    both = [Source(through, through="de"), Source(back, turned=True, through="de")]
    between = {"hund": {"dog": 0.5}}
    path = build.build("es", both, lambda code: between, COMMON, tmp_path / "t.bin").path
    assert _words(path, "perro", "can", "gato", "caballo") == [["dog"], ["dog"], [], []]


def test_phrases_and_capitals_are_found_and_abbreviations_are_not(dictd: Write, tmp_path: Path) -> None:
    entries = [("feu d'artifice", "feu d'artifice\nfireworks"), ("am", "AM\nArmenia"), ("été", "été\nsummer")]
    path = build.build("fr", [Source(dictd("a", entries))], _none, COMMON, tmp_path / "t.bin").path
    assert _words(path, "feu d artifice", "am", "ete") == [["fireworks"], [], ["summer"]]


def test_forms_are_led_to_their_word_by_rules_and_exceptions(
    dictd: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lemmas = {f"{stem}en": stem for stem in ("hund", "band", "wort", "berg")} | {
        "brächte": "bringen",
        "xen": "x",
    }
    monkeypatch.setattr(build, "_lemmas", lambda language: lemmas)
    entries = [(word, f"{word}\n{gloss}") for word, gloss in (("hund", "dog"), ("bringen", "bring"))]
    path = build.build("de", [Source(dictd("a", entries))], _none, COMMON, tmp_path / "t.bin").path
    assert _words(path, "hunden", "brächte", "brachte", "katzen") == [["dog"], ["bring"], ["bring"], []]
    header = GlossTable(path).header
    listed = {*sources.KNOWN["words"]["de"], "hund", "bringen", "brächte"}
    plain = {entries_of.without_accents(word) for word in listed}
    assert Rule("en", "") in header.rules
    assert header.words == len(listed | plain)


def test_a_table_that_would_be_too_large_leaves_out_what_is_rare(
    dictd: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "MAX_TABLE", 4_000)
    letters = [chr(97 + a) + chr(97 + b) for a in range(26) for b in range(26)]
    entries = [(f"wort{name}", f"wort{name}\nword{name}") for name in letters] + [("hund", "hund\ndog")]
    built = build.build("de", [Source(dictd("a", entries))], _none, COMMON, tmp_path / "t.bin")
    assert built.size <= 4_000
    assert built.words < len(entries)
    assert _words(built.path, "hund") == [["dog"]]


def test_a_dictionary_without_a_gloss_is_one_line_and_leaves_no_file(dictd: Write, tmp_path: Path) -> None:
    to = tmp_path / "t.bin"
    with pytest.raises(ExportError, match=r"--languages de: no gloss in a.index: is it a dictionary"):
        build.build("de", [Source(dictd("a", [("hund", "123")]))], _none, COMMON, to)
    assert not to.exists()
