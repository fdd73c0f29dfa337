"""Reads the gazetteer file: a name → the places of that name, a position → the nearest city. Stock sqlite3,
read-only, no network.

Positions and boxes are degrees, WGS 84.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gamer.index.records import Cube

from ..errors import RuntimeFailure

GAZETTEER_APPLICATION_ID = 0x476D477A  # "GmGz"
GAZETTEER_VERSION = 2  # 1 had no parts: its countries are one box each
FLAG_PRIMARY, FLAG_WORD, FLAG_GIVEN = 1, 2, 4
MAX_WORDS = 4
MAX_CANDIDATES = 24
NEARBY_KM = 8.0
_KM_PER_DEGREE = 111.195
Box = tuple[
    float, float, float, float
]  # south, north, west, east in degrees; west > east crosses the antimeridian


class GazetteerError(RuntimeFailure):
    """The gazetteer file cannot be used; the message is one line."""


@dataclass(frozen=True)
class Place:
    """A city, country or region with its extent. Degrees; `west > east` crosses the antimeridian.

    `primary`: the name asked for is the place's own (or usual English) name, not an alternate one. `word`:
    that name is also an English word (Nice, Reading). `given`: that name is also a given name (Florence,
    Austin). From `nearest`, the three are True, False, False. `parts`: the boxes (south, north, west, east)
    of a country with far parts, Hawaii beside the mainland; () when one will do.
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

    @property
    def box(self) -> Cube:
        """The place's main extent as a cube open in time."""
        return Cube(south=self.south, north=self.north, west=self.west, east=self.east)

    @property
    def boxes(self) -> tuple[Cube, ...]:
        """The place's whole extent, one cube or several, open in time."""
        return tuple(Cube(south=s, north=n, west=w, east=e) for s, n, w, e in self.parts) or (self.box,)

    def contains(self, lat: float, lon: float) -> bool:
        """Whether a position in degrees lies in one of the boxes."""
        return any(
            _within(lat, lon, part)
            for part in self.parts or ((self.south, self.north, self.west, self.east),)
        )


def _within(lat: float, lon: float, box: Box) -> bool:
    south, north, west, east = box
    return south <= lat <= north and (west <= lon <= east if west <= east else lon >= west or lon <= east)


def fold(name: str) -> str:
    """The form under which names are stored and sought: casefolded, accents and stops stripped, hyphens and
    whitespace to one space.
    """
    folded = unicodedata.normalize(
        "NFKD", unicodedata.normalize("NFKD", name).casefold()
    )  # "𝑨" is an A only once decomposed
    kept = "".join(
        " " if c in "-‐‑–_" else c for c in folded if not unicodedata.combining(c) and c not in ".'’`\0"
    )
    return " ".join(kept.translate(_LETTERS).split())


_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
_COLUMNS = (
    "p.id, p.name, p.kind, p.country_code, p.lat, p.lon, p.south, p.north, p.west, p.east, p.population"
)


