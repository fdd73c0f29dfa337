"""What is found around the engine's ranking, decided without a bundle: exclusions, counts, printed dates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from gamer.index import RowSet
from gamer.runtime.search import album_facts, membership
from gamer.runtime.search import wishes_met as finding
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import AS_ASKED, SearchOptions
from tests.albums import engine_of, note

NOW = datetime(2026, 11, 21, 12)


def _opened(folder: Path, photos: list[tuple[str, str, str]]) -> Engine:
    """An album of (id, time, memory); a memory that begins with "ocr:" was read in the picture."""
    rows = []
    for name, taken_at, text in photos:
        source, said = ("ocr", text[4:]) if text.startswith("ocr:") else ("note", text)
        rows.append({"id": name, "taken_at": taken_at, "memories": [{"source": source, "text": said}]})
    engine = engine_of(folder, rows)
    # Made-up vectors mean nothing: words and times decide.
    engine.ranking = replace(engine.ranking, text=0.0, image=0.0)
    return engine


@pytest.fixture
def cats(tmp_path: Path) -> Iterator[Engine]:
    photos = [
        ("a", "2024-03-01T10:00:00", "the cat asleep"),
        ("b", "2025-03-01T10:00:00", "the cat in the garden"),
        ("c", "2026-03-01T10:00:00", "the dog in the garden"),
    ]
    with _opened(tmp_path, photos) as engine:
        yield engine


@pytest.mark.parametrize("query", ["the cat except 2024", "the cat but not 2024", "the cat, but not in 2024"])
def test_a_year_that_is_left_out_is_excluded_exactly(cats: Engine, query: str) -> None:
    assert "a" not in [hit.id for hit in cats.search(query, now=NOW, options=AS_ASKED).hits]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("the last photo of the cat", ["b"]),
        ("first photo of the cat", ["a"]),
        ("the latest photo", ["c"]),
        ("oldest photo from 2025", ["b"]),
        ("the second photo", ["b"]),
        ("the last two photos", ["c", "b"]),
    ],
)
def test_the_first_and_the_last_are_by_time(cats: Engine, query: str, ids: list[str]) -> None:
    assert [hit.id for hit in cats.search(query, now=NOW, options=AS_ASKED).hits] == ids


def test_receipts_are_what_a_sum_is_printed_on_or_a_memory_tells_of(tmp_path: Path) -> None:
    photos = [
        ("cafe", "2024-03-01T10:00:00", "ocr:1 Espresso 2.80\nTotal EUR 2.80"),
        ("told", "2025-03-01T10:00:00", "the receipt for the bike"),
        ("menu", "2026-03-01T10:00:00", "ocr:Espresso 2.80"),
    ]
    with _opened(tmp_path, photos) as engine:
        answer = engine.search("receipts", now=NOW, options=AS_ASKED)
    assert {hit.id for hit in answer.hits} == {"cafe", "told"}
    assert answer.presence == 1.0


def test_a_search_within_nothing_finds_nothing(cats: Engine) -> None:
    nothing = SearchOptions(within=RowSet.of(np.zeros(0, np.int64), 3))
    assert cats.search("the cat", now=NOW, options=nothing).hits == ()


def test_a_count_does_not_end_with_one_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MAX_K", 10)
    engine = _opened(
        tmp_path, [(f"p{n}", f"2024-01-{n + 1:02}T10:00:00", "the dog in snow") for n in range(31)]
    )
    engine.ranking = replace(engine.ranking, words=9.0)
    monkeypatch.setattr(membership, "presence", lambda answer, weights, photos: 1.0)
    assert engine.search("how many photos of the dog in snow", now=NOW, options=AS_ASKED).count == 31
    engine.close()


def test_a_photo_that_fits_a_word_of_its_own_does_not_fit_many(cats: Engine) -> None:
    answer = cats.search("the cat", now=NOW)
    first = replace(answer.hits[0], score=4.0, parts={})
    found = replace(answer, hits=(first, replace(first, row=first.row + 1, score=3.5)))

    def members(refined: str) -> int:
        one = replace(found, trace=replace(found.trace, refined=refined, cubes=()))
        return len(membership.members(cats.album, one, cats.ranking))

    assert members("cats") == 2
    assert members("a grey cat under the kitchen table at night") == 1


def test_a_receipt_is_found_by_the_date_that_is_printed_on_it(tmp_path: Path) -> None:
    text = "ocr:BAKERY KORNBLUME Receipt {} Total EUR 2.40"
    photos = [
        (f"r{day}", f"2026-05-0{day}T08:00:00", text.format(f"{day + 8:02}.04.2026")) for day in range(1, 6)
    ]
    engine = _opened(tmp_path, photos)
    answer = engine.search("receipt of 11 April 2026", now=NOW, options=AS_ASKED)
    assert answer.hits[0].id == "r3"
    assert "dated by what is printed on them: 1" in answer.trace.cues
    assert engine.search("the receipt from April 11th, 2026", now=NOW, options=AS_ASKED).hits[0].id == "r3"
    engine.close()


@pytest.mark.parametrize(
    ("query", "presence", "note"),
    [
        ("photos from 2025", 1.0, None),
        ("everything from March 2025", 1.0, None),
        ("photos from November 2017", 0.0, "none from November 2017"),
        ("how many photos in 2017", 0.0, "none in 2017"),
    ],
)
def test_what_the_dates_alone_decide_is_certain(
    cats: Engine, query: str, presence: float, note: str | None
) -> None:
    answer = cats.search(query, now=NOW, options=AS_ASKED)
    assert (answer.presence, answer.note) == (presence, note)
    fits = [hit.probability for hit in answer.hits if hit.id == "b"]
    assert fits == [presence]
    assert all(h.probability == 0 for h in answer.hits if h.id != "b")
    assert answer.count == (0 if query.startswith("how many") else None)


def test_a_thing_in_a_year_without_a_photo_is_unlikely_and_the_year_is_named(cats: Engine) -> None:
    here, not_here = (cats.search(f"the cat in {y}", now=NOW, options=AS_ASKED) for y in (2025, 2017))
    assert here.note is None
    assert not_here.note == "none in 2017"
    assert not_here.doubtful
    assert not_here.presence < here.presence / 3


def test_an_album_without_dates_does_not_say_that_a_year_has_no_photo(tmp_path: Path) -> None:
    with engine_of(tmp_path, [{"id": "a", "memories": note("a cat")}]) as engine:
        assert engine.search("photos from 2017", now=NOW, options=AS_ASKED).presence > 0


def test_a_stay_with_a_time_keeps_the_words_of_the_stay(tmp_path: Path) -> None:
    days = [(f"d{n:02}", f"2024-05-{n:02}T10:00:00", "a walk") for n in range(1, 13)]
    engine = _opened(tmp_path, days)
    hits = engine.search("our weekend in May", now=NOW, options=AS_ASKED).hits
    assert {hit.id for hit in hits[:4]} == {"d04", "d05", "d11", "d12"}
    engine.close()


def test_without_times_nothing_is_called_the_last(tmp_path: Path) -> None:
    with engine_of(tmp_path, [{"id": n, "memories": note("a walk")} for n in "abc"]) as engine:
        answer = engine.search("last photo", now=NOW, options=AS_ASKED)
        assert len(answer.hits) == 3
        assert "none of these photos has a time: which is first is not known" in answer.trace.cues


def test_as_many_of_the_last_photos_are_shown_as_were_asked_for(tmp_path: Path) -> None:
    days = [(f"d{n:02}", f"2024-05-{n:02}T10:00:00", "a walk") for n in range(1, 29)]
    engine = _opened(tmp_path, days)
    hits = engine.search("last 20 photos", k=3, now=NOW, options=AS_ASKED).hits
    assert [hit.id for hit in hits] == [f"d{n:02}" for n in range(28, 8, -1)]
    engine.close()


@pytest.mark.parametrize(
    ("text", "is_receipt"),
    [
        ("CAFE\nTotal EUR 5.20", True),
        ("SUMME   12,90", True),
        ("TOTAL\n12.50", True),
        ("Amount due 7.10 EUR", True),
        ("The amount at 10.30", False),
        ("sum 10.05.2024", False),
        ("amount of rain 3.50 mm", False),
        ("In total 10.05.2024 rows", False),
    ],
)
def test_a_receipt_is_told_by_a_sum_of_money(text: str, is_receipt: bool) -> None:
    assert bool(album_facts.SUM.search(text)) == is_receipt
