"""`gamer bench study agent`: minds beside one search and BM25, on the same albums and questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gamer.runtime.agent.recording import dumps
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models

from ..files import write_atomically
from ..retrieval import datasets, synthetic
from ..retrieval.user import User
from . import ablation, made, players, runs, sets, short_answers
from . import tasks as running
from .ablation import Ablation, Base
from .meter import Meter
from .mistakes import Calendar
from .players import Player, Remote, Tape
from .runs import Runs
from .sets import AlbumRow, Tell
from .short_answers import SentenceRow
from .tasks import Done, Task
from .whole_prompt import Unfit, unfit

ALBUMS, QUESTIONS = ("album", "album-pixels"), ("locomo", "lihua", "camroll-qa")
DATA = (*ALBUMS, *QUESTIONS)
STEP_QUESTIONS = (
    "what else I photographed on the day of {}",
    "the photo right before {}",
    "the next picture after {}",
    "the first photo of {} in 2023",
    "every picture of {}",
)


@dataclass(frozen=True)
class Plan:
    """What to measure. `data`: the folder of data sets; those that are not there are left out. `made`: how
    many questions are made from an album's memory graph, instead of its queries (made.py); `album`: one that
    they are made of, and nothing else is measured.

    `names`: of minds. `only`: some of DATA, none for all. `remote`: of the mind "openai". `runs`: of each
    mind on the albums. `queries`: the most of each group of the albums' queries, evenly spread, 0 for all.
    `record`: a file for the traces; `replay`: one whose traces take the minds' place.
    """

    bundle: Path
    data: Path | None
    cache: Path
    names: Sequence[str] = ("rules",)
    only: Sequence[str] = ()
    threads: int = 1
    remote: Remote | None = None
    runs: int = 1
    queries: int = 0
    ablate: bool = False
    record: Path | None = None
    replay: Path | None = None
    made: int = 0
    album: Path | None = None


@dataclass(frozen=True)
class Steps:
    """Milliseconds of a mind's calls in an album of `photos` made ones."""

    photos: int
    calls: int
    p50: float
    p95: float


@dataclass(frozen=True)
class AgentQuality:
    """`unfit`: baselines of the whole album in one prompt that no model took. `differences`: of a replay, a
    line for each result that was not as recorded.
    """

    albums: dict[str, tuple[AlbumRow, ...]]
    sentences: tuple[SentenceRow, ...]
    steps: Steps | None
    unfit: tuple[Unfit, ...] = ()
    runs: dict[str, tuple[Runs, ...]] = field(default_factory=dict)
    ablations: tuple[Ablation, ...] = ()
    differences: tuple[str, ...] = ()


def measure(plan: Plan, tell: Tell) -> AgentQuality:
    """Raises DatasetError if there is none of the data sets, TraceError for a replay of what is no trace."""
    measuring = _Measuring(plan, tell)
    plan.cache.mkdir(parents=True, exist_ok=True)
    albums = {name: measuring.album(name) for name in ALBUMS if measuring.has(name)}
    if plan.album is not None:
        albums[plan.album.name] = measuring.asked(plan.album.name, plan.album)
    sentences = [row for name in QUESTIONS if measuring.has(name) for row in measuring.questions(name)]
    if not albums and not sentences:
        where = plan.data if plan.replay is None else f"{plan.data} and {plan.replay}"
        raise datasets.DatasetError(f"{where}: none of {', '.join(plan.only or DATA)} is there")
    if plan.record is not None:
        traces = [one.trace for one in measuring.done if one.trace is not None]
        write_atomically(plan.record, dumps(traces))
    timed = not plan.only and plan.replay is None and not plan.made
    return AgentQuality(
        albums,
        tuple(sentences),
        _steps(measuring.models, plan.cache, tell) if timed else None,
        tuple(measuring.unfit),
        measuring.runs,
        tuple(measuring.ablations),
        tuple(f"{one.trace.task}: {line}" for one in measuring.done if one.trace for line in one.differences),
    )


