"""Suite `kdtree`: queries of a serialized K-D tree by cubes, by boxes and by nearness."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.borders import Border
from gamer.index.errors import AlbumError
from gamer.index.records import Cube
from gamer.index.space.cubes import E7, Space
from gamer.index.space.kdtree import HIGHEST, LOWEST, Box, Int64Array, KDTree, build
from tools.conformance.fixture import Case, Suite, base64_of

SIDES = ("start", "end", "south", "north", "west", "east")
DAY = 86_400_000


def committed(folder: Path) -> list[Suite]:
    del folder
    blobs = {
        name: build(points(n, n), leaf).to_bytes()
        for name, n, leaf in (("main", 300, 16), ("small", 40, 4), ("one", 1, 32), ("none", 0, 32))
    }
    cases = [
        _cubes(f"cubes-{name}-{n:02d}", name, blobs[name], cubes)
        for name in blobs
        for n, cubes in enumerate(_CUBES)
    ]
    cases += [
        _cubes(f"cubes-bordered-{n}", "main", blobs["main"], cubes) for n, cubes in enumerate(_BORDERED)
    ]
    rng = random.Random(11)
    cases += [
        _cubes(
            f"cubes-random-{n:02d}",
            "main",
            blobs["main"],
            [random_cube(rng) for _ in range(rng.randint(1, 4))],
        )
        for n in range(30)
    ]
    cases += [
        _range(f"range-{n:02d}", "main", blobs["main"], [_random_box(rng) for _ in range(rng.randint(1, 3))])
        for n in range(12)
    ]
    cases += [_near(f"near-{n:02d}", "main", blobs["main"], *arguments) for n, arguments in enumerate(_NEAR)]
    cases += [
        Case(f"damaged-{name}", {"op": "cubes", "blob": base64_of(blob), "cubes": []}, error=_refusal(blob))
        for name, blob in _damaged(blobs["small"])
    ]
    return [Suite("kdtree", tuple(cases), {"trees": {name: base64_of(blob) for name, blob in blobs.items()}})]


def points(n: int, seed: int) -> Int64Array:
    """int64 [n, 3] (latitude and longitude in 1e-7 degrees, ms): a cluster and points all over the globe.

    A fifth has no place, a tenth no time, and some are equal.
    """
    rng = np.random.default_rng(seed)
    lat, lon = rng.integers(-900_000_000, 900_000_001, n), rng.integers(-1_800_000_000, 1_800_000_001, n)
    home = rng.random(n) < 0.4
    lat, lon = (
        np.where(home, 480_000_000 + rng.integers(-5_000, 5_000, n), lat),
        np.where(home, 110_000_000 + rng.integers(-5_000, 5_000, n), lon),
    )
    when = rng.integers(1_200_000_000_000, 1_700_000_000_000, n)
    out = np.stack([lat, lon, when], axis=1).astype(np.int64)
    out[rng.random(n) < 0.2, :2] = LOWEST
    out[rng.random(n) < 0.1, 2] = LOWEST
    out[n // 2 : n // 2 + n // 10] = out[: n // 10]
    return out


WORLD: dict[str, Any] = {"south": -90.0, "north": 90.0, "west": -180.0, "east": 180.0}
_CUBES: tuple[list[Cube], ...] = (
    [],
    [Cube()],
    [Cube(start=1_300_000_000_000, end=1_400_000_000_000)],
    [Cube(start=1_500_000_000_000)],
    [Cube(end=1_250_000_000_000)],
    [Cube(start=1_400_000_000_000, end=1_300_000_000_000)],
    [Cube(south=47.0, north=49.0, west=10.0, east=12.0)],
    [Cube(south=-60.0, north=60.0, west=170.0, east=-170.0)],
    [Cube(1_300_000_000_000, 1_500_000_000_000, 47.9, 48.1, 10.9, 11.1)],
    [
        Cube(1_300_000_000_000, None, -90.0, 0.0, 100.0, -60.0),
        Cube(None, 1_350_000_000_000, 47.9999, 48.0, 10.9999, 11.0001),
    ],
    [Cube(south=10.0, north=-10.0, west=0.0, east=1.0)],
    [Cube(south=-90.0, north=90.0, west=-180.0, east=180.0)],
    [Cube(start=0, end=0), Cube(start=1_200_000_000_000, end=1_200_000_000_000 + 400 * DAY)],
)
_STAR = [(-80, -170), (85, -20), (-85, 30), (70, 175), (20, 20)]  # its edges cross
_HOLED = [
    [
        (470_000_000, 100_000_000),
        (490_000_000, 100_000_000),
        (490_000_000, 120_000_000),
        (470_000_000, 120_000_000),
    ],
    [(480_000_000, 110_000_000), (480_004_000, 110_003_000), (479_997_000, 110_002_000)],
]
_BORDERED: tuple[list[Cube], ...] = (
    [Cube(border=Border("A", [np.array(_STAR) * E7]), **WORLD)],
    [
        Cube(
            1_300_000_000_000,
            1_500_000_000_000,
            47.0,
            49.0,
            10.0,
            12.0,
            Border("B", [*map(np.array, _HOLED)]),
        )
    ],
    [
        Cube(border=Border("B", [*map(np.array, _HOLED)]), **WORLD),
        Cube(south=-60.0, north=60.0, west=170.0, east=-170.0),
        Cube(start=1_600_000_000_000, border=Border("A", [np.array(_STAR) * E7]), **WORLD),
    ],
)
# k, latitude, longitude, time, metres an hour
_NEAR: tuple[tuple[int, float | None, float | None, int | None, float], ...] = (
    (5, 48.0, 11.0, None, 1000.0),
    (5, None, None, 1_400_000_000_000, 1000.0),
    (7, 48.0, 11.0, 1_400_000_000_000, 1000.0),
    (4, -20.0, 179.9, None, 1000.0),
    (4, 0.0, -180.0, 1_600_000_000_000, 50.0),
    (1, 89.9, 0.0, None, 1000.0),
    (400, 10.0, 10.0, None, 1000.0),
    (0, 10.0, 10.0, None, 1000.0),
)


def cube_json(cube: Cube) -> dict[str, Any]:
    return {side: getattr(cube, side) for side in SIDES}


def _given(cube: Cube) -> dict[str, Any]:
    """With the rings of its border, if it has one."""
    border = {"border": [ring.tolist() for ring in cube.border.rings]} if cube.border else {}
    return cube_json(cube) | border


def random_cube(rng: random.Random) -> Cube:
    start, end = (rng.choice([None, rng.randint(1_190_000_000_000, 1_710_000_000_000)]) for _ in range(2))
    if rng.random() < 0.3:
        return Cube(start, end)
    lat, lon = (48.0, 11.0) if rng.random() < 0.3 else (rng.uniform(-90, 90), rng.uniform(-180, 180))
    size = rng.choice([0.0001, 0.01, 5.0, 60.0])
    west, east = (((lon + d) + 180.0) % 360.0 - 180.0 for d in (-size, size))
    return Cube(
        start,
        end,
        round(max(-90.0, lat - size), 6),
        round(min(90.0, lat + size), 6),
        round(west, 6),
        round(east, 6),
    )


def _random_box(rng: random.Random) -> Box:
    bounds = []
    for reach in (900_000_000, 1_800_000_000, 1_700_000_000_000):
        a, b = sorted(rng.randint(-reach, reach) for _ in range(2))
        bounds.append((rng.choice([LOWEST, a]), rng.choice([HIGHEST, b])))
    low, high = zip(*bounds, strict=True)
    return Box((low[0], low[1], low[2]), (high[0], high[1], high[2]))


def _space(blob: bytes) -> Space:
    tree = KDTree.from_bytes(blob)
    return Space.of(tree, len(tree), np.empty(0, np.int64), np.empty((0, 3), np.int64))


def _cubes(name: str, tree: str, blob: bytes, cubes: list[Cube]) -> Case:
    return Case(
        name, {"op": "cubes", "tree": tree, "cubes": [_given(cube) for cube in cubes]}, answer(blob, cubes)
    )


def answer(blob: bytes, cubes: list[Cube]) -> dict[str, list[int]]:
    row_set = _space(blob).in_cubes(cubes)
    return {"rows": row_set.rows.tolist(), "inside": row_set.inside.tolist()}


def _range(name: str, tree: str, blob: bytes, boxes: list[Box]) -> Case:
    """Open ends are null, because some JSON readers have no 64-bit integers."""
    shown = [
        {
            "low": [None if v == LOWEST else v for v in box.low],
            "high": [None if v == HIGHEST else v for v in box.high],
        }
        for box in boxes
    ]
    return Case(
        name,
        {"op": "range", "tree": tree, "boxes": shown},
        {"rows": KDTree.from_bytes(blob).range(boxes).tolist()},
    )


def _near(
    name: str,
    tree: str,
    blob: bytes,
    k: int,
    lat: float | None,
    lon: float | None,
    when: int | None,
    speed: float,
) -> Case:
    given = {
        "op": "near",
        "tree": tree,
        "k": k,
        "lat": lat,
        "lon": lon,
        "taken_at": when,
        "metres_an_hour": speed,
    }
    return Case(name, given, {"rows": _space(blob).near(k, lat, lon, when, speed).tolist()})


def _damaged(blob: bytes) -> list[tuple[str, bytes]]:
    n = struct.unpack_from("<Q", blob, 8)[0]
    wrong_row = bytearray(blob)
    struct.pack_into("<i", wrong_row, len(blob) - 4, n)
    return [
        ("empty", b""),
        ("magic", b"XKDT" + blob[4:]),
        ("version", blob[:4] + struct.pack("<H", 2) + blob[6:]),
        ("leaf", blob[:6] + struct.pack("<H", 0) + blob[8:]),
        ("cut", blob[:-1]),
        ("long", blob + b"\0"),
        ("huge", blob[:8] + struct.pack("<Q", 2**61) + blob[16:]),
        ("row", bytes(wrong_row)),
    ]


def _refusal(blob: bytes) -> str:
    try:
        KDTree.from_bytes(blob)
    except AlbumError as error:
        if "rebuild the segment" in str(error):
            return "rebuild the segment"
    raise AssertionError("a damaged tree was read")
