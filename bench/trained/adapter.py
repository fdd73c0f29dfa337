"""What a query adapter finds: trained on some users' titles, measured on other users, and on later titles.

The protocol of the GAMER paper (section 4): for unseen users three quarters of the users train and the rest
are measured, in folds, so that each is measured once; for the same users 60 % of each one's queries train and
the others are measured. Beside the text tower as it is stand the vector that a search uses without an adapter
(blended with a sentence's), and the whole search with and without. For the same users the whole search also
has what they searched before, as `gamer train --align` weighs it, and for all of them titles, if asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from gamer.export.components import components, query_adapter
from gamer.export.components.language import Language
from gamer.export.settings import Settings as Export
from gamer.export.training import queries, sft, writing
from gamer.export.training.align import Searches, memories_of, with_titles
from gamer.export.training.pairs import Search
from gamer.index import FloatArray
from gamer.runtime.defaults import PHRASED, PHRASING
from gamer.runtime.models import query_adapter as files
from gamer.runtime.models.models import Models
from gamer.runtime.search.options import SearchOptions

from ..retrieval import datasets
from ..retrieval.albums import album_of
from ..retrieval.user import User
from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet

K = 5


@dataclass(frozen=True)
class Settings:
    folds: Annotated[int, About("folds of users; each is measured once", least=2, most=20)] = 4
    epochs: Annotated[int, About("passes over the queries", least=1, most=100, quick=1)] = queries.EPOCHS
    rate: Annotated[float, About("greatest learning rate", least=0, most=1)] = queries.RATE
    queries: Annotated[int, About("most queries a user", least=1, quick=40)] = 100_000
    search: Annotated[bool, About("measure the whole search too, not only the vectors", quick=False)] = True
    train: Annotated[str, About("learn from these users alone (u2,u5), measure the others")] = ""
    titles: Annotated[
        int,
        About(
            "rank of the model that learns to write titles, once a fold, for hours; 0: none",
            least=0,
            most=1024,
        ),
    ] = 0
    write: Annotated[str, About("also write the adapter of `train` to this file")] = ""


@dataclass(frozen=True)
class Measured:
    """recall@5 of one user's queries that were not learned from.

    `split`: "unseen", or "same" (40 % of the queries of a user who was learned from). `tower`, `blended`,
    `adapted`: by cosine alone. `search`, `search_adapted`: of the whole search, None where it was not
    measured. `search_learned`: with earlier searches, which weigh `earlier`; `search_titled`: with titles
    beside these, or beside the adapter alone.
    """

    dataset: str
    user: str
    split: str
    queries: int
    tower: float
    blended: float
    adapted: float
    search: float | None = None
    search_adapted: float | None = None
    search_learned: float | None = None
    earlier: float | None = None
    search_titled: float | None = None


@dataclass(frozen=True)
class AdapterReport:
    """`losses`: of the epochs, for each training in order."""

    bundle: str
    parameters: int
    learned_from: int
    rows: tuple[Measured, ...]
    losses: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, eq=False)
class Person:
    dataset: str
    user: User
    library: queries.Library


def measure(run: Run[Settings]) -> AdapterReport:
    """Raises DatasetError for data without queries, ExportError for a recipe without an adapter."""
    settings = run.settings
    export = Export(run.models.manifest.recipe)
    shape = query_adapter.shape(export)
    reader = queries.Reader(*components.text_reader(export))
    people = [
        person_of(folder, name, run.models, run.home, settings.queries, run.tell)
        for folder in run.data
        for name in datasets.users(folder)
    ]
    losses: list[tuple[float, ...]] = []
    rows: list[Measured] = []

    def learn(libraries: Sequence[queries.Library], what: str) -> FloatArray:
        of_epochs: list[float] = []

        def report(epoch: queries.Epoch) -> None:
            of_epochs.append(round(epoch.loss, 4))
            run.tell(f"{what}: epoch {epoch.epoch} of {epoch.of}, loss {epoch.loss:.3f}")

        adapter = queries.train(reader, shape, libraries, settings.epochs, settings.rate, report=report)
        losses.append(tuple(of_epochs))
        return adapter

    def judge(
        person: Person,
        split: str,
        adapter: FloatArray,
        library: queries.Library,
        earlier: queries.Library | None = None,
        vectors: Mapping[str, FloatArray] | None = None,
    ) -> None:
        run.tell(f"{person.user.name}, {split}")
        row = _measured(person, split, reader, adapter, library, shape, settings.search)
        if settings.search:
            row = replace(row, **_learned(person.user, adapter, earlier, library, vectors, run.home))
        rows.append(row)

    try:
        if settings.train:
            named = settings.train.split(",")
            adapter = learn([p.library for p in people if p.user.name in named], "all")
            for person in people:
                if person.user.name not in named:
                    judge(person, "unseen", adapter, person.library)
            if settings.write:
                _write(Path(settings.write), export, adapter, named, rows)
        else:
            for fold in range(min(settings.folds, len(people))):
                left_out = people[fold :: settings.folds]
                others = [(p, p.library) for p in people if p not in left_out]
                adapter = learn([library for _, library in others], f"fold {fold + 1}")
                written = _titles(run, export, others, left_out, f"titles-{fold + 1}")
                for person in left_out:
                    judge(person, "unseen", adapter, person.library, None, written.get(key_of(person)))
            parts = {id(p): split_queries(p.library) for p in people}
            adapter = learn([parts[id(p)][0] for p in people], "same users")
            taught = [(p, parts[id(p)][0]) for p in people]
            written = _titles(run, export, taught, people, "titles")
            for person in people:
                before, later = parts[id(person)]
                judge(person, "same", adapter, later, before, written.get(key_of(person)))
    finally:
        for person in people:
            person.user.engine.close()
    learned = sum(len(p.library.queries) for p in people if not settings.train or p.user.name in named)
    return AdapterReport(run.recipe, int(np.prod(shape)), learned, tuple(rows), tuple(losses))


def person_of(
    folder: Path, name: str, models: Models, home: Path, most: int, tell: Callable[[str], None]
) -> Person:
    user = User(name, album_of(folder, name, models, home, tell), models, home)
    row_of = {photo: row for row, photo in enumerate(user.ids)}
    asked = [
        (query.text, tuple(row_of[photo] for photo in query.relevant if photo in row_of))
        for query in datasets.queries(folder, name, most)
    ]
    owners, vectors = user.album.vectors("text")
    library = queries.Library(vectors, owners, len(user.ids), tuple(q for q in asked if q[1]))
    return Person(folder.name, user, library)


def split_queries(library: queries.Library) -> tuple[queries.Library, queries.Library]:
    """(60 % of the queries, 40 %), at random but always the same."""
    order = np.random.default_rng(0).permutation(len(library.queries))
    cut = round(0.6 * len(order))
    return (
        replace(library, queries=tuple(library.queries[n] for n in sorted(order[:cut]))),
        replace(library, queries=tuple(library.queries[n] for n in sorted(order[cut:]))),
    )


def searched_of(person: Person, library: queries.Library) -> list[tuple[str, list[str]]]:
    """The queries, each with the ids of the photos that it means."""
    return [(text, [person.user.ids[row] for row in meant]) for text, meant in library.queries]


def _measured(
    person: Person,
    split: str,
    reader: queries.Reader,
    adapter: FloatArray,
    library: queries.Library,
    shape: tuple[int, ...],
    search: bool,
) -> Measured:
    nothing = np.zeros(shape, np.float32)
    found = {
        "tower": queries.recall(reader, nothing, library),
        "blended": queries.recall(reader.blended(PHRASING, PHRASED), nothing, library),
        "adapted": queries.recall(reader, adapter, library),
    }
    if search:
        found["search"] = _searched(person.user, library, False)
        found["search_adapted"] = _searched(person.user, library, adapter)
    rounded: Mapping[str, Any] = {name: round(value, 4) for name, value in found.items()}
    return Measured(person.dataset, person.user.name, split, len(library.queries), **rounded)


def _titles(
    run: Run[Settings],
    export: Export,
    taught: Sequence[tuple[Person, queries.Library]],
    people: Sequence[Person],
    folder: str,
) -> dict[str, dict[str, FloatArray]]:
    """User → photo id → vectors of the titles that one model writes for `people`; it learned from `taught`.

    Nothing where no titles are asked for.
    """
    if not run.settings.titles:
        return {}
    pairs, memories = list[writing.Pair](), dict[str, str]()
    for person, library in taught:
        pairs += writing.pairs_of(searched_of(person, library), memories_of(person.user.album))
    for person in people:
        of = memories_of(person.user.album)
        memories |= {f"{key_of(person)}/{photo}": text for photo, text in of.items()}
    language = Language.of(export, run.settings.titles).to(sft.device())
    told = {"recipe": export.recipe, "lora": run.settings.titles}
    writer = writing.Writer(writing.TITLES, pairs, memories, run.home / folder, told, 0)
    texts = writer.write(language, every(run.tell), run.tell)
    out: dict[str, dict[str, FloatArray]] = {key_of(person): {} for person in people}
    for key, of_photo in texts.items():
        dataset, user, photo = key.split("/", 2)
        if of_photo:
            out[f"{dataset}/{user}"][photo] = run.models.text.encode(of_photo)
    return out


def key_of(person: Person) -> str:
    return f"{person.dataset}/{person.user.name}"


def every(tell: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """A stage that tells of each hundredth."""
    return lambda what, done, of: tell(f"{what}: {done} of {of}") if done % 100 == 0 else None


def _learned(
    user: User,
    adapter: FloatArray,
    earlier: queries.Library | None,
    library: queries.Library,
    vectors: Mapping[str, FloatArray] | None,
    home: Path,
) -> Mapping[str, Any]:
    """The fields of the whole search with earlier searches, which choose their weight, and with titles."""
    later, opened, found = _searches(user, library), None, dict[str, Any]()
    if earlier is not None:
        before = _searches(user, earlier)
        searches = Searches(user.engine, lambda what, done, of: None, user.now)
        weight = searches.weight(before, adapter)
        opened = searches.opened(before, weight)
        share = searches.recall(later, adapter, opened, "")
        found = {"search_learned": round(share, 4), "earlier": weight}
    if vectors is None:
        return found
    with with_titles(user.engine, vectors, home) as engine:
        again = Searches(engine, lambda what, done, of: None, user.now)
        return found | {"search_titled": round(again.recall(later, adapter, opened, ""), 4)}


def _searches(user: User, library: queries.Library) -> list[Search]:
    return [Search(text, tuple(user.ids[row] for row in meant)) for text, meant in library.queries]


def _searched(user: User, library: queries.Library, adapter: FloatArray | bool) -> float:
    options, shares = SearchOptions(adapter=adapter, earlier=False), []
    for text, meant in library.queries:
        hits = user.engine.search(text, K, now=user.now, options=options)
        places = [hit.row for hit in hits]
        shares.append(len(set(places) & set(meant)) / len(meant))
    return float(np.mean(shares))


def _write(
    path: Path, export: Export, adapter: FloatArray, named: Sequence[str], rows: Sequence[Measured]
) -> None:
    tower = components.build(export, "text_tower", "fp32").source
    before, after = (float(np.mean([getattr(row, name) for row in rows])) for name in ("blended", "adapted"))
    made = f"titles of {len(named)} photographers; recall@5 of {len(rows)} other users"
    header = files.Header(files.FORMAT, tower, adapter.shape, made, round(before, 4), round(after, 4))
    files.write(path, files.QueryAdapter(header, adapter))


def tables(result: AdapterReport) -> list[Sheet | str]:
    def cell(name: str) -> Callable[[Measured], str]:
        return lambda row: "–" if getattr(row, name) is None else f"{getattr(row, name):.3f}"

    columns: dict[str, Callable[[Measured], str]] = {
        "user": lambda row: row.user,
        "queries": lambda row: str(row.queries),
        "tower": cell("tower"),
        "with a sentence": cell("blended"),
        "adapted": cell("adapted"),
        "search": cell("search"),
        "search, adapted": cell("search_adapted"),
        "and earlier searches": cell("search_learned"),
        "which weigh": lambda row: "–" if row.earlier is None else f"{row.earlier:.1f}",
        "and titles": cell("search_titled"),
    }
    out: list[Sheet | str] = []
    for split, what in (("unseen", "users not learned from"), ("same", "users learned from, other queries")):
        for dataset in dict.fromkeys(row.dataset for row in result.rows if row.split == split):
            rows = [row for row in result.rows if (row.split, row.dataset) == (split, dataset)]
            out.append(sheet(f"{dataset}, recall@{K}: {what}", [*rows, _mean(rows)], columns))
    return [*out, f"{result.parameters} values, learned from {result.learned_from} queries"]


def _mean(rows: Sequence[Measured]) -> Measured:
    """The macro mean over users."""

    def mean(name: str) -> float | None:
        values = [getattr(row, name) for row in rows]
        return None if None in values else round(float(np.mean(values)), 4)

    names = [f.name for f in fields(Measured) if f.name not in ("dataset", "user", "split", "queries")]
    figures: Mapping[str, Any] = {name: mean(name) for name in names}
    return Measured(rows[0].dataset, "mean", rows[0].split, sum(row.queries for row in rows), **figures)


WORK = Work(Settings, measure, tables)
