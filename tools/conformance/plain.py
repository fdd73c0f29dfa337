"""Independent implementations: the expected output of a fixture by a plain loop or Python's standard library.

They share no code with what wrote the fixtures. Covered are the K-D tree, the depth-first search, vectors,
HNSW, routing, and the album's rows.
"""

from __future__ import annotations

import base64
import heapq
import math
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tools.conformance.fixture import Case, Suite

UNKNOWN = -(2**63)
E7 = 10_000_000
Point = tuple[int, int, int]
Opinion = Callable[[Suite, Case, Path], Any]


def opinion_of(suite: str) -> Opinion | None:
    return {
        "kdtree": _kdtree,
        "graph": _graph,
        "vectors": _vectors,
        "hnsw": _hnsw,
        "routing": _routing,
        "album": _album,
    }.get(suite)


def _kdtree(suite: Suite, case: Case, folder: Path) -> Any:
    del folder
    if case.error or case.given["op"] == "near":
        return None
    blob = base64.b64decode(suite.shared["trees"][case.given["tree"]])
    (n,) = struct.unpack_from("<Q", blob, 8)
    lat, lon, when = (struct.unpack_from(f"<{n}q", blob, 16 + 8 * n * axis) for axis in range(3))
    rows = struct.unpack_from(f"<{n}i", blob, 16 + 24 * n)
    points: dict[int, Point] = dict(zip(rows, zip(lat, lon, when, strict=True), strict=True))
    if case.given["op"] == "range":
        return {
            "rows": sorted(
                row
                for row, point in points.items()
                if any(_in_box(point, box) for box in case.given["boxes"])
            )
        }
    cubes = case.given["cubes"]
    fits = sorted(
        row
        for row, point in points.items()
        if not cubes or any(_in_cube(point, cube, True) for cube in cubes)
    )
    return {
        "rows": fits,
        "inside": sorted(
            row
            for row, point in points.items()
            if not cubes or any(_in_cube(point, cube, False) for cube in cubes)
        ),
    }


def _in_box(point: Point, box: dict[str, Any]) -> bool:
    bounds = zip(point, box["low"], box["high"], strict=True)
    return all(
        bool((low is None or value >= low) and (high is None or value <= high)) for value, low, high in bounds
    )


def _in_cube(point: Point, cube: dict[str, Any], doubt: bool) -> bool:
    """`doubt`: whether an unknown field counts as inside."""
    lat, lon, when = point
    timed, placed = (
        cube["start"] is not None or cube["end"] is not None,
        any(cube[s] is not None for s in ("south", "north", "west", "east")),
    )
    in_time = not timed or (
        doubt
        if when == UNKNOWN
        else (cube["start"] is None or when >= cube["start"]) and (cube["end"] is None or when <= cube["end"])
    )
    if not placed or not in_time:
        return bool(in_time)
    if lat == UNKNOWN:
        return doubt
    south, north, west, east = (
        None if cube[s] is None else round(cube[s] * E7) for s in ("south", "north", "west", "east")
    )
    if (south is not None and lat < south) or (north is not None and lat > north):
        return False
    if west is not None and east is not None and west > east:
        inside = lon >= west or lon <= east
    else:
        inside = (west is None or lon >= west) and (east is None or lon <= east)
    return bool(inside) and ("border" not in cube or _bordered(lat, lon, cube["border"]))


def _bordered(lat: int, lon: int, rings: list[list[tuple[int, int]]]) -> bool:
    """Whether a line westwards crosses the rings an odd number of times."""
    crossed = 0
    for ring in rings:
        for ends in zip(ring, [*ring[1:], ring[0]], strict=True):
            (south, at), (north, to) = sorted(ends, key=lambda end: end[0])
            crossed += south <= lat < north and (lon - at) * (north - south) >= (to - at) * (lat - south)
    return crossed % 2 == 1


