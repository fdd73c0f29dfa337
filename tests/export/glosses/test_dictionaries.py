from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gamer.export.errors import ExportError
from gamer.export.glosses import dictionaries
from tests.export.glosses.conftest import Write

ENTRIES = [
    ("00databaseinfo", "Made for a test.\nLicence: CC0"),
    ("hund", "Hund /hʊnt/\ndog"),
    ("ähre", "Ähre\near"),
]


def test_the_same_entries_are_read_of_every_kind(dictd: Write, stardict: Write, tmp_path: Path) -> None:
    want = ENTRIES[1:]
    assert list(dictionaries.read(dictd("a", ENTRIES))) == want
    assert list(dictionaries.read(stardict("b", want))) == want
    tsv = tmp_path / "c.tsv"
    tsv.write_text("# CC0\nhund\tdog\thound\n\nähre\tear\n", encoding="utf-8")
    assert list(dictionaries.read(tsv)) == [("hund", "dog; hound"), ("ähre", "ear")]


def test_a_dictionary_says_its_licence_in_one_line(dictd: Write, stardict: Write, tmp_path: Path) -> None:
    assert dictionaries.about(dictd("a", ENTRIES)) == "Made for a test. Licence: CC0"
    assert "licence=CC0" in dictionaries.about(stardict("b", ENTRIES))
    tsv = tmp_path / "c.tsv"
    tsv.write_text("hund\tdog\n")
    assert "not stated" in dictionaries.about(tsv)


@pytest.mark.parametrize(
    ("index", "text", "message"),
    [
        ("hund\tA\n", b"dog", "three fields"),
        ("hund\tA\t////////\n", b"dog", "behind the end"),
        ("hund\t!\tB\n", b"dog", "cannot be read"),
        ("hund\tA\tB\n", b"\x1f\x8bnot gzip", "cannot be read"),
    ],
)
def test_a_damaged_dictionary_is_one_line(index: str, text: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.dict.dz").write_bytes(text)
    path = tmp_path / "x.index"
    path.write_text(index)
    with pytest.raises(ExportError, match=message) as caught:
        list(dictionaries.read(path))
    assert "\n" not in str(caught.value)
    assert "x.index" in str(caught.value)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dictionaries, "MAX_FILE", 1_000)
    (tmp_path / "x.dict.dz").write_bytes(gzip.compress(bytes(100_000)))
    path = tmp_path / "x.index"
    path.write_text("hund\tA\tB\n")
    with pytest.raises(ExportError, match=r"x.dict.dz has more than 0 MB"):
        list(dictionaries.read(path))


def test_long_headwords_are_skipped_and_long_entries_cut(dictd: Write) -> None:
    entries = [("a" * 500, "x"), ("hund", "dog, " * 10_000)]
    ((headword, text),) = dictionaries.read(dictd("a", entries))
    assert headword == "hund"
    assert len(text) == dictionaries.MAX_ENTRY
