"""What the fields of a condition mean for an album: people, places, events, clocks, and values unknown."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from gamer.index import Album, AlbumError, event_id
from gamer.runtime.agent.calls import Filter, List, ToolError
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from tests.fakes import fake_models
from tests.runtime.agent.small_album import engine_over, event, names, photo, short

PHOTOS = [
    photo("breakfast", "2025-05-12T08:15:00", ("people", "Anna, Bob Stone"), ("place", "Grandma's house")),
    photo("tower", "2025-05-12T23:59:59+09:00", "a tower", lat=35.66, lon=139.75),  # Tokyo; 14:59 in UTC
    photo("museum", "2025-05-13T00:00:00", ("people", "anna"), ("ocr", "TICKET"), lat=48.86, lon=2.35),
    photo("crowd", "2025-05-18T12:00:00", ("people", "Anna"), ("people", "Bob, Cem,, ")),
    photo("scan", None, ("label", "paper"), ("place", "Attic, Grandma's house")),
    photo("old", "0987-03-01T05:00:00", "a very old day"),
]
EVENTS = [event("Two days in Tokyo", "breakfast", "tower"), event('The "day" of scans', "scan")]


def found(engine: Engine, where: str) -> list[str]:
    return names(engine, Toolbox(engine).call(Filter(where)).rows)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("people = Anna", "breakfast museum crowd"),
        ('people = "bob stone"', "breakfast"),
        ("people = Bob", "crowd"),
        ("people = Ann", ""),
        ("people = 0", "old tower scan"),
        ("people = 2", "breakfast"),
        ("people >= 2", "breakfast crowd"),
        ("people != Anna", "old tower scan"),
        ("not people = 0 and not people = 3", "breakfast museum"),
        ("people = zebulon", ""),
        ("source = people", "breakfast museum crowd"),
        ("source = OCR", "museum"),
        ("source != label", "old breakfast tower museum crowd"),
        ('place = "grandma\'s house"', "breakfast scan"),
        ("place = attic", "scan"),
        ("place = nowhere", ""),
        ("weekday = Monday", "breakfast tower"),
        ("weekday = tuesday", "museum"),
        ("weekday = sunday", "crowd"),
        ("hour = 23", "tower"),
        ("hour = 14", ""),  # 14:59 UTC is not the time on the clock
        ("hour < 9", "old breakfast museum"),
        ("hour != 8", "old tower museum crowd"),
        ("hour = 99", ""),
        ("day = 2025-05-12", "breakfast tower"),
        ("day != 2025-05-12", "old museum crowd"),
        ("month = 2025-05 and day > 2025-05-12", "museum crowd"),
        ("year < 1000", "old"),
        ("time = 0987-03-01T05:00:00", "old"),
        ("time >= 2025-05-12T23:59:59 and time <= 2025-05-13T00", "tower museum"),
        (f"event = {event_id('breakfast')}", "breakfast tower"),
        ("event = tokyo", "breakfast tower"),
        ("event = scans", "scan"),
        ("event != tokyo", "old museum crowd scan"),
        ("event = ev_0000000000", ""),
        (f"photo = {short('museum')}", "museum"),
        ("photo = museum", "museum"),
        ("photo != museum and weekday = tuesday", ""),
        (f"time < {short('museum')}", "old breakfast tower"),
        (f"time >= {short('crowd')}", "crowd"),
        ("", "old breakfast tower museum crowd scan"),
    ],
)
def test_a_condition_finds_its_photos_in_order_of_time(engine: Engine, where: str, expected: str) -> None:
    assert found(engine, where) == expected.split()


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("weekday = someday", "no weekday 'someday'; choose one of: monday"),
        ("source = diary", "no source 'diary'; choose one of: chat"),
        ("hour = noon", "hour is compared with a whole number"),
        ("hour = -3", "hour is compared with a whole number"),
        ("hour = ²", "hour is compared with a whole number"),
        ("hour = 1234567", "hour is compared with a whole number"),
        ("people > Anna", "people is compared with = or !="),
        ("time > nothing", "no photo 'nothing': give an id that a tool has shown"),
        ("time > scan", "no time of its own"),
        ("time > 2025-13", "not in the calendar"),
        ("year = 25", "must be a date"),
        ("photo = img_0000000000", "no photo 'img_0000000000'"),
        ('photo = ""', "no photo ''"),
        ("time > ²", "must be a date"),
    ],
)
def test_a_meaningless_value_is_refused_with_what_to_give(engine: Engine, where: str, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        found(engine, where)
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


def test_people_named_with_a_figure_that_is_no_number_are_a_name(engine: Engine) -> None:
    assert found(engine, "people = ²") == []


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("day", {"0987-03-01": 1, "2025-05-12": 2, "2025-05-13": 1, "2025-05-18": 1, "unknown": 1}),
        ("month", {"0987-03": 1, "2025-05": 4, "unknown": 1}),
        ("year", {"0987": 1, "2025": 4, "unknown": 1}),
        ("place", {"unknown": 4, "Grandma's house": 1, "Attic, Grandma's house": 1}),
    ],
)
def test_groups_count_every_photo_once(engine: Engine, by: str, groups: dict[str, int]) -> None:
    result = Toolbox(engine).call(List(by))  # type: ignore[arg-type]
    assert result.data == groups
    assert sum(groups.values()) == len(PHOTOS)


def test_groups_by_event_name_the_event(engine: Engine) -> None:
    result = Toolbox(engine).call(List("event"))
    tokyo, scans = event_id("breakfast"), event_id("scan")
    assert result.data == {"unknown": 3, f"{tokyo} Two days in Tokyo": 2, f'{scans} The "day" of scans': 1}
    assert f"\"{scans} The 'day' of scans\": 1" in result.preview().splitlines()


def test_an_event_whose_id_could_be_read_as_a_condition_is_left_out(tmp_path: Path) -> None:
    """A writer refuses such an id; a file from elsewhere may hold it."""
    engine_over(fake_models(), tmp_path, PHOTOS, EVENTS).close()
    db = sqlite3.connect(tmp_path / "a.gamer")
    db.execute("UPDATE events SET id = ? WHERE id = ?", ("x or year > 1", event_id("breakfast")))
    db.commit()
    db.close()
    engine = Engine(fake_models(), Album.open(tmp_path / "a.gamer"))
    with contextlib.suppress(AlbumError):  # or the album itself refuses it
        toolbox = Toolbox(engine)
        assert toolbox.event_of(0) is None
        assert "x or year" not in toolbox.call(List("event")).preview()
    engine.close()


@pytest.mark.slow
def test_a_place_is_found_by_the_gazetteer_where_no_memory_names_it(bundle: Path, tmp_path: Path) -> None:
    with_places = engine_over(Models.open(bundle), tmp_path, PHOTOS)
    assert "tower" in found(with_places, "place = Tokyo")
    assert "museum" in found(with_places, "place = Paris")
    assert "museum" not in found(with_places, 'place = Tokyo or place = "Grandma\'s house"')
    assert set(found(with_places, "not place = Tokyo")) == {p.id for p in PHOTOS} - {"tower"}
    with_places.close()


def test_countries_are_groups_by_their_names(tmp_path: Path) -> None:
    photos = [
        photo("taj", "2025-01-14T07:30:00", ("place", "Agra, IN")),
        photo("mill", "2023-04-20T14:05:00", ("place", "Attic")),
    ]
    with engine_over(fake_models(), tmp_path, photos, []) as engine:
        row = engine.album.row_of
        assert Toolbox(engine).groups("country", [row("taj"), row("mill")]) == ["India", "Attic"]
