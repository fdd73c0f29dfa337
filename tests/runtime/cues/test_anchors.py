"""Event anchors: what is read, what an offset does to an event's days, and how an album is searched for the
event.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from gamer.index import Album, Encoded, Memory, Photo
from gamer.runtime.cues.anchors import MAX_EVENTS, AlbumEvents
from gamer.runtime.cues.calendar_days import Interval
from gamer.runtime.cues.parse import Cues, parse, resolve
from tests.albums import album_of

NOW = datetime(2026, 6, 17)


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc,arg-type]


def day(*when: int) -> Interval:
    return ms(*when), ms(*when) + 86_400_000 - 1


def shown(cues: Cues) -> list[str]:
    def at(t: int | None) -> str:
        assert t is not None
        return (datetime(1970, 1, 1) + timedelta(milliseconds=t)).strftime("%m%dT%H")

    return [f"{at(t.start)}-{at(t.end)}" for t in cues.times]


READ = [
    ("dinner two days after the fireworks", "fireworks", "0706T00-0706T23", "dinner"),
    ("the day before Anna's wedding", "Anna's wedding", "0703T00-0703T23", "the day before Anna's wedding"),
    ("photos of the morning after the party", "party", "0705T05-0705T11", "photos"),
    ("cake the night before the party", "party", "0703T18-0704T05", "cake"),
    ("cake on the Sunday before the party", "party", "0629T00-0629T23", "cake"),
    ("cake a week after the party", "party", "0705T00-0711T23", "cake"),
    ("cake a few days after the party", "party", "0706T00-0710T23", "cake"),
    ("cake on the evening of the wedding", "wedding", "0704T17-0704T23", "cake"),
    (
        "who came the day of my sister's wedding, and with whom",
        "my sister's wedding",
        "0704T00-0704T23",
        "who came, and with whom",
    ),
]


@pytest.mark.parametrize(("query", "phrase", "span", "rest"), READ, ids=[r[0] for r in READ])
def test_an_anchor_becomes_a_time_at_its_offset_from_the_event(
    query: str, phrase: str, span: str, rest: str
) -> None:
    cues = parse(query, NOW, None)
    (anchor,) = cues.anchors
    assert cues.times == ()
    assert cues.cubes == ()
    assert cues.rest == query
    assert anchor.phrase.removeprefix("my ") == phrase.removeprefix("my ")
    assert query[slice(*anchor.span)] == anchor.text
    resolved = resolve(cues, lambda event: (day(2025, 7, 4),) if event == anchor.phrase else ())
    assert shown(resolved) == [span]
    assert [t.kind for t in resolved.times] == ["anchor"]
    assert resolved.anchors == ()
    assert resolved.rest == rest
    assert resolved.cubes[0].start == resolved.times[0].start


@pytest.mark.parametrize(
    "query",
    [
        "my cat",
        "two days after Christmas 2010",
        "the weekend before Easter",
        "the week of the 3rd",
        "before and after",
        "",
    ],
)
def test_dates_and_plain_words_are_no_anchors(query: str) -> None:
    assert parse(query, NOW, None).anchors == ()


def test_an_event_that_is_not_found_stays_in_the_text() -> None:
    cues = parse("dinner two days after the fireworks", NOW, None)
    assert resolve(cues, lambda _: ()) == cues


def test_an_event_of_several_days_makes_several_cues() -> None:
    def find(_: str) -> Sequence[Interval]:
        return (day(2024, 7, 4), day(2025, 7, 4))

    assert shown(resolve(parse("the day after the fireworks", NOW, None), find)) == [
        "0705T00-0705T23",
        "0705T00-0705T23",
    ]


@pytest.fixture
def album(tmp_path: Path) -> Album:
    texts = [
        ((2025, 7, 4, 22), "fireworks over the lake", 0),
        ((2025, 7, 4, 23), "more fireworks with Anna", 0),
        ((2025, 7, 6, 19), "dinner with Anna", 1),
        *(((2025, month, 9, 8), "the dog in the park", 2) for month in range(1, 9)),
        ((2025, 9, 1, 12), "Anna walks down the aisle in white", 3),
    ]
    items = [
        Encoded(
            Photo(f"p{n}", taken_at=ms(*when), memories=(Memory("note", text),)),
            {"text": np.eye(4, dtype=np.float32)[[axis]]},
        )
        for n, (when, text, axis) in enumerate(texts)
    ]
    return Album.open(album_of(tmp_path / "events.gamer", items))


def test_an_album_finds_an_event_by_its_words_or_by_its_vector(album: Album) -> None:
    """By words when they name few days, by vector when one day stands out, and else not at all."""
    nowhere, wedding = np.full(4, 0.5, np.float32), np.array([0.1, 0.1, 0.1, 0.98], np.float32)
    assert AlbumEvents(album, lambda _: nowhere)("fireworks") == (day(2025, 7, 4),)
    assert AlbumEvents(album, lambda _: nowhere)("the dog") == ()  # more days than an event has
    assert MAX_EVENTS < 8
    assert AlbumEvents(album, lambda _: wedding)("wedding") == (day(2025, 9, 1),)
    assert AlbumEvents(album, lambda _: nowhere)("wedding") == ()
    cues = parse("dinner two days after the fireworks", NOW, None)
    assert shown(resolve(cues, AlbumEvents(album, lambda _: nowhere))) == ["0706T00-0706T23"]
