from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from gamer.export.glosses.writing import Spelling, encoded
from gamer.runtime.errors import BundleError
from gamer.runtime.glosses.table import BLOCK, LEAST_STEM, START, GlossTable, Rule, RuleSet, folded
from tests.runtime.glosses.conftest import MakeTable


def test_every_word_is_found_as_a_plain_dictionary_finds_it(table: MakeTable) -> None:
    letters = "abcdeäöшщ"
    numbers = np.random.default_rng(5).integers(0, len(letters), (700, 6))
    words = {
        "".join(letters[n] for n in row[: 2 + at % 5]): {f"g{at % 97}": 1.0} for at, row in enumerate(numbers)
    }
    made = table(Spelling("de"), words)
    assert made.header.words == len(words)
    for word, glosses in words.items():
        assert [gloss.text for gloss in made.lookup(word)] == list(glosses)
        assert made.lookup(word + "x") == ()
    assert made.lookup("") == ()
    assert made.lookup("ä" * 300) == ()
    assert made.lookup("\ud800") == ()


def test_glosses_come_in_order_with_their_weights(table: MakeTable) -> None:
    made = table(Spelling("de"), {"schloss": {"lock": 0.5, "castle": 1.0, "bolt": 0.1}})
    assert [(gloss.text, round(gloss.weight, 1)) for gloss in made.lookup("schloss")] == [
        ("castle", 1.0),
        ("lock", 0.5),
        ("bolt", 0.1),
    ]


def test_a_form_has_the_glosses_of_all_its_words(tmp_path: Path) -> None:
    words = {"arm": {"poor": 1.0}, "armee": {"army": 1.0}}
    path = tmp_path / "t.bin"
    path.write_bytes(encoded(Spelling("de"), words, {"arme": ["arm", "armee"]}))
    assert {gloss.text for gloss in GlossTable(path).lookup("arme")} == {"poor", "army"}


def test_rules_by_their_endings_agree_with_the_list_of_them() -> None:
    rules = (
        Rule("ungen", "ung"),
        Rule("en", ""),
        Rule("en", "e"),
        Rule("n", ""),
        Rule("s", ""),
        Rule("", "n"),
    )
    for word in ("katzen", "dingen", "dings", "achtungen", "hunden", "as", "x", "katze"):
        plain = [
            word[: len(word) - len(rule.ending)] + rule.base
            for rule in rules
            if word.endswith(rule.ending) and len(word) - len(rule.ending) >= LEAST_STEM
        ]
        assert RuleSet(rules).bases(word) == plain
        assert RuleSet(rules[::-1]).bases(word) == plain[::-1]


def test_rules_lead_an_inflected_word_to_the_first_base_that_is_there(table: MakeTable) -> None:
    rules = (Rule("en", "en"), Rule("en", "e"), Rule("s", ""))
    made = table(Spelling("de", rules), {"katze": {"cat": 1.0}, "hund": {"dog": 1.0}})
    assert made.lookup("katzen")[0].text == "cat"
    assert made.lookup("hunds")[0].text == "dog"
    assert made.lookup("hunden") == ()
    assert made.lookup("die katzen") == ()


@pytest.mark.parametrize(
    ("text", "want"),
    [("Straße", "strasse"), ("ЁЛКА", "елка"), ("Œuvre", "oeuvre"), ("e\u0301te\u0301", "été")],
)
def test_spelling_is_folded(text: str, want: str) -> None:
    assert folded(text) == want


def test_a_damaged_table_is_one_line(table: MakeTable) -> None:
    made = table(Spelling("de"), {f"wort{n}": {f"word{n}": 1.0} for n in range(40)})
    data = made.path.read_bytes()
    for broken in (b"", b"GmGl", data[:-1], b"XXXX" + data[4:], data[:4] + b"\x09" + data[5:], data + b"\0"):
        made.path.with_suffix(".x").write_bytes(broken)
        with pytest.raises(
            BundleError, match=r"not a table of glosses \(.*export the bundle again"
        ) as caught:
            GlossTable(made.path.with_suffix(".x"))
        assert "\n" not in str(caught.value)


def test_no_bytes_of_the_sections_make_a_reader_loop_or_leave_the_file(table: MakeTable) -> None:
    made = table(Spelling("de"), {f"wort{n}": {f"word{n}": 1.0} for n in range(40)})
    data, random = made.path.read_bytes(), np.random.default_rng(3)
    begin = len(data) - sum(made.header.sizes)
    for at in range(300):
        broken = bytearray(data)
        broken[int(random.integers(begin, len(data)))] = int(random.integers(256))
        path = made.path.with_suffix(f".{at}")
        path.write_bytes(broken)
        try:
            for n in range(40):
                assert len(GlossTable(path).lookup(f"wort{n}")) <= 4
        except BundleError as error:
            assert "damaged" in str(error)


def test_a_table_of_nothing_knows_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.bin"
    path.write_bytes(encoded(Spelling("de"), {}, {}))
    assert GlossTable(path).lookup("hund") == ()
    assert struct.unpack_from("<4sH", path.read_bytes()) == (b"GmGl", 1)


def test_a_block_ends_after_its_words_however_long_its_section_is(tmp_path: Path) -> None:
    path, words = tmp_path / "t.bin", {f"a{n:02d}": {"dog": 1.0} for n in range(40)}
    path.write_bytes(encoded(Spelling("de"), words, {word: [word] for word in words}))
    data = path.read_bytes()
    # One block whose words all follow each other, as no writer makes it.
    header = data[START.size : START.size + int.from_bytes(data[6:10], "little")]
    said = json.loads(header)
    blocks, listed = said["sizes"][:2]
    said |= {"words": BLOCK, "sizes": [4, *said["sizes"][1:]]}
    text = json.dumps(said).encode()
    rest = data[START.size + len(header) :]
    path.write_bytes(START.pack(b"GmGl", 1, len(text)) + text + rest[:4] + rest[blocks:])
    assert listed > 40 * 4
    assert GlossTable(path).lookup("a15")
    assert GlossTable(path).lookup("a16") == ()
