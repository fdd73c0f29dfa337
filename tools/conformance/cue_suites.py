"""Suite `cues`: a query, a day and an album's places → times, places, cubes and the remaining text.

(Paper section 3.2, layer 1.) The gazetteer is a small extract of the one that `gamer export` writes.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import Cube
from gamer.runtime.bundle.gazetteer import Gazetteer, Place, fold
from gamer.runtime.cues.home import learn_home
from gamer.runtime.cues.parse import Cues, parse, resolve
from gamer.runtime.cues.time_ranges import TimeCue
from gamer.runtime.search.explain import cube_lines, cue_lines
from gamer.runtime.search.stages import refine
from tests.runtime.cues import test_anchors, test_languages, test_parse
from tools.conformance.fixture import Case, Suite
from tools.conformance.queries import PLACES, PLAIN, generated
from tools.conformance.tree_suites import cube_json

NOW = datetime(2012, 9, 20, 15, 30)
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
)
_OUTLINED = ("PT", "FJ")  # countries whose borders the extract has; the others have boxes
_BORDERS = (
    "beach in France",
    "not in France",
    "at sea near Fiji",
    "dinner in Fiji",
    "holidays in France, Fiji",
)
_TOWNS = 3  # of each name, the most populous first


def committed(folder: Path) -> list[Suite]:
    path = folder / "gazetteer.sqlite"
    if not path.exists():
        write_gazetteer(path)
    # the queries of the parser's own tests
    tables: list[Any] = [
        test_parse.TIMES,
        test_parse.RECURRING,
        test_parse.PLACES,
        test_anchors.READ,
    ]
    languages = [row[0] for row in test_languages.FOREIGN]
    told = [*PLAIN, *(row[0] for table in tables for row in table), *generated(60, 1), *languages]
    queries = [*told, *_BORDERS]
    return [suite(list(dict.fromkeys(map(str, queries))), path, "gazetteer.sqlite")]


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
        db.execute("DELETE FROM borders WHERE country_code NOT IN (?, ?)", _OUTLINED)
        db.execute("PRAGMA page_size = 1024")
        db.execute("VACUUM")
        db.close()
        path.write_bytes(full.read_bytes())


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc,arg-type]


EXTENT = (ms(2009, 3, 1), ms(2012, 9, 1))
# latitude, longitude of an album's photos: Paris (two), Lisbon, Kyoto, Texas, Sydney, Zürich, New York,
# Badajoz (in Portugal's box), Madeira, Taveuni (on the antimeridian)
POSITIONS = (
    (48.857, 2.352),
    (48.86, 2.34),
    (38.72, -9.14),
    (35.01, 135.77),
    (33.66, -95.55),
    (-33.87, 151.21),
    (47.37, 8.54),
    (40.71, -74.0),
    (38.88, -6.97),
    (32.65, -16.9),
    (-16.8, -179.97),
)
HOME = Cube(south=47.9, north=48.1, west=11.4, east=11.7)
EVENTS = {
    "fireworks": [(ms(2011, 7, 4), ms(2011, 7, 5) - 1)],
    "sister's wedding": [(ms(2010, 6, 12), ms(2010, 6, 14) - 1)],
    "marathon": [],
}


def suite(queries: Sequence[str], gazetteer: Path, relative: str, extras: bool = True) -> Suite:
    """Each query in one of four settings, in turn.

    With an album, without its extent, without places, south of the equator. `extras`: also cases of `home`,
    refinement and `fold`.
    """
    cases = []
    with Gazetteer.open(gazetteer) as opened:
        for n, query in enumerate(queries):
            extent = None if n % 4 == 1 else EXTENT
            positions, home, southern = (None, None, n % 4 == 3) if n % 4 >= 2 else (POSITIONS, HOME, False)
            given = {
                "op": "parse",
                "query": query,
                "now": NOW.isoformat(),
                "extent": extent,
                "positions": None if positions is None else "album",
                "home": None if home is None else [home.south, home.north, home.west, home.east],
                "southern": southern,
            }
            near = None if positions is None else _near(positions)
            read = parse(
                query, NOW, opened, extent, near, partial(_constant, home) if home else None, southern
            )
            known = resolve(read, lambda phrase: EVENTS.get(phrase.lower(), ()))
            cases.append(Case(f"{n:04d}", given, _shown(known)))
    shared = {"gazetteer": relative, "positions": {"album": POSITIONS}, "events": EVENTS}
    more = (*_homes(), *_refined(), *_folded()) if extras else ()
    return Suite("cues", (*cases, *more), shared, tolerance=1e-9)


def _constant(home: Cube) -> Cube:
    return home


def _near(positions: Sequence[tuple[float, float]]) -> Callable[[Place], int]:
    return lambda place: sum(place.contains(lat, lon) for lat, lon in positions)


def _shown(cues: Cues) -> dict[str, Any]:
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
        "lines": list(cue_lines(cues)),
        "cube_lines": list(cube_lines(cues)),
    }


def _time(cue: TimeCue) -> dict[str, Any]:
    return {
        "text": cue.text,
        "start": cue.start,
        "end": cue.end,
        "kind": cue.kind,
        "confidence": cue.confidence,
    }


def _place(cue: Any) -> dict[str, Any]:
    boxes = [[box.south, box.north, box.west, box.east] for box in cue.boxes]
    return {
        "text": cue.text,
        "name": cue.name,
        "kind": cue.kind,
        "photos": cue.photos,
        "confidence": cue.confidence,
        "boxes": boxes,
    }


def _homes() -> list[Case]:
    """Albums with a home, and without: nights too few, consecutive, or too far apart."""
    day, out = 86_400_000, []
    rng = np.random.default_rng(4)
    for n, (nights, spread, apart) in enumerate(
        [(40, 0.0005, 3), (4, 0.0005, 9), (12, 0.0005, 1), (40, 5.0, 3), (60, 0.002, 5), (0, 1.0, 1)]
    ):
        where = np.array([48.1, 11.5]) + rng.uniform(-spread, spread, (nights, 2))
        when = ms(2010, 1, 1) + np.arange(nights) * apart * day + rng.integers(20, 29, nights) * 3_600_000
        elsewhere, noon = rng.uniform(-60, 60, (20, 2)), ms(2010, 2, 1) + np.arange(20) * day + 12 * 3_600_000
        positions = np.round(np.concatenate([where, elsewhere]), 7)
        times = np.concatenate([when, noon]).astype(np.int64)
        box = learn_home(positions, times)
        given = {"op": "home", "positions": positions.tolist(), "times": times.tolist()}
        out.append(
            Case(f"home-{n}", given, None if box is None else [box.south, box.north, box.west, box.east])
        )
    return [Case(c.id, c.given, {"box": c.out}) for c in out]


_ANSWERS = (
    ("rusty red car", "photo of the red car", "red car", ()),
    (
        "red car that grandpa repaired",
        "the red car that grandpa repaired",
        "red car that grandpa repaired",
        (),
    ),
    ("car", "the red car", "red car", ()),
    ("", "the red car", "red car", ()),
    ("red car with Lena", "the red car with her", "red car", ("Lena", "Rex")),
    ("red car with Berta", "the red car with her", "red car", ("Lena", "Rex")),
    ("red car on a long road under a blue sky near mountains", "the red car", "red car", ()),
    ("two\nlines", "two lines", "two lines", ()),
)


def _refined() -> list[Case]:
    """The functions of refine.py: the fast form, cleaning, content words, objections and context."""
    out = [
        Case(f"fast-{n}", {"op": "fast", "text": text}, {"text": refine.fast(text)})
        for n, text in enumerate(_TEXTS)
    ]
    out += [
        Case(f"clean-{n}", {"op": "clean", "text": text, "limit": 20}, {"text": refine.clean(text, 20)})
        for n, text in enumerate(_TEXTS)
    ]
    out += [
        Case(
            f"words-{n}", {"op": "content_words", "text": text}, {"words": sorted(refine.content_words(text))}
        )
        for n, text in enumerate(_TEXTS)
    ]
    for n, (answer, query, plain, names) in enumerate(_ANSWERS):
        given = {"op": "objection", "text": answer, "query": query, "plain": plain, "names": names}
        out.append(
            Case(
                f"objection-{n}",
                given,
                {"text": refine.objection(answer, query, plain, refine.Context(tuple(names)))},
            )
        )
    for n, names in enumerate(
        [("Lena Meier", "Rex", "Oslo", "a sentence that somebody called a name by mistake"), ()]
    ):
        context = refine.fitting(names, "where is Lena with Rex in oslo")
        out.append(
            Case(
                f"fitting-{n}",
                {"op": "fitting", "names": names, "query": "where is Lena with Rex in oslo"},
                {"notes": context.notes()},
            )
        )
    return out


_TEXTS = (
    "show me the photos of my dog that I took",
    "Please find some pictures where we shot fireworks!",
    "photos",
    "the picture showing <b>bold</b> {braces}",
    "  tabs\tand\nnew lines \u00a0 and \u2028 more ",
    "Ünïcode wörds ÄÖÜ straße naïve собака 写真",
    "images with the cat, which we made.",
    "a\u0301bc control\u0007 zero\u200bwidth \ufeffbom",
    "",
)


def _folded() -> list[Case]:
    names = (
        "Zürich",
        "São Paulo",
        "Ørsted-by",
        "St. John's",
        "İstanbul",
        "ŁÓDŹ",
        "Straße",
        "𝑨thens",
        "New_York",
        "  two  words ",
        "Æther œuvre ðþ",
        "Ａｂｃ",
        "ß",
    )
    return [
        Case(f"fold-{n}", {"op": "fold", "text": name}, {"text": fold(name)}) for n, name in enumerate(names)
    ]
