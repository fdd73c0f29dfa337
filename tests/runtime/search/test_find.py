"""What is found around the engine's ranking, on the sample album with the real models."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import AS_ASKED

pytestmark = pytest.mark.slow
NOW = datetime(2026, 11, 21)


@pytest.fixture(scope="module")
def engine(bundle: Path, sample_album: Path) -> Iterator[Engine]:
    with Engine.open(bundle, sample_album) as opened:
        yield opened


def test_a_place_without_photos_makes_an_answer_doubtful(engine: Engine) -> None:
    there = engine.search("motorcycle in Berlin", now=NOW, options=AS_ASKED)
    assert not there.doubtful
    assert there.hits[0].id.startswith("motorcycle")
    elsewhere = engine.search("motorcycle in Hamburg", now=NOW, options=AS_ASKED)
    assert elsewhere.doubtful
    assert "no photo in Hamburg" in elsewhere.trace.cues
    assert elsewhere.hits[0].probability < 0.5


def test_what_is_not_wanted_is_left_out_and_the_engine_itself_is_unchanged(engine: Engine) -> None:
    assert "coffee" in [hit.id for hit in engine.search("Anna but not coffee", now=NOW).hits]
    answer = engine.search("Anna but not coffee", now=NOW, options=AS_ASKED)
    assert "coffee" not in [hit.id for hit in answer.hits]
    assert answer.trace.query == "Anna but not coffee"


def test_misspelt_words_are_mended_only_where_nothing_was_found(engine: Engine) -> None:
    answer = engine.search("motorcyle in Berln", now=NOW, options=AS_ASKED)
    assert answer.hits[0].id.startswith("motorcycle")
    assert not answer.doubtful
    assert (
        engine.search("my cat", now=NOW, options=AS_ASKED).trace.cues
        == engine.search("my cat", now=NOW).trace.cues
    )


def test_photos_are_counted(engine: Engine) -> None:
    assert engine.search("how many photos from Berlin do I have", now=NOW, options=AS_ASKED).count == 2
    assert engine.search("how many from Berlin", now=NOW, options=AS_ASKED).count == 2
    assert engine.search("how many in Berlin in 1990", now=NOW, options=AS_ASKED).count == 0
    assert engine.search("photos from Berlin", now=NOW, options=AS_ASKED).count is None


@pytest.mark.parametrize("query", ["giraffe", "how many windmills"])
def test_an_answer_says_that_pictures_cannot_be_searched_for_a_word(engine: Engine, query: str) -> None:
    answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert answer.doubtful
    assert answer.count is None
    assert answer.note
    assert answer.note.startswith("pictures cannot be searched for ")


def test_what_a_class_or_a_memory_shows_is_searched_as_before(engine: Engine) -> None:
    for query in ("cat", "beach", "Emma's theatre play"):
        assert engine.search(query, now=NOW, options=AS_ASKED).note is None