def _graph(suite: Suite, case: Case, folder: Path) -> Any:
    del suite, folder
    edges, node = case.given["edges"], case.given["node"]

    def reaches(start: int, depth: int) -> bool:
        return start == node or (
            depth > 0 and any(reaches(child, depth - 1) for parent, child in edges if parent == start)
        )

    return {"rows": [start for start in range(case.given["nodes"]) if reaches(start, case.given["depth"])]}


def _vectors(suite: Suite, case: Case, folder: Path) -> Any:
    del folder
    if case.given["op"] == "quantize":
        return None
    raw, query = suite.shared["sets"][case.given["set"]], case.given["query"]
    stored = _dequantized(raw, fine=case.given["op"] == "top")
    if case.given["op"] == "dot":  # only stored bytes; the query is quantized too, to two bytes
        scale = max(map(abs, query)) / 127
        query = [scale * (round(x / scale) + int((x / scale - round(x / scale)) * 254) / 254) for x in query]
    scores = [sum(a * b for a, b in zip(vector, query, strict=True)) for vector in stored]
    if case.given["op"] == "dot":
        return {"scores": scores}
    best: dict[int, float] = {}
    for owner, score in zip(raw["owners"], scores, strict=True):
        if case.given["rows"] is None or owner in case.given["rows"]:
            best[owner] = max(best.get(owner, -math.inf), score)
    rows = sorted(best, key=lambda row: (-best[row], row))[: case.given["k"]]
    return {"rows": rows, "scores": [best[row] for row in rows]}


