"""Reads the gazetteer file: from a name to its places, and from a position to the nearest city.

Uses Python's sqlite3, read-only and without the network. Positions and boxes are in degrees (WGS 84).
"""

from __future__ import annotations

import math
import sqlite3
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.borders import Border
from gamer.index.records import Cube
from gamer.index.space.cubes import to_e7

from ..errors import RuntimeFailure

GAZETTEER_APPLICATION_ID = 0x476D477A  # "GmGz"
GAZETTEER_VERSION = 2  # version 1 has no table of parts: each country is one box
# The points of a border that are read at most; Canada has 7,000.
MAX_BORDER = 20_000
FLAG_PRIMARY, FLAG_WORD, FLAG_GIVEN = 1, 2, 4
MAX_WORDS = 4
MAX_CANDIDATES = 24
NEARBY_KM = 8.0
# A city of a million people reaches 5 km from its centre: 13,000 people a square kilometre.
_KM_PER_ROOT = 0.005
_CENTRE_KM = 1.0
_KM_PER_DEGREE = 111.195
_POINT = 8  # bytes of a border's point: latitude and longitude in 1e-7 degrees, int32, little-endian
# South, north, west, east in degrees; west > east crosses the antimeridian.
Box = tuple[float, float, float, float]


class GazetteerError(RuntimeFailure):
    """The gazetteer file cannot be used; the message is one line."""


@dataclass(frozen=True)
class Place:
    """A city, country or region with its extent. Degrees; `west > east` crosses the antimeridian.

    `primary`: the name that was looked up is the place's primary (or usual English) name, not an alternate
    one. `word`: it is also an English word (Nice, Reading). `given`: it is also a given name (Florence,
    Austin). Places from `nearest` have True, False, False. `parts`: the boxes (south, north, west, east) of a
    country with distant parts, such as Hawaii beside the mainland; () if one box is enough. `border`: its
    outline; of a region without one, that of its country; None for a city, and where none is known.
    """

    id: int
    name: str
    kind: str
    country_code: str
    lat: float
    lon: float
    south: float
    north: float
    west: float
    east: float
    population: int
    primary: bool = True
    word: bool = False
    given: bool = False
    parts: tuple[Box, ...] = ()
    border: Border | None = field(default=None, repr=False)

    @property
    def box(self) -> Cube:
        """The place's main extent as a cube open in time."""
        return self._cube((self.south, self.north, self.west, self.east))

    @property
    def boxes(self) -> tuple[Cube, ...]:
        """The place's complete extent, as one or several cubes open in time."""
        return tuple(map(self._cube, self.parts)) or (self.box,)

    def contains(self, lat: float, lon: float) -> bool:
        """Whether a position in degrees lies in one of the boxes, and inside the border."""
        return any(
            within(lat, lon, part) for part in self.parts or ((self.south, self.north, self.west, self.east),)
        ) and (self.border is None or _holds(self.border, lat, lon))

    def _cube(self, box: Box) -> Cube:
        south, north, west, east = box
        return Cube(south=south, north=north, west=west, east=east, border=self.border)


def _holds(border: Border, lat: float, lon: float) -> bool:
    return bool(border.holds(np.array([[to_e7(lat), to_e7(lon)]]))[0])


def within(lat: float, lon: float, box: Box) -> bool:
    """Whether a position in degrees lies in a box."""
    south, north, west, east = box
    return south <= lat <= north and (west <= lon <= east if west <= east else lon >= west or lon <= east)


def fold(name: str) -> str:
    """The form in which names are stored and looked up.

    Case-folded; accents, full stops and apostrophes removed; hyphens and white space become one space.
    """
    # Decomposed before case-folding too, since "𝑨" becomes an A only then.
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    if not folded.isascii():
        folded = "".join(c for c in folded if not unicodedata.combining(c))
    return " ".join(folded.translate(_LETTERS).split())


_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}
    | dict.fromkeys("-‐‑–_", " ")
    | dict.fromkeys(".'’`\0")
)
_COLUMNS = (
    "p.id, p.name, p.kind, p.country_code, p.lat, p.lon, p.south, p.north, p.west, p.east, p.population"
)


