"""`gamer bench agent`: minds beside one search and BM25, on the same albums and questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from gamer.runtime.agent.loop import End
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine

from .. import machine
from ..retrieval import albums, datasets, synthetic
from ..retrieval.user import User
from . import tasks as running
from .scores import contains, set_f1, token_f1
from .tasks import Done, Scored, Task

Tell = Callable[[str], None]
ALBUMS, QUESTIONS = ("album", "album-pixels"), ("locomo", "lihua", "camroll-qa")
DATA = (*ALBUMS, *QUESTIONS)
READ = 10  # photos of evidence that a sentence may rest on
GROUPS = ("single", "set", "relation")
STEP_QUESTIONS = (
    "what else I photographed on the day of {}",
    "the photo right before {}",
    "the next picture after {}",
    "the first photo of {} in 2023",
    "every picture of {}",
)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Group:
    """A method's figures on one group of the album's queries.

    `exact`: share of exactly right sets; `f1`: mean F1. `refused`: share of tasks that it says the album
    does not hold. `threshold`: of a baseline, chosen on these very tasks.
    """

    tasks: int
    exact: float
    f1: float
    refused: float
    threshold: float | None = None


@dataclass(frozen=True)
class AlbumRow:
    """A method on an album with sets as answers. `calls`: by tool; `ms`: median of a task."""

    method: str
    groups: dict[str, Group]
    calls: dict[str, int] = field(default_factory=dict)
    ms: float | None = None


@dataclass(frozen=True)
class SentenceRow:
    """A method on questions with short answers, macro over users.

    `evidence`: mean share of the evidence among at most READ photos; `f1`: token F1 of the sentence;
    `right`: share whose words hold the whole answer; `refused`: share said not to be in the album.
    """

    dataset: str
    method: str
    questions: int
    evidence: float
    f1: float | None
    right: float | None
    refused: float


@dataclass(frozen=True)
class Steps:
    """Milliseconds of a mind's calls in an album of `photos` made ones."""

    photos: int
    calls: int
    p50: float
    p95: float


@dataclass(frozen=True)
class AgentQuality:
    machine: machine.Machine
    command: str
    albums: dict[str, tuple[AlbumRow, ...]]
    sentences: tuple[SentenceRow, ...]
    steps: Steps | None


def measure(
    bundle: Path,
    data: Path,
    names: Sequence[str],
    only: Sequence[str],
    threads: int,
    cache: Path,
    tell: Tell,
    command: str,
) -> AgentQuality:
    """`data`: the folder of data sets; those that are not there are left out. `names`: of minds. `only`: some
    of DATA, none for all.

    Raises DatasetError if there is none of them.
    """
    wanted = only or DATA
    models = Models.open(bundle, "onnx", threads)
    cache.mkdir(parents=True, exist_ok=True)
    album_rows = {
        name: _album(data / "album", f"{name}.jsonl", models, names, cache, tell)
        for name in ALBUMS
        if name in wanted and (data / "album" / f"{name}.jsonl").is_file()
    }
    sentences = [
        row
        for name in QUESTIONS
        if name in wanted and (data / name).is_dir()
        for row in _questions(data, name, models, names, cache, tell)
    ]
    if not album_rows and not sentences:
        raise datasets.DatasetError(f"{data}: none of {', '.join(wanted)} is there")
    steps = None if only else _steps(models, cache, tell)
    return AgentQuality(machine.read(), command, album_rows, tuple(sentences), steps)


def _album(
    folder: Path, source: str, models: Models, names: Sequence[str], cache: Path, tell: Tell
) -> tuple[AlbumRow, ...]:
    path = cache / f"{source}-{models.manifest.artifact('image_tower', 'onnx').sha256[:8]}.gamer"
    if not path.exists():
        tell(f"{source}: building")
        build(folder / source, models, path)
    questions = running.album_tasks(folder / "album.queries.jsonl.gz")
    user = User(source, path, models)
    try:
        rows = [_by_mind(user, name, questions, cache, tell) for name in names]
        tell(f"{source}: one search for each")
        rows.append(_by_cut("one search, best threshold", running.searched(user.engine, questions, user.now)))
        rows.append(_by_cut("BM25, best threshold", running.bm25(user.engine, questions)))
    finally:
        user.close()
    return tuple(rows)


def _by_mind(user: User, name: str, questions: list[Task], cache: Path, tell: Tell) -> AlbumRow:
    done = running.solve(
        user.engine, name, questions, "set", user.now, lambda text: tell(f"{user.name}: {text}")
    )
    running.traces(done, cache / f"trace-{user.name}-{name}.jsonl.gz")
    groups = {
        group: _group([(one.task, one.ids if one.found else ()) for one in part])
        for group, part in _parts(done, lambda one: one.task.group).items()
    }
    return AlbumRow(name, groups, running.counted(done), round(float(np.median([one.ms for one in done])), 1))


def _by_cut(method: str, results: list[Scored]) -> AlbumRow:
    """The threshold is the best for the group's F1; for absent tasks that of the single ones."""
    parts, groups = _parts(results, lambda one: one.task.group), {}
    threshold = 0.0
    for group in (*GROUPS, "absent"):
        if part := parts.get(group):
            if group != "absent":
                threshold, _ = running.best_cut(part, set_f1)
            groups[group] = _group(running.cut(part, threshold), threshold)
            threshold = groups["single"].threshold or 0.0 if "single" in groups else threshold
    return AlbumRow(method, groups)


