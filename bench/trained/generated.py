"""What the memory that a language model writes for a query finds: in our search, in GAR and in PA-CQR.

Supervised fine-tuning as GAMER describes it (section 3.4, Eq. 2 without pixels) on text: low-rank changes of
the recipe's language model learn to write the memory from the query, on 60 % of each user's pairs (4.1). What
it writes for the other queries takes part in three ways: the query with these words after it is the search's
Q̂, alone and fused with the search of the query; GAR's generator is this model (BM25 and dense); and
PA-CQR fuses the search of what it wrote with that of the query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import numpy as np

from gamer.export.components.language import Language
from gamer.export.settings import Settings as Export
from gamer.export.training import sft
from gamer.export.training.align import memories_of
from gamer.export.training.queries import Library
from gamer.export.training.writing import MEMORIES, Pair, Writer, pairs_of
from gamer.runtime.search.options import SearchOptions

from ..report import paper_training
from ..retrieval import datasets, metrics
from ..retrieval.baselines import bm25, dense, gar, pa_cqr, rrf
from ..retrieval.user import User
from ..study.declaration import About, Run, Work
from .adapter import K, Person, every, key_of, person_of, searched_of, split_queries

# The baselines with a query and the text that was written for it; best first.
WAYS: Mapping[str, Callable[[User, str, str], list[str]]] = {
    "BM25": lambda user, query, written: bm25.rank(user, query),
    "GAR": gar.with_sentence,
    "dense": lambda user, query, written: dense.rank(user, query),
    "GAR, dense": gar.dense_with_sentence,
    "PA-CQR": pa_cqr.with_rewriting,
}
DEPTH = 50  # hits of a search that are fused


@dataclass(frozen=True)
class Settings:
    lora: Annotated[int, About("rank of the changes that learn", least=1, most=1024)] = 32
    queries: Annotated[int, About("most queries a user", least=2, quick=20)] = 100_000


@dataclass(frozen=True)
class Generated:
    """recall@5 of one user's queries that were not learned from, by the ways of `_ranked`."""

    dataset: str
    user: str
    queries: int
    recall: Mapping[str, float]


@dataclass(frozen=True)
class GeneratedReport:
    """`nats_before`, `nats_after`: nats a token of memories that were not learned from."""

    bundle: str
    model: str
    lora: int
    learned_from: int
    nats_before: float
    nats_after: float
    rows: tuple[Generated, ...]


def measure(run: Run[Settings]) -> GeneratedReport:
    """Raises DatasetError for data without queries, and ExportError."""
    settings, export = run.settings, Export(run.models.manifest.recipe)
    people = [
        person_of(folder, name, run.models, run.home, settings.queries, run.tell)
        for folder in run.data
        for name in datasets.users(folder)
    ]
    try:
        pairs, others, asked = list[Pair](), list[Pair](), dict[str, str]()
        measured = list[tuple[Person, list[tuple[str, list[str]]]]]()
        for person in people:
            taught, later = _parts(person)
            memories = memories_of(person.user.album)
            pairs += pairs_of(searched_of(person, taught), memories)
            measured.append((person, searched_of(person, later)))
            others += pairs_of(measured[-1][1], memories)
            asked |= {f"{key_of(person)}/{text}": text for text, _ in later.queries}
        if not pairs or not others:
            raise datasets.DatasetError(
                "no query of a photo with a memory to learn from, and another to measure"
            )
        told = {"recipe": export.recipe, "lora": settings.lora}
        writer = Writer(MEMORIES, pairs, asked, run.home / "memories", told, 0)
        language = Language.of(export, settings.lora).to(sft.device())
        before = writer.nats(language, others)
        written = writer.write(language, every(run.tell), run.tell)
        after = writer.nats(language, others)
        rows = tuple(_measured(*one, written, run.tell) for one in measured)
    finally:
        for person in people:
            person.user.engine.close()
    model = run.models.manifest.component("llm_decoder").source
    return GeneratedReport(
        run.recipe, model, settings.lora, len(pairs), round(before, 3), round(after, 3), rows
    )


def _parts(person: Person) -> tuple[Library, Library]:
    """The queries that teach, and of the others those that are not said alike."""
    taught, later = split_queries(person.library)
    known = {text.casefold() for text, _ in taught.queries}
    return taught, replace(later, queries=tuple(q for q in later.queries if q[0].casefold() not in known))


def _measured(
    person: Person,
    queries: Sequence[tuple[str, Sequence[str]]],
    written: Mapping[str, tuple[str, ...]],
    tell: Callable[[str], None],
) -> Generated:
    tell(person.user.name)
    found: dict[str, list[float]] = {}
    for text, relevant in queries:
        answer = " ".join(written[f"{key_of(person)}/{text}"])
        for name, ranked in _ranked(person.user, text, answer).items():
            places = metrics.places(ranked, relevant)
            found.setdefault(name, []).append(metrics.recall(places, len(relevant), K))
    means = {name: round(float(np.mean(values)), 4) for name, values in found.items()}
    return Generated(person.dataset, person.user.name, len(queries), means)


def _ranked(user: User, query: str, written: str) -> dict[str, list[str]]:
    """What each way finds, best first."""
    plain, refined = _search(user, query), _search(user, query, f"{query} {written}")
    ours = {"search": plain, "with its words": refined, "fused": rrf.fused([plain, refined])}
    return ours | {name: way(user, query, written) for name, way in WAYS.items()}


def _search(user: User, query: str, refined: str | None = None) -> list[str]:
    options = SearchOptions(refined=refined)
    return [hit.id for hit in user.engine.search(query, DEPTH, now=user.now, options=options)]


WORK = Work(Settings, measure, lambda result: paper_training.generated([asdict(result)]))
