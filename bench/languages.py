"""Queries in six languages to an album whose memories are in these languages: search beside BM25 alone.

An encoder of English texts says little of other languages; the ranking must not fall below the words. There
are three kinds of query: those that a person would ask, the memories asked for in English, and every word and
pair of words of a memory. The album and the queries are in languages.json; nothing else of this module knows
a language. With data sets of English memories, translated queries are asked as well (translated/).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gamer.runtime.search.options import AS_ASKED

from .study.declaration import NoSettings, Run, Work
from .tables import Sheet, sheet
from .translated.measure import Translated
from .translated.measure import measure as measure_translated
from .translated.measure import tables as translated_tables

if TYPE_CHECKING:
    from gamer.index import Album
    from gamer.runtime.search.engine import Engine

K = 5
LEAST = 4  # letters of a word of a memory that is asked for
_WORD = re.compile(rf"[^\W\d_]{{{LEAST},}}")


@dataclass(frozen=True)
class LanguageQuery:
    """A query and the photo that it means.

    `kind`: "asked", "in English" or "words". `language`: of the photo's memory.
    """

    kind: str
    language: str
    query: str
    photo: str


@dataclass(frozen=True)
class Row:
    """Shares of the queries of one language and kind whose photo is among the first K, and comes first."""

    language: str
    kind: str
    queries: int
    search: float
    bm25: float
    search_first: float
    bm25_first: float


@dataclass(frozen=True)
class Languages:
    """The measurement; see the module. `translated`: None without data sets, or tables of glosses."""

    bundle: str
    photos: int
    rows: tuple[Row, ...]
    translated: Translated | None = None


def queries() -> tuple[LanguageQuery, ...]:
    """The queries that a person would ask, then those made of the memories' words."""
    data = _read()
    asked = [LanguageQuery("asked", row["language"], row["query"], row["photo"]) for row in data["queries"]]
    language_of = {row.photo[:2]: row.language for row in asked}
    english = (
        LanguageQuery("in English", language_of[row["photo"][:2]], row["query"], row["photo"])
        for row in data["in_english"]
    )
    return (*asked, *english, *(made for photo in data["photos"] for made in _words(photo, language_of)))


def _words(photo: dict[str, Any], language_of: dict[str, str]) -> Iterator[LanguageQuery]:
    words = _WORD.findall(photo["memories"][0]["text"])
    for at, word in enumerate(words):
        for query in (word, *(f"{later} {word}" for later in words[at + 1 : at + 2])):
            yield LanguageQuery("words", language_of[photo["id"][:2]], query, photo["id"])


def measure(run: Run[NoSettings]) -> Languages:
    """Builds the album with the bundle's models, and asks everything."""
    from gamer.runtime.indexing.build import build
    from gamer.runtime.search.engine import Engine

    data, album = _read(), run.home / "languages.gamer"
    listed = run.home / "languages.jsonl"
    lines = (json.dumps(photo, ensure_ascii=False) + "\n" for photo in data["photos"])
    listed.write_text("".join(lines), encoding="utf-8")
    built = build(listed, run.models, album)
    with Engine.over(run.models, album) as engine:
        rows = _rows(engine, queries(), datetime.fromisoformat(data["now"]))
    translated = measure_translated(run.models, run.data, run.home, run.tell) if run.data else None
    return Languages(run.recipe, built.photos, rows, translated)


def _rows(engine: Engine, asked: Sequence[LanguageQuery], now: datetime) -> tuple[Row, ...]:
    groups: dict[tuple[str, str], list[tuple[int | None, int | None]]] = {}
    for one in asked:
        found = [hit.id for hit in engine.search(one.query, K, now=now, options=AS_ASKED).hits]
        places = _place(one.photo, found), _place(one.photo, by_words(engine.album, one.query))
        groups.setdefault((one.language, one.kind), []).append(places)
    return tuple(
        Row(
            language,
            kind,
            len(places),
            *(round(float(np.mean([p[way] is not None for p in places])), 4) for way in (0, 1)),
            *(round(float(np.mean([p[way] == 0 for p in places])), 4) for way in (0, 1)),
        )
        for (language, kind), places in groups.items()
    )


def by_words(album: Album, query: str) -> list[str]:
    """The first K photos that have a word of the query, by the BM25 that a search adds to its score."""
    scores, ids = album.words(query).bm25, album.ids()
    return [ids[row] for row in np.argsort(-scores, kind="stable")[:K] if scores[row] > 0]


def _place(photo: str, found: Sequence[str]) -> int | None:
    return list(found).index(photo) if photo in found else None


def _read() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return content


def tables(result: Languages) -> list[Sheet | str]:
    columns: dict[str, Callable[[Row], str | int]] = {
        "language": lambda row: row.language,
        "queries": lambda row: row.kind,
        "n": lambda row: row.queries,
        "search @5": lambda row: f"{row.search:.0%}",
        "BM25 @5": lambda row: f"{row.bm25:.0%}",
        "search @1": lambda row: f"{row.search_first:.0%}",
        "BM25 @1": lambda row: f"{row.bm25_first:.0%}",
    }
    more = () if result.translated is None else translated_tables(result.translated)
    return [sheet("Queries in six languages", result.rows, columns), *more]


WORK = Work(NoSettings, measure, tables)