def _group(answers: Sequence[tuple[Task, tuple[str, ...]]], threshold: float | None = None) -> Group:
    return Group(
        tasks=len(answers),
        exact=_mean([set(ids) == task.relevant for task, ids in answers]),
        f1=_mean([set_f1(ids, task.relevant) for task, ids in answers]),
        refused=_mean([not ids for _, ids in answers]),
        threshold=threshold,
    )


def _questions(
    data: Path, name: str, models: Models, names: Sequence[str], cache: Path, tell: Tell
) -> list[SentenceRow]:
    """LoCoMo and LiHua are albums of their own; camroll-qa asks about camroll-mpr's."""
    folder = data / ("camroll-mpr" if name == "camroll-qa" else name)
    if not folder.is_dir():
        return []
    by_user, absent = _asked(data, name, folder)
    done: dict[tuple[str, str], list[list[Done]]] = {}
    for person, asked in by_user.items():
        user = User(person, albums.album_of(folder, person, models, cache, tell), models)
        try:
            for mind in names:
                told = lambda text, where=f"{name} {person}": tell(f"{where}: {text}")  # noqa: E731
                done.setdefault((name, mind), []).append(
                    running.solve(user.engine, mind, asked, "sentence", user.now, told)
                )
                if absent.get(person):
                    done.setdefault((f"{name}, unanswerable", mind), []).append(
                        running.solve(user.engine, mind, absent[person], "sentence", user.now, told)
                    )
            done.setdefault((name, f"one search, first {READ}"), []).append(_first(user, asked))
        finally:
            user.close()
    return [_sentences(dataset, method, users) for (dataset, method), users in done.items()]


def _asked(data: Path, name: str, folder: Path) -> tuple[dict[str, list[Task]], dict[str, list[Task]]]:
    """User → questions, and user → questions without an answer."""
    if name == "camroll-qa":
        by_user: dict[str, list[Task]] = {}
        rows = datasets.read_jsonl(
            data / name / "camroll-qa.jsonl.gz", "query_id", "user", "question", "answer", "evidence"
        )
        for row in rows:
            task = Task(
                row["query_id"], row["question"], frozenset(row["evidence"]), row["type"], row["answer"]
            )
            by_user.setdefault(row["user"], []).append(task)
        return by_user, {}
    people = datasets.users(folder)
    absent = {person: folder / f"{person}.unanswerable.jsonl.gz" for person in people}
    return (
        {person: running.question_tasks(folder / f"{person}.queries.jsonl.gz") for person in people},
        {person: running.question_tasks(path) for person, path in absent.items() if path.is_file()},
    )


def _first(user: User, asked: Sequence[Task]) -> list[Done]:
    """The first READ hits of one search, without a sentence."""
    engine: Engine = user.engine
    out = []
    for task in asked:
        answer = engine.search(task.text, READ, now=user.now)
        ids = tuple(hit.id for hit in answer.hits)
        out.append(Done(task, ids, "", not answer.doubtful, "answer", ("search",), (), 0.0))
    return out


def _sentences(dataset: str, method: str, users: list[list[Done]]) -> SentenceRow:
    said = [[one for one in done if one.task.answer] for done in users]
    has_text = any(one.sentence for done in users for one in done)
    return SentenceRow(
        dataset=dataset,
        method=method,
        questions=sum(len(done) for done in users),
        evidence=_macro(users, _evidence, lambda one: bool(one.task.relevant)),
        f1=_macro(said, lambda one: token_f1(one.sentence, one.task.answer)) if has_text else None,
        right=_macro(said, lambda one: contains(one.sentence, one.task.answer)) if has_text else None,
        refused=_macro(users, lambda one: not one.found),
    )


def _evidence(one: Done) -> float:
    return len(set(one.ids[:READ]) & one.task.relevant) / len(one.task.relevant)


def _macro(
    users: list[list[Done]], value: Callable[[Done], float], counts: Callable[[Done], bool] = lambda _: True
) -> float:
    means = [_mean([value(one) for one in done if counts(one)]) for done in users if any(map(counts, done))]
    return _mean(means)


def _steps(models: Models, cache: Path, tell: Tell, photos: int = 10_000) -> Steps:
    """The calls of the rules over an album of made photos, each timed by the loop."""
    path, source = cache / f"made-{photos}.gamer", cache / f"made-{photos}.jsonl"
    if not path.exists():
        tell(f"{photos} made photos: building")
        synthetic.write(synthetic.make(0, 0, photos), source)
        build(source, models, path)
    user = User("made", path, models)
    try:
        asked = [
            Task(f"{kind} {number}", question.format(words), frozenset(), "made")
            for kind, question in enumerate(STEP_QUESTIONS)
            for number, (_, words) in enumerate(synthetic.THINGS)
        ]
        end: End = "set"
        running.solve(user.engine, "rules", asked[:2], end, user.now, tell)  # opens what is opened once
        done = running.solve(user.engine, "rules", asked, end, user.now, tell)
    finally:
        user.close()
    times = [ms for one in done for ms in one.steps]
    return Steps(
        photos, len(times), round(float(np.median(times)), 2), round(float(np.quantile(times, 0.95)), 2)
    )


def _parts(done: Sequence[_T], key: Callable[[_T], str]) -> dict[str, list[_T]]:
    out: dict[str, list[_T]] = {}
    for one in done:
        out.setdefault(key(one), []).append(one)
    return out


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4) if values else 0.0
