"""Words of a query in memories: FTS5's own OR query, other spellings, common words, hostile queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import MonkeyPatch

from gamer.index import Album, Memory, Photo
from gamer.index.album.layers import lexical
from gamer.index.entities.words import spellings
from tests.albums import album_of

TEXTS = [
    "WolfgangSchulz: we took the dogs to the beach",
    "a dog asleep on the sofa, the dog of Anna",
    "Tirion Fordring paints the bench",
    "rain on the beach at New York",
    "",
]
Make = Callable[[list[str]], Album]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    return lambda texts: album_with(tmp_path / "a.gamer", texts)


def album_with(path: Path, texts: list[str]) -> Album:
    notes = ((Memory("note", text),) if text else () for text in texts)
    return Album.open(album_of(path, (Photo(f"p{n}", memories=note) for n, note in enumerate(notes))))


def test_the_sum_over_the_words_is_the_bm25_of_fts5(make: Make) -> None:
    album = make(TEXTS)
    ours = album.words("dog beach rain").bm25
    rows = apsw.Connection(str(album.path)).execute(
        "SELECT m.photo, bm25(memories_fts) FROM memories_fts f JOIN memories m ON m.id = f.rowid "
        "WHERE memories_fts MATCH 'dog OR beach OR rain'"
    )
    theirs = {int(photo): -float(score) for photo, score in rows}
    assert set(np.flatnonzero(ours).tolist()) == set(theirs) == {0, 1, 3}
    for row, score in theirs.items():
        assert ours[row] == pytest.approx(score, rel=1e-5)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["dogs", "dog", "beach", "left-hand", "left", "hand", "Ärger"]), max_size=9),
        min_size=1,
        max_size=9,
    ),
    st.data(),
)
def test_the_bm25_of_each_word_and_phrase_is_that_of_fts5_in_long_memories_too(
    texts: list[list[str]], data: st.DataObject
) -> None:
    long = data.draw(st.integers(0, len(texts) - 1))
    texts[long] = texts[long] * 40  # more words than one byte counts
    with TemporaryDirectory() as folder, MonkeyPatch.context() as patched:
        patched.setattr(lexical, "_COMMON", (1000, 0.0, 1000))
        album = album_with(Path(folder) / "a.gamer", [" ".join(text) for text in texts])
        for form in ("dog", "left-hand", "ärger", "cat"):
            rows = apsw.Connection(str(album.path)).execute(
                "SELECT m.photo, -bm25(memories_fts) FROM memories_fts JOIN memories m "
                "ON m.id = memories_fts.rowid WHERE memories_fts MATCH ?",
                (f'"{form}"',),
            )
            theirs = {int(photo): float(score) for photo, score in rows}
            (word,) = album.words(form).words
            assert dict(zip(word.rows.tolist(), word.bm25.tolist(), strict=True)) == pytest.approx(
                theirs, rel=1e-5
            )
        album.close()


def test_coverage_weighs_rare_words_more_and_counts_words_that_no_memory_has(make: Make) -> None:
    album = make(TEXTS)
    coverage = album.words("rain beach").coverage
    assert coverage[3] == pytest.approx(1.0)
    assert 0 < coverage[0] < 0.5
    assert coverage[4] == 0
    assert album.words("beach zeppelin").coverage.max() < 0.5


@pytest.mark.parametrize(
    ("query", "row"),
    [
        ("Wolfgang Schulz", 0),
        ("TirionFordring", 2),
        ("NewYork", 3),
        ("Anna's dogs", 1),
        ("TIRION'S bench", 2),
    ],
)
def test_names_are_found_written_as_one_word_or_as_two(make: Make, query: str, row: int) -> None:
    assert int(np.argmax(make(TEXTS).words(query).coverage)) == row


def test_words_that_most_memories_hold_are_left_out(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "_COMMON", (2, 0.0, 10))
    album = make(["sun", "sun", "sun", "sun and moon"])
    assert [word.text for word in album.words("sun moon").words] == ["moon"]
    assert not album.words("sun").bm25.any()


def test_spellings_keep_the_plain_word_first() -> None:
    assert spellings("Where did Wolfgang Schulz go?")[0] == ("wolfgang", "wolfgangschulz")
    assert spellings("the") == [("the",)]
    assert spellings("ÉcoleNormale")[0] == ("écolenormale", "école", "normale")
    assert spellings("... !?") == []


@pytest.mark.parametrize(
    "query",
    ['" OR 1=1 --', "NEAR(a b)", "\x00", "a" * 5000, "word " * 500, "🐈", "memories_fts:x", "-dog", "*"],
)
def test_no_query_is_read_as_fts5_syntax(make: Make, query: str) -> None:
    scores = make(TEXTS).words(query)
    assert scores.bm25.shape == (5,)
    assert np.isfinite(scores.coverage).all()