class _Measuring:
    """What a measurement has found so far."""

    def __init__(self, plan: Plan, tell: Tell) -> None:
        self.plan, self.tell = plan, tell
        self.tape = None if plan.replay is None else Tape(plan.replay)
        self.models = Models.open(plan.bundle, "onnx", plan.threads)
        self.unfit: list[Unfit] = []
        self.runs: dict[str, tuple[Runs, ...]] = {}
        self.ablations: list[Ablation] = []
        self.done: list[Done] = []

    def players(self, album: str, run: int = 0) -> list[Player]:
        return players.players(self.plan.names, self.plan.remote, self.tape, album, run)

    def has(self, name: str) -> bool:
        """Whether a data set is wanted and there; of a replay, whether it holds traces of it."""
        data = self.plan.data
        if data is None or (self.plan.made and name not in ALBUMS):
            return False
        there = (data / "album" / f"{name}.jsonl").is_file() if name in ALBUMS else (data / name).is_dir()
        taped = self.tape is None or any(place.split(" ")[0] == name for place in self.tape.places())
        return name in (self.plan.only or DATA) and there and taped

    def questions(self, name: str) -> list[SentenceRow]:
        assert self.plan.data is not None
        rows, done = short_answers.measure(
            self.plan.data, name, self.models, self.players, self.plan.cache, self.tell
        )
        self.done += done
        return rows

    def album(self, name: str) -> tuple[AlbumRow, ...]:
        assert self.plan.data is not None
        source = self.plan.data / "album" / f"{name}.jsonl"
        made_by = self.models.manifest.artifact("image_tower", "onnx").sha256[:8]
        path = self.plan.cache / f"{source.name}-{made_by}.gamer"
        if not path.exists():
            self.tell(f"{name}: building")
            build(source, self.models, path)
        if self.plan.made:
            return self.asked(name, path)
        questions = running.album_tasks(source.parent / "album.queries.jsonl.gz", self.plan.queries)
        with User(name, path, self.models) as user:
            return tuple(self._rows(user, source, questions))

    def asked(self, name: str, path: Path) -> tuple[AlbumRow, ...]:
        """The minds on questions that are made from an album's own graph."""
        with User(name, path, self.models) as user:
            questions = made.tasks(made.MemoryGraph.of(user.album), user.album.ids(), self.plan.made)
            if not questions:
                raise datasets.DatasetError(f"{path}: its memories name nothing that several events show")
            return tuple(self._rows(user, path, questions))

    def _rows(self, user: User, source: Path, questions: Sequence[Task]) -> list[AlbumRow]:
        when, rows = Calendar(user.album), []
        chosen = self.players(user.name)
        for player in chosen:
            done = sets.by_player(user, player, questions, self.tell)
            self.done += done
            rows.append(sets.row(player.name, done, when))
            self._repeat(user, player, done)
            if self.plan.ablate:
                base = Base(user, source, player, done, self.plan.cache, self.tell)
                self.ablations += ablation.ablate(base, self.plan.remote)
        for player in self._readers(user, chosen, questions):
            done = sets.by_player(user, player, questions, self.tell)
            self.done += done
            rows.append(sets.row(player.name, done, when))
        self.tell(f"{user.name}: one search for each")
        return [*rows, *sets.baselines(user, questions)]

    def _repeat(self, user: User, player: Player, first: list[Done]) -> None:
        """The other runs of the same mind."""
        every = [first]
        for run in range(1, self.plan.runs):
            again = [one for one in self.players(user.name, run) if one.name == player.name]
            if not again:  # of a replay: what was recorded once, a whole album in the prompt
                break
            every.append(sets.by_player(user, again[0], [one.task for one in first], self.tell, run))
            self.done += every[-1]
        if len(every) > 1:
            known = self.runs.get(user.name, ())
            self.runs[user.name] = (*known, runs.compare(player.name, every))

    def _readers(self, user: User, chosen: Sequence[Player], questions: Sequence[Task]) -> Iterator[Player]:
        """The models that can read the whole album in their prompt; of the others, what they would need."""
        for player in chosen:
            if player.reader is None:
                continue
            toolbox = player.opens(user.engine, user.now, player.leaving)
            reader, asked = player.reader(toolbox, Meter()), [task.text for task in questions]
            if (missing := unfit(user.name, player.name, toolbox, reader, asked)) is not None:
                self.unfit.append(missing)
            else:
                yield players.reading_all(player)


def _steps(models: Models, cache: Path, tell: Tell, photos: int = 10_000) -> Steps:
    """The calls of the rules over an album of made photos, each timed by the loop."""
    path, source = cache / f"made-{photos}.gamer", cache / f"made-{photos}.jsonl"
    if not path.exists():
        tell(f"{photos} made photos: building")
        synthetic.write(synthetic.make(0, 0, photos), source)
        build(source, models, path)
    rules = players.player("rules", None)
    with User("made", path, models) as user:
        asked = [
            Task(f"{kind} {number}", question.format(words), frozenset(), "made")
            for kind, question in enumerate(STEP_QUESTIONS)
            for number, (_, words) in enumerate(synthetic.THINGS)
        ]
        sets.by_player(user, rules, asked[:2], tell)  # opens what is opened once
        done = sets.by_player(user, rules, asked, tell)
    times = [ms for one in done for ms in one.steps]
    return Steps(
        photos, len(times), round(float(np.median(times)), 2), round(float(np.quantile(times, 0.95)), 2)
    )
