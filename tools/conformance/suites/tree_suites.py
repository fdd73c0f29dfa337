"""Suite `kdtree`: queries of a serialized K-D tree by cubes, by boxes and by nearness."""

from __future__ import annotations

import base64
import random
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.borders import Border
from gamer.index.records import Cube
from gamer.index.space.cubes import Space
from gamer.index.space.kdtree import HIGHEST, LOWEST, Box, Int64Array, KDTree, build
from tools.conformance.fixture import Answers, Case, Given, Suite, base64_of

SIDES = ("start", "end", "south", "north", "west", "east")


def kdtree(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del folder, stack

    @cache
    def space_of(blob: str) -> Space:
        tree = KDTree.from_bytes(base64.b64decode(blob))
        return Space.of(tree, len(tree), np.empty(0, np.int64), np.empty((0, 3), np.int64))

    def space(given: Given) -> Space:
        return space_of(given["blob"] if "blob" in given else shared["trees"][given["tree"]])

    def cubes(given: Given) -> Given:
        row_set = space(given).in_cubes([_cube(**cube) for cube in given["cubes"]])
        return {"rows": row_set.rows.tolist(), "inside": row_set.inside.tolist()}

    def within(given: Given) -> Given:
        tree = KDTree.from_bytes(base64.b64decode(shared["trees"][given["tree"]]))
        return {"rows": tree.range([_box(box) for box in given["boxes"]]).tolist()}

    def near(given: Given) -> Given:
        asked = (given[name] for name in ("k", "lat", "lon", "taken_at", "metres_an_hour"))
        return {"rows": space(given).near(*asked).tolist()}

    return {"cubes": cubes, "range": within, "near": near}


def _cube(border: Any = None, **sides: Any) -> Cube:
    return Cube(**sides, border=None if border is None else Border(str(border), [*map(np.array, border)]))


def _box(given: Given) -> Box:
    """Open ends are null, because some JSON readers have no 64-bit integers."""
    low = [LOWEST if value is None else value for value in given["low"]]
    high = [HIGHEST if value is None else value for value in given["high"]]
    return Box((low[0], low[1], low[2]), (high[0], high[1], high[2]))


def cube_json(cube: Cube) -> Given:
    return {side: getattr(cube, side) for side in SIDES}


def generated(seed: int, count: int) -> Suite:
    """Random cubes, asked of a tree of random points."""
    rng, blob = random.Random(seed), build(points(200, seed), 8).to_bytes()
    cubes = [[cube_json(_random_cube(rng)) for _ in range(rng.choice([1, 1, 2, 5]))] for _ in range(count)]
    cases = [Case(f"{n:04d}", {"op": "cubes", "tree": "main", "cubes": each}) for n, each in enumerate(cubes)]
    return Suite("kdtree", tuple(cases), {"trees": {"main": base64_of(blob)}})


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


def _random_cube(rng: random.Random) -> Cube:
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