def _dequantized(raw: dict[str, Any], fine: bool) -> list[list[float]]:
    codes, dim = base64.b64decode(raw["codes"]), raw["dim"]
    digits, width = base64.b64decode(raw["fine"] or ""), -(-dim // 4)
    out = []
    for n, scale in enumerate(raw["scales"]):
        vector = [float(code - 256 if code > 127 else code) for code in codes[n * dim : (n + 1) * dim]]
        if fine and digits:
            vector = [
                x + (digits[n * width + i // 4] >> 2 * (i % 4) & 3) / 4 - 3 / 8 for i, x in enumerate(vector)
            ]
        out.append([x * scale for x in vector])
    return out


def _hnsw(suite: Suite, case: Case, folder: Path) -> Any:
    """The search as FORMAT.md describes it, reading the links directly from the file's bytes."""
    del folder
    if case.error:
        return None
    blob, dim = base64.b64decode(suite.shared["blob"]), suite.shared["dim"]
    codes = base64.b64decode(suite.shared["codes"])
    n, photos = struct.unpack_from("<QQ", blob, 8)
    links = blob[40 + 2 * photos :]
    (*_, top, entry), offset = struct.unpack_from("<5Q", links, 64), 104
    in_order, levels, offset = links[offset], links[offset + 1 : offset + 1 + n], offset + 1 + n
    keys = list(range(n)) if in_order else list(struct.unpack_from(f"<{n}I", links, offset))
    offset += 0 if in_order else 4 * n
    upper = offset + 97 * n
    query = _bytes_of(case.given["query"])
    behind = set(case.given.get("behind", ()))
    vectors = [
        [0] * dim if k in behind else list(struct.unpack_from(f"{dim}b", codes, k * dim)) for k in keys
    ]

    def far(slot: int) -> float:
        ab, aa, bb = (
            sum(x * y for x, y in zip(p, q, strict=True))
            for p, q in ((vectors[slot], query), (vectors[slot], vectors[slot]), (query, query))
        )
        return 1.0 - ab / math.sqrt(aa * bb) if aa and bb else 1.0

    def near(slot: int, level: int) -> Sequence[int]:
        if level:
            place = upper + 68 * (sum(levels[:slot]) + level - 1)
            return struct.unpack_from(f"<{struct.unpack_from('<I', links, place)[0]}I", links, place + 4)
        place = offset + 97 * slot
        return [
            int.from_bytes(links[place + 1 + 3 * i : place + 4 + 3 * i], "little")
            for i in range(links[place])
        ]

    slot, count = entry, min(case.given["count"], n)
    for level in range(top, 0, -1):
        while (best := min([slot, *near(slot, level)], key=far)) != slot and far(best) < far(slot):
            slot = best
    seen, nearest, todo = {slot}, [(-far(slot), slot)], [(far(slot), slot)]
    while todo:
        distance, current = heapq.heappop(todo)
        if distance > -nearest[0][0] and len(nearest) >= count:
            break
        for other in near(current, 0):
            if other not in seen:
                seen.add(other)
                away = far(other)
                if len(nearest) < count or away < -nearest[0][0]:
                    heapq.heappush(todo, (away, other))
                    heapq.heappush(nearest, (-away, other))
                    while len(nearest) > count:
                        heapq.heappop(nearest)
    return {
        "positions": [
            keys[slot] for _, slot in sorted(nearest, key=lambda pair: -pair[0]) if keys[slot] not in behind
        ]
    }


def _bytes_of(query: Sequence[float]) -> list[int]:
    scale = max(map(abs, query)) / 127
    return [round(x / scale) for x in query]


def _routing(suite: Suite, case: Case, folder: Path) -> Any:
    del suite, folder
    if case.error:
        return None
    weights = case.given["weights"]
    order = sorted(range(len(weights)), key=lambda e: (-weights[e], e))
    total, experts, share = sum(weights), list[int](), 0.0
    for expert in order:
        experts.append(expert)
        share += weights[expert] / total
        if share >= case.given["rho"] - 1e-6:
            break
    chosen_weight = sum(weights[expert] for expert in experts)
    return {"experts": experts, "shares": [weights[expert] / chosen_weight for expert in experts]}


def _album(suite: Suite, case: Case, folder: Path) -> Any:
    """The parts of `read` that are plain columns, read with the standard library's sqlite3."""
    del suite
    if case.given["op"] != "read":
        return None
    with tempfile.TemporaryDirectory() as aside:
        copy = Path(aside, "album")
        copy.write_bytes((folder / case.given["file"]).read_bytes())
        with closing(sqlite3.connect(copy)) as db:
            return {**case.out, **_rows(db)}


def _rows(db: sqlite3.Connection) -> dict[str, Any]:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    meta = dict(db.execute("SELECT key, value FROM meta"))
    offset, labels = ("utc_offset", "sharing, sensitivity") if version > 1 else ("NULL", "NULL, NULL")
    photos = []
    sql = (
        f"SELECT row, id, path, taken_at, tz_source, {offset}, lat_e7, lon_e7, sharing, sensitivity, sha256 "
        "FROM photos ORDER BY row"
    )
    for row, *values in db.execute(sql).fetchall():
        names = (
            "id",
            "path",
            "taken_at",
            "tz_source",
            "utc_offset",
            "lat",
            "lon",
            "sharing",
            "sensitivity",
            "sha256",
        )
        photo = dict(zip(names, values, strict=True))
        photo |= {axis: None if photo[axis] is None else photo[axis] / E7 for axis in ("lat", "lon")}
        photo["wall"] = (
            None if photo["taken_at"] is None else photo["taken_at"] + 60_000 * (photo["utc_offset"] or 0)
        )
        memories = db.execute(
            f"SELECT source, text, {labels} FROM memories WHERE photo=? ORDER BY id", (row,)
        )
        photo["memories"] = [
            dict(zip(("source", "text", "sharing", "sensitivity"), m, strict=True)) for m in memories
        ]
        photos.append(photo)
    chats = [
        row for (row,) in db.execute("SELECT DISTINCT photo FROM memories WHERE source='chat' ORDER BY photo")
    ]
    settings = {
        "text_encoder": meta["text_encoder"],
        "image_encoder": meta["image_encoder"],
        "dim": int(meta["dim"]),
        "delta": float(meta["delta"]),
    }
    channels = dict(db.execute("SELECT channel, count(*) FROM vectors GROUP BY channel"))
    return {
        "meta": settings,
        "generation": int(meta["generation"]),
        "photos": photos,
        "channels": channels,
        "conversations": chats,
    }
