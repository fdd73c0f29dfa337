"""Earlier searches: what they say of the photos that were opened by them, and of those around these."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gamer.index.opened import OpenedLog
from gamer.runtime.models import query_adapter as files
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions
from gamer.runtime.search.stages.earlier import EarlierSearches, SearchHistory
from tests.albums import engine_of, note

DAYS = {"climb": "2024-05-01T10:00:00", "after": "2024-05-01T22:00:00", "later": "2024-06-01T10:00:00"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    photos = [
        {"id": photo, "taken_at": day, "memories": note("sand and water")} for photo, day in DAYS.items()
    ]
    with engine_of(tmp_path, [*photos, {"id": "undated", "memories": note("sand and water")}]) as opened:
        yield opened


def feature(engine: Engine, query: str, *opened: tuple[str, str]) -> dict[str, float]:
    album = engine.album
    searches = EarlierSearches.of(album, opened, 1.0)
    values = searches.feature(album.words(query), np.arange(len(album)))
    return dict(zip(album.ids(), values.tolist(), strict=True))


def test_a_search_speaks_for_the_photo_it_opened_and_less_for_others_the_longer_after(engine: Engine) -> None:
    found = feature(engine, "bear", ("sleeping bear dune", "climb"))
    assert found["climb"] == 1
    assert found["after"] == pytest.approx(1 / 1.5)  # half a day later
    assert found["later"] == pytest.approx(1 / 32)
    assert found["undated"] == 0


def test_an_undated_photo_is_spoken_for_by_its_own_searches_alone(engine: Engine) -> None:
    found = feature(engine, "bear", ("sleeping bear dune", "undated"))
    assert found == {"climb": 0, "after": 0, "later": 0, "undated": 1}


def test_words_count_by_their_rarity_and_in_every_form(engine: Engine) -> None:
    assert feature(engine, "dunes", ("the dune", "climb"))["climb"] == 1
    both = feature(engine, "bear harbour", ("bear", "climb"))["climb"]
    assert 0 < both < 1
    assert feature(engine, "harbour", ("bear", "climb"))["climb"] == 0


def test_photos_that_are_gone_say_nothing(engine: Engine) -> None:
    assert not any(feature(engine, "bear", ("bear", "gone")).values())


def test_a_search_has_what_is_kept_until_it_is_deleted_and_leaves_it_out_when_asked(engine: Engine) -> None:
    path = engine.album.path
    log = OpenedLog(path)
    log.keep()
    log.add("sleeping bear", "later")
    assert "earlier" not in engine.search("bear").hits[0].parts  # nothing was learned of what they weigh
    header = files.Header(files.FORMAT, "another tower", (1, 2, 1, 1), earlier=3.0)
    files.write(files.path_beside(path), files.QueryAdapter(header, np.zeros((1, 2, 1, 1), np.float32)))
    with Engine(engine.models, engine.album) as again:
        first = again.search("bear").hits[0]
        assert (first.id, first.parts["earlier"]) == ("later", 3.0)
        without = again.search("bear", options=SearchOptions(earlier=False))
        assert again.search("bear").presence > without.presence
        assert "earlier" not in without.hits[0].parts
        log.add("bear", "climb")
        assert {hit.id: hit.parts["earlier"] for hit in again.search("bear").hits}["climb"] == 3.0
        log.delete()
        assert "earlier" not in again.search("bear").hits[0].parts


def test_nothing_is_read_where_earlier_searches_weigh_nothing(engine: Engine) -> None:
    OpenedLog(engine.album.path).keep()
    assert SearchHistory(engine.album, 0.0).now() is None
