"""The album in six languages: its queries name its photos, and a search does not fall below BM25."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gamer.bench import languages
from gamer.bench.study.declaration import NoSettings, Run


def test_the_album_has_photos_and_queries_in_six_languages() -> None:
    asked = languages.queries()
    photos = Counter(one.photo[:2] for one in {one.photo: one for one in asked}.values())
    assert len(photos) == 6
    assert set(Counter(q.language for q in asked if q.kind == "asked").values()) == {8}
    assert Counter(one.kind for one in asked)["words"] > 300


@pytest.mark.slow
def test_a_search_in_another_language_is_not_below_the_words_alone(bundle: Path, tmp_path: Path) -> None:
    for row in languages.measure(Run(NoSettings(), (bundle,), home=tmp_path, threads=2)).rows:
        assert row.search >= row.bm25, row
        assert row.search_first >= row.bm25_first, row