class Gazetteer:
    """A gazetteer file open for reading.

    Safe to share between threads: a lock guards the one connection. Results of `lookup` are cached.
    """

    def __init__(self, path: Path, db: sqlite3.Connection, version: int = GAZETTEER_VERSION) -> None:
        self.path = path
        self._db = db
        self._has_parts = version > 1
        self._lock = threading.Lock()
        self._cached = lru_cache(maxsize=4096)(self._lookup)
        self._border = lru_cache(maxsize=None)(self._read_border)

    @classmethod
    def open(cls, path: Path) -> Gazetteer:
        """Opens the file (under 5 ms; only the header is read).

        Raises GazetteerError if there is no such file, or it is not a gazetteer of a readable version.
        """
        if not path.is_file():
            raise GazetteerError(f"no gazetteer at {path}")
        try:
            db = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro&immutable=1",
                uri=True,
                check_same_thread=False,
                isolation_level=None,
            )
        except sqlite3.Error as error:
            raise GazetteerError(f"cannot open the gazetteer {path}: {error}") from error
        try:
            id_ = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if id_ != GAZETTEER_APPLICATION_ID:
                raise GazetteerError(
                    f"{path} is not a gazetteer (application_id {id_:#x}, expected "
                    f"{GAZETTEER_APPLICATION_ID:#x})"
                )
            if not 1 <= version <= GAZETTEER_VERSION:
                raise GazetteerError(
                    f"{path} is a gazetteer of version {version}; this program reads up to "
                    f"{GAZETTEER_VERSION}: update it"
                )
        except sqlite3.Error as error:
            db.close()
            raise GazetteerError(f"{path} is not a gazetteer: {error}") from error
        except GazetteerError:
            db.close()
            raise
        return cls(path, db, int(version))

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Gazetteer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lookup(self, name: str) -> tuple[Place, ...]:
        """The places of that name (case, accents and hyphens do not matter), by descending population.

        The population of a place that has it as an alternate name counts a quarter.
        """
        if not name or len(name) > 100:
            return ()
        folded = fold(name)
        return self._cached(folded) if folded else ()

    def longest_match(self, words: Sequence[str], start: int) -> tuple[int, tuple[Place, ...]] | None:
        """The longest run of words from `start` that is a place name: (number of words, places), or None.

        The number of words is 1 to 4; the places are in the order of `lookup`.
        """
        for length in range(min(MAX_WORDS, len(words) - start), 0, -1):
            places = self.lookup(" ".join(words[start : start + length]))
            if places:
                return length, places
        return None

    def nearest(self, lat: float, lon: float, max_km: float = 50.0) -> Place | None:
        """The city that a position in degrees lies in or nearest to, its centre within `max_km` kilometres.

        It is one of the country whose border holds the position, where one is near; borders are simplified,
        so that the country of a centre within _CENTRE_KM counts, too. A city reaches as far around its centre
        as the root of its population, but NEARBY_KM at most, so that a photo of Montmartre is of Paris and
        not of the suburb whose centre is nearer. None if there is no city, or the numbers are no position.
        """
        if not (math.isfinite(lat) and math.isfinite(lon)) or not (-90 <= lat <= 90) or max_km <= 0:
            return None
        lon = (lon + 180.0) % 360.0 - 180.0
        near: list[tuple[float, int, str, float]] = []
        # Most photos are close to a city, so that the first reach gives few rows.
        for reach in (NEARBY_KM, max_km) if max_km > NEARBY_KM else (max_km,):
            cities = self._cities_around(lat, lon, reach)
            countries = {city[2] for city in cities if city[3] <= _CENTRE_KM}
            countries |= {one for one in {city[2] for city in cities} if self._is_in(one, lat, lon)}
            home = [city for city in cities if city[2] in countries]
            near = home or near or cities
            if home:
                break
        if not near:
            return None
        with self._lock:
            return Place(*self._query(f"SELECT {_COLUMNS} FROM places p WHERE p.id = ?", (min(near)[1],))[0])

    def _is_in(self, country_code: str, lat: float, lon: float) -> bool:
        """Whether a country's border holds a position in degrees; not, where none is known."""
        with self._lock:
            border = self._border(country_code)
        return border is not None and _holds(border, lat, lon)

    def _cities_around(self, lat: float, lon: float, km: float) -> list[tuple[float, int, str, float]]:
        """The cities whose centre is within `km` kilometres: (km to its edge, id, country, km to its centre).

        The kilometres to the edge are below 0 inside of a city.
        """
        dlat = km / _KM_PER_DEGREE
        shrink = math.cos(math.radians(min(90.0, abs(lat) + dlat)))
        dlon = 180.0 if shrink <= 0.01 else min(180.0, dlat / shrink)
        west, east = lon - dlon, lon + dlon
        sql = (
            "SELECT id, country_code, population, lat, lon FROM places WHERE kind = 'city' AND lat BETWEEN ? "
            "AND ? AND (lon BETWEEN ? AND ?"
        )
        bounds: tuple[float, ...] = (lat - dlat, lat + dlat, west, east)
        # A box that crosses the antimeridian continues on the other side.
        if dlon < 180.0 and (west < -180.0 or east > 180.0):
            shift = 360.0 if west < -180.0 else -360.0
            sql, bounds = sql + " OR lon BETWEEN ? AND ?", (*bounds, west + shift, east + shift)
        elif dlon >= 180.0:
            bounds = (lat - dlat, lat + dlat, -180.0, 180.0)
        with self._lock:
            rows = self._query(sql + ")", bounds)
        far = [_distance_km(lat, lon, *row[3:]) for row in rows]
        return [
            (away - min(NEARBY_KM, _KM_PER_ROOT * math.sqrt(max(0, people))), id_, country, away)
            for away, (id_, country, people, *_) in zip(far, rows, strict=True)
            if away <= km
        ]

    def _lookup(self, folded: str) -> tuple[Place, ...]:
        sql = (
            f"SELECT {_COLUMNS}, n.flags FROM names n JOIN places p ON p.id = n.place_id WHERE "
            "n.name_folded = ?"
        )
        with self._lock:
            rows = self._query(sql, (folded,))
            parts = {r[0]: self._parts(r[0]) for r in rows if r[2] == "country"} if self._has_parts else {}
            borders = {r[0]: self._border_of(*r[:4]) for r in rows}
        rows.sort(key=lambda r: (-r[10] if r[11] & FLAG_PRIMARY else -r[10] / 4, r[0]))
        return tuple(
            replace(
                Place(*r[:11]),
                primary=bool(r[11] & FLAG_PRIMARY),
                word=bool(r[11] & FLAG_WORD),
                given=bool(r[11] & FLAG_GIVEN),
                parts=parts.get(r[0], ()),
                border=borders[r[0]],
            )
            for r in rows[:MAX_CANDIDATES]
        )

    @cached_property
    def countries(self) -> dict[str, str]:
        """Code → the name of each country: "DE" → "Germany". Raises GazetteerError for a damaged file."""
        with self._lock:
            return dict(self._query("SELECT country_code, name FROM places WHERE kind = 'country'", ()))

    def _parts(self, id_: int) -> tuple[Box, ...]:
        return tuple(
            self._query(
                "SELECT south, north, west, east FROM parts WHERE place_id = ? ORDER BY rowid", (id_,)
            )
        )

    def _border_of(self, id_: int, _: str, kind: str, country_code: str) -> Border | None:
        own = self._border(str(id_)) if kind == "region" else None
        return own or (None if kind == "city" or not country_code else self._border(country_code))

    def _read_border(self, key: str) -> Border | None:
        """A border by a country's code or a region's id; None if the file has none.

        Rings that are no rings are left out.
        """
        sql = "SELECT ring FROM borders WHERE country_code = ? ORDER BY rowid"
        rings, points = [], 0
        try:
            rows = self._query(sql, (key,))
        except GazetteerError as error:
            if "no such table" in str(error):  # an older file
                return None
            raise
        for (blob,) in rows:
            points += len(blob) // _POINT if isinstance(blob, bytes) else 0
            if points > MAX_BORDER:
                raise GazetteerError(f"{self.path}: the border of {key} has too many points")
            if isinstance(blob, bytes) and len(blob) >= 3 * _POINT and len(blob) % _POINT == 0:
                rings.append(np.frombuffer(blob, "<i4").astype(np.int64).reshape(-1, 2))
        return Border(key, rings) if rings else None

    def _query(self, sql: str, arguments: tuple[Any, ...]) -> list[Any]:
        try:
            return self._db.execute(sql, arguments).fetchall()
        except UnicodeEncodeError:  # a lone surrogate, which no name contains
            return []
        except sqlite3.Error as error:
            raise GazetteerError(f"cannot read the gazetteer {self.path}: {error}") from error


def _distance_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Great-circle distance in km between two positions in degrees."""
    a, b = math.radians(lat1), math.radians(lat2)
    h = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(min(1.0, math.sqrt(h)))
