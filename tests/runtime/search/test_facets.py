"""Facets that a query names: what is taken out of it, and which photos are left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from gamer.runtime.questions.reader import read
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.facets import known
from gamer.runtime.search.options import AS_ASKED
from tests.albums import engine_of, note

NOW = datetime(2026, 11, 21, 12)
PHOTOS: list[dict[str, object]] = [
    {"id": "high", "orientation": "portrait", "camera": "Apple iPhone 12", "taken_at": "2024-03-01T10:00:00"},
    {"id": "wide", "orientation": "landscape", "camera": "Canon EOS 5D", "lat": 48.1, "lon": 11.5},
    {"id": "both", "orientation": "landscape", "camera": "Apple iPhone 12", "lat": 48.1, "lon": 11.5},
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_of(tmp_path, (photo | {"memories": note("a garden")} for photo in PHOTOS)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "rest", "ids"),
    [
        ("garden in portrait format", "garden", {"high"}),
        ("vertical photos of the garden", "photos of the garden", {"high"}),
        ("photos in landscape", "photos", {"wide", "both"}),
        ("photos without a date", "photos", {"wide", "both"}),
        ("gardens with no location", "gardens", {"high"}),
        ("gardens taken with the iPhone", "gardens", {"high", "both"}),
        ("shot on iPhone 12?", "photos", {"high", "both"}),
        ("horizontal photos taken with my iPhone", "photos", {"both"}),
    ],
)
def test_a_facet_is_taken_out_of_the_query_and_leaves_its_photos(
    engine: Engine, query: str, rest: str, ids: set[str]
) -> None:
    assert read(query, has=known(engine.album)).query == rest
    answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert {hit.id for hit in answer.hits} == ids
    assert answer.trace.query == query


@pytest.mark.parametrize(
    "query",
    [
        "a portrait of Anna",
        "the landscape with the lake",
        "dinner with the family",
        "a child with an apple",
        "the boy on the 12",
        "taken with the Nikon",  # the album has none
        "videos of the cat",  # nor a clip
        "a date with Anna",
        "the place without a name",
    ],
)
def test_words_that_are_no_facet_stay_in_the_query(engine: Engine, query: str) -> None:
    answer = engine.search(query, now=NOW, options=AS_ASKED)
    assert len(answer.hits) == len(PHOTOS)


def test_facets_alone_are_certain_and_counted(engine: Engine) -> None:
    answer = engine.search("how many photos without a date", now=NOW, options=AS_ASKED)
    assert (answer.count, answer.presence) == (2, 1.0)
