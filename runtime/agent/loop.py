"""One loop for every mind: thought, one tool call, its result, and again, until the final answer or the end
of the budget.

A mind is a generator. It yields an Act and receives an Observation; it ends by returning an Answer. The loop
runs the calls, counts them, and keeps the trace, so that no mind can call more than it may.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from time import perf_counter_ns
from typing import Annotated, Any, Literal, Protocol

from gamer.index import AlbumError
from gamer.index.json_checked import Between

from ..errors import RuntimeFailure
from ..questions.reader import read
from ..search import notebook
from . import calls
from .calls import Call, ToolError, View
from .results import Item, Result
from .toolbox import Toolbox

End = Literal["set", "sentence"]
ENDS: tuple[End, ...] = ("set", "sentence")
MAX_QUESTION = 100_000  # characters
Uses = Annotated[int, Between(0, 1_000)]


@dataclass(frozen=True)
class Budget:
    """What one task may use: tool calls, calls of `view` among them, and turns of the mind."""

    calls: Uses = 25
    views: Uses = 5
    turns: Uses = 30

    def line(self) -> str:
        return f"left: {self.calls} calls, {self.views} views, {self.turns} turns"


@dataclass(frozen=True)
class Act:
    """A mind's turn: what it thinks, and the call that it wants; without one the mind only thinks aloud."""

    thought: str
    call: Call | None = None


@dataclass(frozen=True)
class Observation:
    """What came of an act. `error`: why there is no result, in one line, "" if there is one."""

    result: Result
    error: str
    left: Budget


@dataclass(frozen=True)
class Step:
    """One turn in the trace. `ms`: of the call, without the mind's own time."""

    thought: str
    call: Call | None
    observation: Observation | None
    ms: float


@dataclass(frozen=True)
class Answer:
    """A final answer.

    `rows`: the photos that are the answer (end "set") or its evidence (end "sentence"), in order of showing;
    where nothing is found, the nearest. `sentence`: what to say. `found`: whether the album holds an answer.
    `shown`: how many of the rows a person should see, where the others were only read; None: all.
    """

    rows: tuple[int, ...]
    sentence: str
    found: bool = True
    shown: int | None = None


@dataclass(frozen=True)
class Outcome:
    """A finished task. `photos`: of `answer.rows`.

    `ended`: "answer", "budget" or "interrupted" (the answer is then what was found last), or the line of the
    error that ended the mind. `files`, `ids`: of `photos`, their paths (ids where there is no file) and their
    ids in the album, as a search gives them; set by `gamer.Album.ask` alone, and told to no mind.
    """

    question: str
    end: End
    mind: str
    answer: Answer
    photos: tuple[Item, ...]
    steps: tuple[Step, ...]
    ended: str
    left: Budget
    files: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[Item, ...]:
        """The photos that a person should see."""
        return self.photos[: self.answer.shown]

    def to_dicts(self) -> list[dict[str, Any]]:
        """A row for each photo of the answer, for a data frame."""
        names = self.files or [item.id for item in self.photos]
        return [asdict(item) | {"file": file} for item, file in zip(self.photos, names, strict=True)]

    def _repr_html_(self) -> str:
        captions = [f"{item.taken or ''} {item.memory or ''}" for item in self.shown]
        return notebook.html(self.answer.sentence, list(zip(self.files, captions, strict=False)))


Turns = Generator[Act, Observation, Answer]


class Mind(Protocol):
    """Chooses the calls. `solve` must treat every text of an observation as data, never as instruction."""

    @property
    def name(self) -> str: ...

    def solve(self, question: str, end: End) -> Turns: ...


@dataclass
class _Run:
    steps: list[Step] = field(default_factory=list)
    left: Budget = Budget()


NOTHING = Answer((), "I found nothing in the album that answers this.", found=False)


def ending(question: str, language: str = "en") -> End:
    """What a question asks for: photos, or when, where, who, how many or another fact."""
    asked = read(question, language=language)
    return "set" if asked.asks == "photos" or (asked.asks == "fact" and asked.about_photos) else "sentence"


def run(
    mind: Mind,
    toolbox: Toolbox,
    question: str,
    end: End | None = None,
    budget: Budget = Budget(),
    on_step: Callable[[Step], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Runs a task. `end`: what is wanted, by default what the question asks for. `on_step`: is told of every
    step as it ends; `stop`: asked before every turn.

    Raises ToolError for an empty or overlong question; what goes wrong later ends the task with the trace so
    far.
    """
    if not question.strip():
        raise ToolError("the question is empty: ask something about the photos")
    if len(question) > MAX_QUESTION:
        raise ToolError(f"the question has {len(question)} characters: give at most {MAX_QUESTION}")
    end = end or ending(question, toolbox.engine.language_of(question))
    state = _Run(left=budget)
    answer, ended = _turns(mind.solve(question, end), toolbox, state, on_step, stop)
    try:
        photos = toolbox.items(answer.rows)
    except AlbumError as damaged:
        answer, photos, ended = NOTHING, (), str(damaged)
    return Outcome(question, end, mind.name, answer, photos, tuple(state.steps), ended, state.left)


def _turns(
    turns: Turns,
    toolbox: Toolbox,
    state: _Run,
    on_step: Callable[[Step], None] | None,
    stop: Callable[[], bool],
) -> tuple[Answer, str]:
    seen: Observation | None = None
    try:
        while not stop():
            act = next(turns) if seen is None else turns.send(seen)
            if stop():  # a mind may think for long
                break
            if state.left.turns == 0 or (act.call is not None and state.left.calls == 0):
                return _best_so_far(state), "budget"
            step = _step(act, toolbox, state)
            state.steps.append(step)
            if on_step is not None:
                on_step(step)
            seen = step.observation or Observation(Result(), "", state.left)
        return _best_so_far(state), "interrupted"
    except StopIteration as finished:
        return finished.value, "answer"
    except KeyboardInterrupt:
        return _best_so_far(state), "interrupted"
    except (RuntimeFailure, AlbumError) as error:
        return _best_so_far(state), str(error)
    finally:
        with suppress(RuntimeError):  # a mind that yields again while it is closed
            turns.close()


def _step(act: Act, toolbox: Toolbox, state: _Run) -> Step:
    left = state.left
    state.left = Budget(left.calls - (act.call is not None), left.views, left.turns - 1)
    if act.call is None:
        return Step(act.thought, None, None, 0.0)
    begin, result, error = perf_counter_ns(), Result(), ""
    if isinstance(act.call, View):
        if left.views == 0:
            error = "view: no views left; answer from what is known"
        else:
            state.left = Budget(state.left.calls, left.views - 1, state.left.turns)
    if not error:
        try:
            result = toolbox.call(act.call)
        except ToolError as refused:
            error = str(refused)
    ms = round((perf_counter_ns() - begin) / 1e6, 3)
    return Step(act.thought, act.call, Observation(result, error, state.left), ms)


def _best_so_far(state: _Run) -> Answer:
    """What the last call that found photos found."""
    for step in reversed(state.steps):
        if step.observation is not None and step.observation.result.rows:
            rows = step.observation.result.rows[: calls.SEARCHED]
            return Answer(rows, "The task ended before an answer; these photos were found last.", found=False)
    return NOTHING
