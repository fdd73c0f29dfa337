"""Suite `cues`: a query, a day and an album's places → times, places, cubes and the remaining text.

(Paper section 3.2, layer 1.) The gazetteer is a small extract of the one that `gamer export` writes.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import Cube
from gamer.runtime.bundle.gazetteer import Gazetteer, Place, fold
from gamer.runtime.cues.home import learn_home
from gamer.runtime.cues.parse import Cues, parse, resolve
from gamer.runtime.cues.time_ranges import TimeCue
from gamer.runtime.search.explain import cube_lines, cue_remarks
from gamer.runtime.search.stages import refine
from tools.conformance.fixture import COMMITTED, Answers, Case, Given, Suite, read
from tools.conformance.queries import PLACES, made_up
from tools.conformance.suites.tree_suites import cube_json

_MORE = (
    "Melbourne",
    "Los Angeles",
    "Hamburg",
    "Suva",
    "Honolulu",
    "Naples",
    "Madrid",
    "Istanbul",
    "Washington",
    "Buffalo",
    "Mobile",
    "Orange",
    "Germany",
    "Italy",
    "Spain",
    "United States",
    "Portugal",
    "Norway",
    "Iceland",
    "Jordan",
    "Georgia",
    "Chad",
    "California",
    "Scotland",
    "New England",
    "Bay Area",
    "Tuscany",
    "Alps",
    "Patagonia",
    "Siberia",
    "Oceania",
    "Yosemite",
    "Munich",
    "Cologne",
    "Valencia",
    "March",
    "May",
    "Lyon",
    "Nice",
    "Rome",
    "Moscow",
    "Saint Petersburg",
    "Tokyo",
    "Japan",
    "Tui",
    "Viana do Castelo",
)
# The places whose borders the extract has: countries by code, regions by name; the others have boxes.
_OUTLINED = ("PT", "FJ", "Tuscany")
_TOWNS = 3  # of each name, the most populous first


def write_gazetteer(path: Path) -> None:
    """Writes an extract of the full gazetteer: the places that the queries name.

    With other towns of the same names, and the parts of countries.
    """
    from gamer.export.bundle.gazetteer import build_gazetteer

    with tempfile.TemporaryDirectory() as folder:
        full = build_gazetteer(Path(folder, "gazetteer.sqlite")).path
        db = sqlite3.connect(full, isolation_level=None)
        names = sorted({fold(name.removeprefix("the ")) for name in (*PLACES, *_MORE)})
        placeholders = ",".join("?" * len(names))
        matches = db.execute(
            "SELECT n.name_folded, p.id, p.population FROM names n JOIN places p ON p.id = n.place_id "
            f"WHERE name_folded IN ({placeholders})",
            names,
        )
        by_name: dict[str, list[tuple[int, int]]] = {}
        for name, place, people in matches.fetchall():
            by_name.setdefault(name, []).append((-people, place))
        place_ids = {place for places in by_name.values() for _, place in sorted(places)[:_TOWNS]}
        ids = ",".join(str(place) for place in sorted(place_ids))
        for table, column in (("places", "id"), ("names", "place_id"), ("parts", "place_id")):
            db.execute(f"DELETE FROM {table} WHERE {column} NOT IN ({ids})")
        db.execute(
            "DELETE FROM borders WHERE country_code NOT IN (?, ?) AND country_code NOT IN "
            "(SELECT CAST(id AS TEXT) FROM places WHERE kind = 'region' AND name = ?)",
            _OUTLINED,
        )
        db.execute("PRAGMA page_size = 1024")
        db.execute("VACUUM")
        db.close()
        path.write_bytes(full.read_bytes())


_SIDES = ("south", "north", "west", "east")
_TIME = ("text", "start", "end", "kind", "confidence")
_PLACE = ("text", "name", "kind", "photos", "confidence")


def cues(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    gazetteer = stack.enter_context(Gazetteer.open(folder / shared["gazetteer"]))
    return {
        "parse": partial(_parse, gazetteer, shared),
        "home": _home,
        "fast": lambda given: {"text": refine.fast(given["text"])},
        "clean": lambda given: {"text": refine.clean(given["text"], given["limit"])},
        "content_words": lambda given: {"words": sorted(refine.content_words(given["text"]))},
        "objection": _objection,
        "fitting": lambda given: {"notes": refine.fitting(given["names"], given["query"]).notes()},
        "fold": lambda given: {"text": fold(given["text"])},
        "nearest": lambda given: {"name": (city := gazetteer.nearest(*given["at"])) and city.name},
    }


def _parse(gazetteer: Gazetteer, shared: Given, given: Given) -> Given:
    home = given["home"] and Cube(**dict(zip(_SIDES, given["home"], strict=True)))

    def near(place: Place) -> int:
        return sum(place.contains(lat, lon) for lat, lon in shared["positions"][given["positions"]])

    cues = parse(
        given["query"],
        datetime.fromisoformat(given["now"]),
        gazetteer,
        given["extent"] and tuple(given["extent"]),
        near if given["positions"] else None,
        (lambda: home) if home else None,
        given["southern"],
    )
    return _shown(resolve(cues, lambda phrase: shared["events"].get(phrase.lower(), ())))


def _shown(cues: Cues) -> Given:
    return {
        "times": [_time(t) for t in cues.times],
        "negated_times": [_time(t) for t in cues.negated_times],
        "places": [_place(p) for p in cues.places],
        "negated_places": [_place(p) for p in cues.negated_places],
        "recurring": [
            {
                "text": r.text,
                "kind": r.kind,
                "weekdays": list(r.weekdays),
                "minutes": list(r.minutes),
                "confidence": r.confidence,
            }
            for r in cues.recurring
        ],
        "anchors": [{"text": a.text, "phrase": a.phrase} for a in cues.anchors],
        "cubes": [cube_json(cube) for cube in cues.cubes],
        "rest": cues.rest,
        "refined": refine.fast(cues.rest),
        "lines": [str(remark) for remark in cue_remarks(cues)],
        "cube_lines": list(cube_lines(cues)),
    }


def _time(cue: TimeCue) -> Given:
    return {name: getattr(cue, name) for name in _TIME}


def _place(cue: Any) -> Given:
    boxes = [[getattr(box, side) for side in _SIDES] for box in cue.boxes]
    return {name: getattr(cue, name) for name in _PLACE} | {"boxes": boxes}


def _home(given: Given) -> Given:
    box = learn_home(np.array(given["positions"]).reshape(-1, 2), np.array(given["times"], np.int64))
    return {"box": box and [getattr(box, side) for side in _SIDES]}


def _objection(given: Given) -> Given:
    context = refine.Context(tuple(given["names"]))
    return {"text": refine.objection(given["text"], given["query"], given["plain"], context)}


def asked(queries: Iterable[str], first: int = 0) -> Iterator[Case]:
    """Each query in one of four settings in turn, which are those of the first four committed cases: with an
    album, without its extent, without places, south of the equator.
    """
    settings = [case.given for case in read(COMMITTED / "cues.json").cases[:4]]
    for n, query in enumerate(queries, first):
        yield Case(f"{n:04d}", settings[n % 4] | {"query": query})


def with_tests(suite: Suite) -> Suite:
    """With a case for each query of the tests of the reader of cues, and with the gazetteer that it names."""
    path = COMMITTED / suite.shared["gazetteer"]
    if not path.exists():
        write_gazetteer(path)
    known = [case.given["query"] for case in suite.cases if case.given["op"] == "parse"]
    more = [query for query in dict.fromkeys(_of_tests()) if query not in known]
    return replace(suite, cases=(*suite.cases, *asked(more, len(known))))


def _of_tests() -> Iterator[str]:
    from tests.runtime.cues import test_anchors, test_languages, test_parse

    tables: tuple[Any, ...] = (test_parse.TIMES, test_parse.RECURRING, test_parse.PLACES, test_anchors.READ)
    for table in (*tables, test_languages.FOREIGN):
        yield from (str(row[0]) for row in table)


def generated(seed: int, count: int) -> Suite:
    gazetteer = COMMITTED / "gazetteer.sqlite"
    queries = list(dict.fromkeys(made_up(count * 5 // 4, seed)))[:count]
    shared = read(COMMITTED / "cues.json").shared | {"gazetteer": str(gazetteer)}
    return Suite("cues", tuple(asked(queries)), shared, tolerance=1e-9)
