"""Titles are one more channel of a search: they move a photo up, and go with what else was learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumWriter
from gamer.index.records import TITLE
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions
from tests.albums import built, note
from tests.fakes import fake_models

ROWS = [{"id": name, "memories": note("sand and water")} for name in ("first", "second", "third")]
QUERY = "sleeping bear dune"


def titled(path: Path) -> Engine:
    models = fake_models()
    with AlbumWriter.extend(path) as writer:
        writer.set_channel(TITLE, {"third": models.text.encode([QUERY]), "second": models.text.encode(["x"])})
    return Engine(models, Album.open(path))


def test_a_title_moves_its_photo_up_and_says_so(tmp_path: Path) -> None:
    engine = titled(built(tmp_path, ROWS))
    hits = engine.search(QUERY, 3).hits
    assert hits[0].id == "third"
    assert hits[0].parts[TITLE] > max(hit.parts[TITLE] for hit in hits[1:])
    engine.close()


def test_without_what_was_learned_titles_count_nothing(tmp_path: Path) -> None:
    path = built(tmp_path, ROWS)
    with Album.open(path) as album:
        plain = Engine(fake_models(), album).search(QUERY, 3, options=SearchOptions(adapter=False))
    engine = titled(path)
    without = engine.search(QUERY, 3, options=SearchOptions(adapter=False))
    assert [hit.id for hit in without.hits] == [hit.id for hit in plain.hits]
    assert np.allclose([hit.score for hit in without.hits], [hit.score for hit in plain.hits])
    assert all(TITLE not in hit.parts for hit in without.hits)
    engine.close()


def test_the_modes_of_the_paper_know_no_titles(tmp_path: Path) -> None:
    engine = titled(built(tmp_path, ROWS))
    for mode in ("paper", "strict"):
        hits = engine.search(QUERY, 3, mode=mode).hits
        assert all(set(hit.parts) <= {"cosine", "product"} for hit in hits)
    engine.close()
