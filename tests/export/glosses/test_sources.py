from __future__ import annotations

from pathlib import Path

import pytest

from gamer.export.errors import ExportError
from gamer.export.glosses import sources
from gamer.export.glosses.sources import Source, parse_dictionaries, parse_languages


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of installed dictionaries: German, French and Russian (through German too)."""
    names = ("deu-eng", "fra-deu", "deu-fra", "eng-fra", "deu-rus")
    for name in (*(f"freedict-{pair}" for pair in names), "mueller7"):
        (tmp_path / f"{name}.index").write_text("")
    monkeypatch.setattr(sources, "INSTALLED", (tmp_path,))
    return tmp_path


def test_installed_dictionaries_are_found(folder: Path) -> None:
    assert parse_languages("installed") == ("de", "fr", "ru")
    assert sources.sources("de", ()) == (Source(folder / "freedict-deu-eng.index"),)
    assert sources.sources("ru", ()) == (
        Source(folder / "mueller7.index", turned=True),
        Source(folder / "freedict-deu-rus.index", turned=True, through="de"),
    )
    assert sources.sources("fr", ()) == (
        Source(folder / "freedict-eng-fra.index", turned=True),
        Source(folder / "freedict-fra-deu.index", through="de"),
        Source(folder / "freedict-deu-fra.index", turned=True, through="de"),
    )


def test_no_language_is_followed_through_one_with_a_smaller_dictionary(folder: Path) -> None:
    (folder / "freedict-pol-eng.index").write_text("")
    (folder / "freedict-deu-pol.index").write_text("")
    through = {code: {source.through for source in sources.sources(code, ())} for code in ("de", "pl")}
    assert through == {"de": {""}, "pl": {"", "de"}}


def test_given_dictionaries_take_the_place_of_installed_ones(folder: Path) -> None:
    (folder / "eng-de.tsv").write_text("")
    given = parse_dictionaries([f"de={folder / 'eng-de.tsv'}"])
    assert sources.sources("de", given) == (Source(folder / "eng-de.tsv", turned=True),)
    assert parse_languages("fr", given) == ("de", "fr")


def test_a_language_without_a_dictionary_says_what_to_install(folder: Path) -> None:
    with pytest.raises(ExportError, match=r"--languages es: .*dict-freedict-spa-eng.*--dictionary es=FILE"):
        sources.sources("es", ())


@pytest.mark.parametrize("text", ["english", "en", "DE", "d/e", "--"])
def test_a_code_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ExportError, match="must be a code of another language"):
        parse_languages(text)


@pytest.mark.parametrize("item", ["de", "de=", "de=nothing.tsv", "de=words.txt", "en=words.tsv"])
def test_a_dictionary_that_is_none_is_refused(item: str) -> None:
    with pytest.raises(ExportError, match=r"^--dictionary"):
        parse_dictionaries([item])


def test_what_is_installed_is_said_in_one_line() -> None:
    assert sources.found(("de", "fr")).startswith(
        "queries are also read in: de, fr; for other languages install"
    )
    assert sources.found(()).startswith("queries are read in English alone; ")
