"""`gamer bench study agent`: minds beside one search and BM25, on the same albums and questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np

from gamer.runtime.agent.recording import dumps
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models

from ..files import write_atomically
from ..retrieval import datasets, synthetic
from ..retrieval.user import User
from ..study.declaration import About, Run, Tell
from . import ablation, made, players, runs, sets, short_answers
from . import tasks as running
from .ablation import Ablation, Base
from .meter import Meter
from .mistakes import Calendar
from .players import Player, Remote, Tape
from .runs import Runs
from .sets import AlbumRow
from .short_answers import SentenceRow
from .tasks import Attempt, Task
from .whole_prompt import Unfit, unfit

MINDS = ("rules", "llm", "openai")
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
class Settings:
    """A trace holds questions and answers about the albums: keep it where the data sets are."""

    mind: Annotated[tuple[str, ...], About("the minds; openai: that of model", choices=MINDS)] = ("rules",)
    model: Annotated[str | None, About("of an OpenAI-compatible endpoint, for the mind openai")] = None
    endpoint: Annotated[str | None, About("its URL, by default port 11434 here; key: $GAMER_API_KEY")] = None
    context: Annotated[int, About("tokens that it takes at once", least=1)] = 8_192
    only: Annotated[tuple[str, ...], About("the data sets; all if there are none", choices=DATA)] = ()
    made: Annotated[int, About("ask so many questions that are made from an album's graph", least=0)] = 0
    runs: Annotated[int, About("answer the albums' queries so often: best, and commonest", least=1)] = 1
    queries: Annotated[int, About("the most of a group of the albums' queries; 0: all", least=0, quick=3)] = 0
    ablate: Annotated[bool, About("take away tools, events and captions in turn, on the albums")] = False
    record: Annotated[Path | None, About("write every task's trace to this file")] = None
    replay: Annotated[Path | None, About("play the traces of this file again, without minds")] = None

    @property
    def remote(self) -> Remote | None:
        """The model of the mind "openai"."""
        return None if self.model is None else Remote(self.model, self.endpoint, self.context)


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


def measure(run: Run[Settings]) -> AgentQuality:
    """Of `run.data`, the folder of data sets, those that are there; nothing else than `run.album`, if given.

    Raises DatasetError if there is none of the data sets, TraceError for a replay of what is no trace.
    """
    measuring, plan = _Measuring(run), run.settings
    albums = {name: measuring.album(name) for name in ALBUMS if measuring.has(name)}
    if run.album is not None:
        albums[run.album.name] = measuring.asked(run.album.name, run.album)
    sentences = [row for name in QUESTIONS if measuring.has(name) for row in measuring.questions(name)]
    if not albums and not sentences:
        where = " and ".join(map(str, (*run.data, *([plan.replay] if plan.replay else []))))
        raise datasets.DatasetError(f"{where}: none of {', '.join(plan.only or DATA)} is there")
    if plan.record is not None:
        traces = [one.trace for one in measuring.done if one.trace is not None]
        write_atomically(plan.record, dumps(traces))
    timed = not plan.only and plan.replay is None and not plan.made
    return AgentQuality(
        albums,
        tuple(sentences),
        _steps(run.models, run.home, run.tell) if timed else None,
        tuple(measuring.unfit),
        measuring.runs,
        tuple(measuring.ablations),
        tuple(f"{one.trace.task}: {line}" for one in measuring.done if one.trace for line in one.differences),
    )


class _Measuring:
    """What a measurement has found so far."""

    def __init__(self, run: Run[Settings]) -> None:
        self.run, self.plan, self.tell, self.models = run, run.settings, run.tell, run.models
        self.tape = None if self.plan.replay is None else Tape(self.plan.replay)
        self.unfit: list[Unfit] = []
        self.runs: dict[str, tuple[Runs, ...]] = {}
        self.ablations: list[Ablation] = []
        self.done: list[Attempt] = []

    def players(self, album: str, run: int = 0) -> list[Player]:
        return players.players(self.plan.mind, self.plan.remote, self.tape, album, run)

    def has(self, name: str) -> bool:
        """Whether a data set is wanted and there; of a replay, whether it holds traces of it."""
        if not self.run.data or (self.plan.made and name not in ALBUMS):
            return False
        (data,) = self.run.data
        there = (data / "album" / f"{name}.jsonl").is_file() if name in ALBUMS else (data / name).is_dir()
        taped = self.tape is None or any(place.split(" ")[0] == name for place in self.tape.places())
        return name in (self.plan.only or DATA) and there and taped

    def questions(self, name: str) -> list[SentenceRow]:
        rows, done = short_answers.measure(
            self.run.data[0], name, self.models, self.players, self.run.home, self.tell
        )
        self.done += done
        return rows

    def album(self, name: str) -> tuple[AlbumRow, ...]:
        source = self.run.data[0] / "album" / f"{name}.jsonl"
        made_by = self.models.manifest.artifact("image_tower", "onnx").sha256[:8]
        path = self.run.home / f"{source.name}-{made_by}.gamer"
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
                base = Base(user, source, player, done, self.run.home, self.tell)
                self.ablations += ablation.ablate(base, self.plan.remote)
        for player in self._readers(user, chosen, questions):
            done = sets.by_player(user, player, questions, self.tell)
            self.done += done
            rows.append(sets.row(player.name, done, when))
        self.tell(f"{user.name}: one search for each")
        return [*rows, *sets.baselines(user, questions)]

    def _repeat(self, user: User, player: Player, first: list[Attempt]) -> None:
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
