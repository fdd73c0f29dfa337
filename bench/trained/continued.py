"""Continuous learning as GAMER measures it (Appendix L, Table 11): 30 of 40 queries learned, 10 measured.

The query adapter of the bundle goes on from what a user asked, by the training and the rate of `gamer train
--align`, and the whole search is asked the user's ten later queries before and after. By time it learned from
the thirty before these; by user, from all queries of half of the users, none of them the one measured. A
user's queries, in the order of their photos, are as many times forty as there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from gamer.export.components import components, query_adapter
from gamer.export.settings import Settings as Export
from gamer.export.training import queries
from gamer.index import FloatArray
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.options import SearchOptions

from ..published import PAPER
from ..retrieval import datasets, metrics
from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet
from .adapter import K, Person, person_of

QUERIES, LEARNED = PAPER.table_11["queries_a_user"], PAPER.table_11["learned"]
HALVES = 2


@dataclass(frozen=True)
class Settings:
    users: Annotated[str, About("these users alone (u1,u3): whom the bundle's adapter has not seen")] = ""
    epochs: Annotated[int, About("passes over the queries", least=1, most=100, quick=1)] = queries.EPOCHS
    rate: Annotated[float, About("greatest learning rate", least=0, most=1)] = queries.RATE
    most: Annotated[int, About("most times forty queries of a user", least=1, quick=1)] = 1000


@dataclass(frozen=True)
class Means:
    """Means over a user's measured queries, at K = 5."""

    recall: float
    map: float


@dataclass(frozen=True)
class Continued:
    """One user: `times` forty queries, of which each time ten are `measured`."""

    dataset: str
    user: str
    times: int
    measured: int
    before: Means
    by_time: Means
    by_user: Means


@dataclass(frozen=True)
class ContinuedReport:
    bundle: str
    rows: tuple[Continued, ...]


def measure(run: Run[Settings]) -> ContinuedReport:
    """Raises DatasetError for data without queries, RuntimeFailure for fewer than two users with forty."""
    settings, export = run.settings, Export(run.models.manifest.recipe)
    shape, named = query_adapter.shape(export), [name for name in settings.users.split(",") if name]
    reader = queries.Reader(*components.text_reader(export))
    general = query_adapter.of(export)
    start = np.zeros(shape, np.float32) if general is None else general
    people = [
        person_of(folder, name, run.models, run.home, 100_000, run.tell)
        for folder in run.data
        for name in datasets.users(folder)
        if not named or name in named
    ]

    def learned(libraries: Sequence[queries.Library]) -> FloatArray:
        return queries.train(reader, shape, libraries, settings.epochs, settings.rate, begin=start)

    try:
        asked = [(person, times) for person in people if (times := _times(person, settings.most))]
        if len(asked) < HALVES:
            raise RuntimeFailure(f"{len(asked)} user has {QUERIES} queries: give data of two or more")
        rows = []
        for half in range(HALVES):
            run.tell(f"half {half + 1} of the users learns")
            of_others = learned([_joined(times) for _, times in asked[1 - half :: HALVES]])
            for person, times in asked[half::HALVES]:
                run.tell(f"{person.user.name}: {len(times)} times {QUERIES} queries")
                found: list[list[metrics.Scores]] = [[], [], []]
                for one in times:
                    own = learned([replace(one, queries=one.queries[:LEARNED])])
                    for scores, adapter in zip(found, (start, own, of_others), strict=True):
                        scores += [_score(person, query, adapter) for query in one.queries[LEARNED:]]
                means = map(_mean, found)
                rows.append(Continued(person.dataset, person.user.name, len(times), len(found[0]), *means))
    finally:
        for person in people:
            person.user.engine.close()
    return ContinuedReport(run.recipe, tuple(rows))


def _times(person: Person, most: int) -> list[queries.Library]:
    """The latest queries by the time of the first photo that is meant, forty at a time."""
    wall, library = person.user.album.times(), person.library
    ordered = sorted(library.queries, key=lambda query: int(wall[min(query[1], key=lambda row: wall[row])]))
    whole = min(len(ordered) // QUERIES, most)
    kept = ordered[len(ordered) - whole * QUERIES :]
    return [
        replace(library, queries=tuple(kept[n : n + QUERIES])) for n in range(0, whole * QUERIES, QUERIES)
    ]


def _joined(times: Sequence[queries.Library]) -> queries.Library:
    return replace(times[0], queries=tuple(query for one in times for query in one.queries))


def _score(person: Person, query: tuple[str, tuple[int, ...]], adapter: FloatArray) -> metrics.Scores:
    text, meant = query
    options = SearchOptions(adapter=adapter, earlier=False, timed=False)
    hits = person.user.engine.search(text, K, now=person.user.now, options=options)
    return metrics.score([hit.id for hit in hits], [person.user.ids[row] for row in meant])


def _mean(scores: Sequence[metrics.Scores]) -> Means:
    mean = metrics.mean(scores)
    return Means(round(mean.recall5, 4), round(mean.map5, 4))


def tables(result: ContinuedReport) -> list[Sheet | str]:
    columns: dict[str, Callable[[Continued], str | int]] = {
        "user": lambda row: row.user,
        f"times {QUERIES}": lambda row: row.times,
        "measured": lambda row: row.measured,
        "recall@5, MAP before": lambda row: _both(row.before),
        "by time": lambda row: _both(row.by_time),
        "by user": lambda row: _both(row.by_user),
    }
    return [sheet(f"{result.bundle}: the whole search, before and after", result.rows, columns)]


def _both(found: Means) -> str:
    return f"{found.recall:.3f}, {found.map:.3f}"


WORK = Work(Settings, measure, tables)
