"""Cues are wall time: a photo with a true UTC time is found by the time of the clock where it was taken, and
shown with that time. From EXIF to the cue.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gamer.index import Album, AlbumWriter, Encoded, Memory, Photo, scan
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.space.kdtree import LOWEST
from gamer.runtime.cues.anchors import AlbumEvents
from gamer.runtime.cues.parse import parse
from gamer.runtime.indexing.build import build
from gamer.runtime.indexing.reconcile import differs, merge_scanned
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from tests.albums import album_of

OFFSETS = st.integers(-14 * 60, 14 * 60)


def ms(wall: str) -> int:
    return int(datetime.fromisoformat(wall).replace(tzinfo=UTC).timestamp() * 1000)


def inside(album: Album, query: str, now: datetime = datetime(2026, 4, 12, 9)) -> bool:
    (cube,) = parse(query, now, None).cubes
    return bool(album.in_cubes([cube]).inside.tolist() == [0])


@pytest.fixture(params=["exif", "position", "jsonl"])
def photo(request: pytest.FixtureRequest, tmp_path: Path) -> Photo:
    """Taken in Tokyo on 11 April 2026 at 20:00: at 11:00 UTC."""
    tags = Image.Exif()
    sub = tags.get_ifd(0x8769)
    sub[0x9003] = "2026:04:11 20:00:00"
    if request.param == "exif":
        sub[0x9011] = "+09:00"
    if request.param == "position":
        gps = tags.get_ifd(0x8825)
        gps[1], gps[2], gps[3], gps[4] = "N", (35.0, 30.0, 0.0), "E", (139.0, 30.0, 0.0)
    source = tmp_path / "photos"
    source.mkdir()
    Image.new("RGB", (8, 8)).save(source / "p.jpg", exif=tags)
    if request.param == "jsonl":
        source = source / "album.jsonl"
        source.write_text('{"id": "p", "path": "p.jpg", "taken_at": "2026-04-11T20:00:00+09:00"}')
    (item,) = scan(source)
    assert isinstance(item, Photo)
    return item


def test_a_photo_is_found_by_its_wall_clock(photo: Photo, tmp_path: Path) -> None:
    assert (photo.taken_at, photo.utc_offset, photo.wall) == (
        ms("2026-04-11T11:00"),
        540,
        ms("2026-04-11T20:00"),
    )
    with Album.open(album_of(tmp_path / "a.gamer", [photo])) as album:
        assert album.photo(0) == photo
        assert album.times().tolist() == [photo.wall]
        assert album.verify() == []
        for query in ("the evening of 11 April 2026", "on 11 April 2026", "yesterday evening", "yesterday"):
            assert inside(album, query), query
        for query in (
            "yesterday morning",
            "yesterday afternoon",
            "the evening of 10 April 2026",
            "on 12 April 2026",
            "this morning",
        ):
            assert not inside(album, query), query
        assert album.near(1, taken_at=photo.wall).tolist() == [0]


@pytest.mark.parametrize(("wall", "day"), [("2026-04-11T02:00+09:00", 11), ("2026-04-10T22:00-08:00", 10)])
def test_the_day_of_a_photo_is_that_of_its_wall_clock(wall: str, day: int, tmp_path: Path) -> None:
    """In UTC the first is of the day before, the second of the day after."""
    (tmp_path / "a.jsonl").write_text(
        f'{{"id": "p", "taken_at": "{wall}", "memories": [{{"source": "note", "text": "x"}}]}}'
    )
    photos = [item for item in scan(tmp_path / "a.jsonl") if isinstance(item, Photo)]
    with Album.open(album_of(tmp_path / "a.gamer", photos)) as album:
        assert [inside(album, f"on {n} April 2026") for n in (9, 10, 11, 12)] == [
            n == day for n in (9, 10, 11, 12)
        ]


def test_a_photo_added_after_the_tree_was_built_has_its_wall_time(tmp_path: Path) -> None:
    path = album_of(tmp_path / "a.gamer", [Photo("first", taken_at=5), Photo("undated")])
    with AlbumWriter.extend(path) as writer:
        writer.add([Encoded(Photo("late", None, 7, "offset", utc_offset=-60))])
    with Album.open(path) as album:
        assert album.times().tolist() == [5, LOWEST, 7 - 3_600_000]


@settings(deadline=None, max_examples=40)
@given(st.datetimes(datetime(1826, 1, 2), datetime(9999, 12, 30)), OFFSETS)
def test_a_time_survives_an_export_and_a_scan(
    tmp_path_factory: pytest.TempPathFactory, wall: datetime, offset: int
) -> None:
    folder = tmp_path_factory.mktemp("trip")
    taken = (wall - datetime(1970, 1, 1)) // timedelta(milliseconds=1) - 60_000 * offset
    sent = Photo("p", None, taken, "offset", memories=(Memory("note", "x"),), utc_offset=offset)
    with Album.open(album_of(folder / "a.gamer", [sent])) as album:
        export_jsonl(album, folder / "a.jsonl")
    assert list(scan(folder / "a.jsonl")) == [sent]


@pytest.mark.parametrize("offset", ["+23:59:59", "-23:59:00", "-00:00:29", "+00:19:32"])
@pytest.mark.parametrize("wall", ["9999-12-31T23:59:59", "1900-01-01T00:00:00"])
def test_offsets_with_seconds_work_up_to_the_end_of_the_calendar(
    tmp_path: Path, wall: str, offset: str
) -> None:
    (tmp_path / "a.jsonl").write_text(
        f'{{"id": "p", "taken_at": "{wall}{offset}", "memories": [{{"source": "note", "text": "x"}}]}}'
    )
    photos = [item for item in scan(tmp_path / "a.jsonl") if isinstance(item, Photo)]
    assert photos[0].wall is not None
    assert 0 <= ms(wall) - photos[0].wall < 60_000
    with Album.open(album_of(tmp_path / "a.gamer", photos)) as album:
        assert album.verify() == []
        export_jsonl(album, tmp_path / "b.jsonl")
    (again,) = scan(tmp_path / "b.jsonl")
    assert isinstance(again, Photo)
    assert (again.taken_at, again.utc_offset) == (
        photos[0].taken_at,
        photos[0].utc_offset,
    )


def test_an_event_falls_on_the_day_of_its_wall_clock(tmp_path: Path) -> None:
    dinner = Photo(
        "p", None, ms("2026-04-10T22:00"), "offset", memories=(Memory("note", "fireworks"),), utc_offset=540
    )
    with Album.open(album_of(tmp_path / "a.gamer", [dinner])) as album:
        (day,) = AlbumEvents(album, lambda _: np.full(4, 0.5, np.float32))("fireworks")
    assert day == (ms("2026-04-11"), ms("2026-04-12") - 1)


@pytest.mark.parametrize(
    "bad", ["utc_offset = 1440", "utc_offset = -100000", "utc_offset = 60, tz_source = 'local'"]
)
def test_verify_reports_an_invalid_offset(tmp_path: Path, bad: str) -> None:
    import sqlite3

    path = album_of(tmp_path / "a.gamer", [Photo("p", None, 5, "offset", utc_offset=60)])
    db = sqlite3.connect(path)
    db.execute(f"UPDATE photos SET {bad}")
    db.commit()
    db.close()
    with Album.open(path) as album:
        problems = album.verify()
    assert any("an invalid UTC offset" in problem for problem in problems)
    assert any("checksum" in problem for problem in problems)


def test_merging_takes_a_time_together_with_its_offset() -> None:
    stored = Photo("1", "/p", 5, "offset", utc_offset=540)
    assert merge_scanned(Photo("1", "/p"), stored) == stored
    assert merge_scanned(Photo("1", "/p", 7), stored) == Photo("1", "/p", 7)
    older = Photo("1", "/p", 5, "offset")  # of a version 1 album, which had no such column
    assert differs(merge_scanned(stored, older), older)
    assert merge_scanned(stored, older) == stored


@pytest.mark.slow
def test_a_hit_shows_the_wall_clock(bundle: Path, tmp_path: Path) -> None:
    line = (
        '{"id": "p", "taken_at": "2026-04-11T02:00:00+09:00", '
        '"memories": [{"source": "note", "text": "noodles with Kenji"}]}'
    )
    (tmp_path / "a.jsonl").write_text(line)
    build(tmp_path / "a.jsonl", Models.open(bundle), tmp_path / "a.gamer")
    (hit,) = (
        Engine.open(bundle, tmp_path / "a.gamer")
        .search("noodles last night", now=datetime(2026, 4, 11, 9))
        .hits
    )
    assert hit.taken_at == ms("2026-04-11T02:00")