class Gazetteer:
    """A gazetteer file open for reading.

    Safe to share between threads: one connection behind a lock, answers cached.
    """

    def __init__(self, path: Path, db: sqlite3.Connection, version: int = GAZETTEER_VERSION) -> None:
        self.path = path
        self._db = db
        self._has_parts = version > 1
        self._lock = threading.Lock()
        self._cached = lru_cache(maxsize=4096)(self._lookup)

    @classmethod
    def open(cls, path: Path) -> Gazetteer:
        """Open the file (under 5 ms; nothing is read in but the header). Raises GazetteerError for anything
        but a gazetteer.
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
        """Release the file."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Gazetteer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def lookup(self, name: str) -> tuple[Place, ...]:
        """The places of that name (case, accents and hyphens do not matter), best first: by population,
        alternate names at a quarter.
        """
        if not name or len(name) > 100:
            return ()
        folded = fold(name)
        return self._cached(folded) if folded else ()

    def longest_match(self, words: Sequence[str], start: int) -> tuple[int, tuple[Place, ...]] | None:
        """The longest run of words from `start` that is a place name: (number of words, 1 to 4; its places
        best first), or None.
        """
        for length in range(min(MAX_WORDS, len(words) - start), 0, -1):
            found = self.lookup(" ".join(words[start : start + length]))
            if found:
                return length, found
        return None

    def nearest(self, lat: float, lon: float, max_km: float = 50.0) -> Place | None:
        """The city whose centre is nearest to a position in degrees, within `max_km` kilometres, or None
        (open sea, not a position).
        """
        if not (math.isfinite(lat) and math.isfinite(lon)) or not (-90 <= lat <= 90) or max_km <= 0:
            return None
        lon = (lon + 180.0) % 360.0 - 180.0
        for reach in (
            (NEARBY_KM, max_km) if max_km > NEARBY_KM else (max_km,)
        ):  # most photos are close to a city: few rows
            rows = self._cities_around(lat, lon, reach)
            best = min(((_distance_km(lat, lon, r[1], r[2]), r[0]) for r in rows), default=None)
            if best is not None and best[0] <= reach:
                with self._lock:
                    found = self._query(f"SELECT {_COLUMNS} FROM places p WHERE p.id = ?", (best[1],))
                return Place(*found[0])
        return None

    def _cities_around(self, lat: float, lon: float, km: float) -> list[Any]:
        """(id, lat, lon) of the cities in the box that reaches `km` kilometres each way."""
        dlat = km / _KM_PER_DEGREE
        shrink = math.cos(math.radians(min(90.0, abs(lat) + dlat)))
        dlon = 180.0 if shrink <= 0.01 else min(180.0, dlat / shrink)
        west, east = lon - dlon, lon + dlon
        sql = (
            "SELECT id, lat, lon FROM places WHERE kind = 'city' AND lat BETWEEN ? AND ? AND (lon BETWEEN "
            "? AND ?"
        )
        bounds: tuple[float, ...] = (lat - dlat, lat + dlat, west, east)
        if dlon < 180.0 and (
            west < -180.0 or east > 180.0
        ):  # the box crosses the antimeridian: look on the other side too
            shift = 360.0 if west < -180.0 else -360.0
            sql, bounds = sql + " OR lon BETWEEN ? AND ?", (*bounds, west + shift, east + shift)
        elif dlon >= 180.0:
            bounds = (lat - dlat, lat + dlat, -180.0, 180.0)
        with self._lock:
            return self._query(sql + ")", bounds)

    def _lookup(self, folded: str) -> tuple[Place, ...]:
        sql = (
            f"SELECT {_COLUMNS}, n.flags FROM names n JOIN places p ON p.id = n.place_id WHERE "
            "n.name_folded = ?"
        )
        with self._lock:
            rows = self._query(sql, (folded,))
            parts = {r[0]: self._parts(r[0]) for r in rows if r[2] == "country"} if self._has_parts else {}
        rows.sort(key=lambda r: (-r[10] if r[11] & FLAG_PRIMARY else -r[10] / 4, r[0]))
        return tuple(
            replace(
                Place(*r[:11]),
                primary=bool(r[11] & FLAG_PRIMARY),
                word=bool(r[11] & FLAG_WORD),
                given=bool(r[11] & FLAG_GIVEN),
                parts=parts.get(r[0], ()),
            )
            for r in rows[:MAX_CANDIDATES]
        )

    def _parts(self, id_: int) -> tuple[Box, ...]:
        return tuple(
            self._query(
                "SELECT south, north, west, east FROM parts WHERE place_id = ? ORDER BY rowid", (id_,)
            )
        )

    def _query(self, sql: str, arguments: tuple[Any, ...]) -> list[Any]:
        try:
            return self._db.execute(sql, arguments).fetchall()
        except UnicodeEncodeError:  # a lone surrogate is no name
            return []
        except sqlite3.Error as error:
            raise GazetteerError(f"cannot read the gazetteer {self.path}: {error}") from error


def _distance_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Great-circle distance in km between two positions in degrees."""
    a, b = math.radians(lat1), math.radians(lat2)
    h = math.sin((b - a) / 2) ** 2 + math.cos(a) * math.cos(b) * math.sin(math.radians(lon2 - lon1) / 2) ** 2
    return 2 * 6371.0 * math.asin(min(1.0, math.sqrt(h)))
