from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gamer.bench.translated import measure
from gamer.export.glosses.writing import Spelling, encoded
from gamer.runtime.glosses.guess import ranks
from gamer.runtime.glosses.letters import Names
from gamer.runtime.glosses.reading import Reader
from gamer.runtime.glosses.table import GlossTable, Rule

LANGUAGES = ("de", "fr", "es", "ru", "it", "pt", "nl")


def test_there_are_sixty_translations_of_each_language_and_no_english_text() -> None:
    asked = measure.asked()
    assert len({(one.dataset, one.user, one.id) for one in asked}) == len(asked) >= 60
    assert all(set(one.texts) == set(LANGUAGES) for one in asked)
    assert set(Counter(one.dataset for one in asked)) == {"camroll-mpr", "lihua", "locomo", "album"}


def test_every_translation_has_the_id_of_a_development_query(shared_data: Path) -> None:
    from gamer.bench.retrieval import datasets

    for dataset, user in {(one.dataset, one.user) for one in measure.asked()}:
        known = {query.id: query for query in datasets.queries(shared_data / dataset, user)}
        mine = [one for one in measure.asked() if (one.dataset, one.user) == (dataset, user)]
        assert all(one.id in known and known[one.id].text not in one.texts.values() for one in mine)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    words = {"hund": {"dog": 1.0, "hound": 0.9}, "am strand": {"on the beach": 1.0}}
    path = tmp_path / "glosses-de.bin"
    path.write_bytes(encoded(Spelling("de", (Rule("e", ""),)), words, {word: [word] for word in words}))
    return Reader([GlossTable(path)], ranks({"the": 0, "dog": 1, "josh": 9_000}))


def test_each_ablation_takes_its_part_away(reader: Reader) -> None:
    table = reader.tables["de"]
    look = {what: lambda word, lookup=lookup: lookup(table, word) for what, lookup in measure.ABLATED.items()}
    assert table.lookup("hunde")
    assert not look["inflection"]("hunde")
    assert look["inflection"]("hund")
    assert table.lookup("am strand")
    assert not look["phrases"]("am strand")
    assert [gloss.text for gloss in look["other glosses"]("hund")] == ["dog"]
    weights = [round(gloss.weight, 2) for gloss in look["the album's choice"]("hund")]
    assert weights[0] == 1.0
    assert weights[1] < 0.6


def test_the_share_of_glossed_words_leaves_out_names_and_counts_phrases(reader: Reader) -> None:
    share = measure._words_glossed(reader, "de", "Josh, Hund, am Strand, Kater", Names(["Josh"]))
    assert share == (2, 3)  # "am" is a word of English too; kater has no gloss
