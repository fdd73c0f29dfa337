"""Short answers to the questions of a data set, macro over users: minds beside one search's evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine

from ..retrieval import albums, datasets
from ..retrieval.user import User
from . import tasks as running
from .players import Player
from .scores import contains, token_f1
from .sets import Tell, classes
from .tasks import Attempt, Task
from .usage import Usage, usage

READ = 10  # photos of evidence that a sentence may rest on
Players = Callable[[str], list[Player]]  # by the album's name in traces


@dataclass(frozen=True)
class SentenceRow:
    """A method on questions with short answers, macro over users.

    `evidence`: mean share of the evidence among at most READ photos; `f1`: token F1 of the sentence;
    `right`: share whose words hold the whole answer; `refused`: share said not to be in the album. `usage`,
    `classes` (mistakes.py, of answers that are not right): of a mind, over all users' questions.
    """

    dataset: str
    method: str
    questions: int
    evidence: float
    f1: float | None
    right: float | None
    refused: float
    usage: Usage | None = None
    classes: dict[str, int] = field(default_factory=dict)


def measure(
    data: Path, name: str, models: Models, players: Players, cache: Path, tell: Tell
) -> tuple[list[SentenceRow], list[Attempt]]:
    """LoCoMo and LiHua are albums of their own; camroll-qa asks about camroll-mpr's."""
    folder = data / ("camroll-mpr" if name == "camroll-qa" else name)
    if not folder.is_dir():
        return [], []
    by_user, absent = _asked(data, name, folder)
    done: dict[tuple[str, str], list[list[Attempt]]] = {}
    for person, asked in by_user.items():
        album = albums.album_of(folder, person, models, cache, tell)
        with User(f"{name} {person}", album, models) as user:
            for player in players(user.name):
                done.setdefault((name, player.name), []).append(_said(user, player, asked, tell))
                if person in absent:
                    without = _said(user, player, absent[person], tell)
                    done.setdefault((f"{name}, unanswerable", player.name), []).append(without)
            done.setdefault((name, f"one search, first {READ}"), []).append(_first(user, asked))
    rows = [_sentences(dataset, method, users) for (dataset, method), users in done.items()]
    return rows, [one for users in done.values() for part in users for one in part]


def _said(user: User, player: Player, asked: Sequence[Task], tell: Tell) -> list[Attempt]:
    told = lambda text: tell(f"{user.name}: {text}")  # noqa: E731
    return running.solve(user.engine, player, asked, "sentence", user.now, user.name, told)


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


def _first(user: User, asked: Sequence[Task]) -> list[Attempt]:
    """The first READ hits of one search, without a sentence."""
    engine: Engine = user.engine
    out = []
    for task in asked:
        answer = engine.search(task.text, READ, now=user.now)
        ids = tuple(hit.id for hit in answer.hits)
        out.append(Attempt(task, ids, "", not answer.doubtful, "answer", ("search",), (), 0.0))
    return out


def _sentences(dataset: str, method: str, users: list[list[Attempt]]) -> SentenceRow:
    said = [[one for one in done if one.task.answer] for done in users]
    every = [one for done in users for one in done if one.trace is not None]
    wrong = [one for one in every if one.task.answer and not contains(one.sentence, one.task.answer)]
    has_text = any(one.sentence for done in users for one in done)
    return SentenceRow(
        dataset=dataset,
        method=method,
        questions=sum(len(done) for done in users),
        evidence=_macro(users, _evidence, lambda one: bool(one.task.relevant)),
        f1=_macro(said, lambda one: token_f1(one.sentence, one.task.answer)) if has_text else None,
        right=_macro(said, lambda one: contains(one.sentence, one.task.answer)) if has_text else None,
        refused=_macro(users, lambda one: not one.found),
        usage=usage(every) if every else None,
        classes=classes(wrong),
    )


def _evidence(one: Attempt) -> float:
    return len(set(one.ids[:READ]) & one.task.relevant) / len(one.task.relevant)


def _macro(
    users: list[list[Attempt]],
    value: Callable[[Attempt], float],
    counts: Callable[[Attempt], bool] = lambda _: True,
) -> float:
    means = [_mean([value(one) for one in done if counts(one)]) for done in users if any(map(counts, done))]
    return _mean(means)


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 4) if values else 0.0
