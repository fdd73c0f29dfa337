"""Searches for `bench study update`: by the time of the first photo that answers, and what is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamer.bench.retrieval.datasets import DatasetError
from gamer.bench.trained import learning
from gamer.index import Photo
from tests.albums import album_of


@pytest.fixture
def album(tmp_path: Path) -> Path:
    return album_of(tmp_path / "a.gamer", [Photo("new", taken_at=9_000), Photo("old", taken_at=5_000)])


def test_queries_become_searches_in_the_order_of_their_photos(album: Path, tmp_path: Path) -> None:
    rows = [
        {"query": "the later one", "relevant": ["gone", "new"]},
        {"query": "nothing here", "relevant": []},
        {"query": "the first one", "relevant": ["old", "new"]},
    ]
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = learning.opened(album, path)
    assert [(s.query, s.photo) for s in found] == [("the first one", "old"), ("the later one", "new")]


@pytest.mark.parametrize("row", [{"query": 7, "relevant": ["new"]}, {"query": "a", "relevant": "new"}])
def test_what_is_no_query_is_refused(album: Path, tmp_path: Path, row: dict[str, object]) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(DatasetError, match='"relevant" a list of photo ids'):
        learning.opened(album, path)
