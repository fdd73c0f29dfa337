"""How many tokens a step of the language model gives, by task: with guesses from the prompt, and without.

A task's requests are what the code of that task asks. Each is answered with guesses and without in turn, and
both must give the same tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gamer.runtime.agent import llm_mind
from gamer.runtime.cues import quoted
from gamer.runtime.indexing import extract
from gamer.runtime.models.language.chat import Chat, Message
from gamer.runtime.models.language.grammar import Constraint, Grammar
from gamer.runtime.models.language.llm import Generation, Request
from gamer.runtime.models.models import Models
from gamer.runtime.search.stages import refine

from ..study.declaration import Tell
from ..tables import Sheet, sheet

TURNS = (
    "I was in Porto in May with Anna, and we walked along the river every morning. What should I photograph?",
    "And in the evening?",
    "Which of these is best for a rainy day, and why?",
    "How would you describe the bridge to a child?",
    "Write me one sentence for the album.",
)
NOTES = (
    "Lunch with Anna and Tom at the Blue Lantern in Porto on 3 May: grilled sardines for 12 euros each.",
    "My new red bicycle from Velo Schmidt cost 640 euros; I rode it along the Elbe with Lena.",
)
SYSTEM = "You are brief and kind."
ANSWER, PROSE, CONTINUED = 48, 128, 64  # tokens of an answer; of the prose that is read, and written on
Make = Callable[[], Request]  # a grammar has a state: each run needs a new one


@dataclass(frozen=True)
class TaskSteps:
    """Medians over a task's requests.

    `accepted`: of the guessed tokens, the share that was chosen; 0 if none was guessed. `drafted_tps`,
    `plain_tps`: tokens a second after the first. `same`: whether all tokens were the same.
    """

    task: str
    requests: int
    tokens: int
    guessed: int
    accepted: float
    drafted_tps: float
    plain_tps: float
    same: bool


@dataclass(frozen=True)
class Turn:
    """A turn of a dialogue: milliseconds to the first token, going on from the turns before and anew."""

    turn: int
    prompt_tokens: int
    computed: int
    first_ms: float
    plain_ms: float


def measure(
    models: Models, queries: Sequence[str], prose: Sequence[int], passes: int, tell: Tell
) -> tuple[TaskSteps, ...]:
    """Times the tasks that the bundle has prompts for."""
    tasks = {
        "refine": [_refined(models, query) for query in queries] if _has(models, "refine") else [],
        "quote": [_quoted(models, query) for query in queries] if _has(models, "cues") else [],
        "extract": [_extracted(models, note) for note in NOTES],
        "agent": [_acted(models, query) for query in queries] if models.can_be_held else [],
        "chat": [_said(models)] if Chat(models).has_template else [],
        "prose": [lambda: Request(tuple(prose[:PROSE]), CONTINUED)],
    }
    out = []
    for name, makes in tasks.items():
        tell(f"steps: {name}")
        if makes:
            out.append(_timed(models, name, makes, passes))
    return tuple(out)


def turns(models: Models, passes: int) -> tuple[Turn, ...]:
    """A dialogue of five turns; empty for a model that reads none."""
    chat, model = Chat(models), models.language_model
    if not chat.has_template:
        return ()
    rows: dict[int, list[tuple[Generation, Generation]]] = {}
    for _ in range(passes + 1):  # the first pass warms up and is not counted
        model.reuse.forget()
        asked: list[tuple[int, ...]] = []
        going_on: list[Generation] = []
        said = [Message("system", SYSTEM)]
        for text in TURNS:
            said.append(Message("user", text))
            asked.append(chat.ids(said))
            going_on.append(model.generate(Request(asked[-1], ANSWER)))
            said.append(Message("assistant", going_on[-1].text))
        for n, (ids, answer) in enumerate(zip(asked, going_on, strict=True)):
            rows.setdefault(n, []).append((answer, model.generate(Request(ids, 1, plain=True))))
    return tuple(
        Turn(n + 1, pairs[-1][0].prompt_tokens, pairs[-1][0].computed, *_milliseconds(pairs[1:]))
        for n, pairs in rows.items()
    )


def _milliseconds(pairs: Sequence[tuple[Generation, Generation]]) -> tuple[float, float]:
    """The median times to the first token of either side."""
    going_on, anew = (
        round(float(np.median([generation.first_ns for generation in side])) / 1e6, 1)
        for side in zip(*pairs, strict=True)
    )
    return going_on, anew


def _has(models: Models, prompt: str) -> bool:
    return prompt in models.manifest.prompts


def _refined(models: Models, query: str) -> Make:
    return lambda: Request(models.prompt("refine", query), refine.MAX_NEW, stop=("\n",))


def _extracted(models: Models, note: str) -> Make:
    """The entities of a memory."""
    prompt = models.manifest.prompts.get("extract", extract.PROMPT).replace("{query}", note)
    ids = tuple(models.llm_tokenizer.encode(prompt, add_special_tokens=False).ids)
    return lambda: Request(ids, extract.MAX_NEW, stop=("\n\n",))


def _quoted(models: Models, query: str) -> Make:
    def make() -> Request:
        constraint = Constraint(quoted.grammar(query), models.llm_vocabulary)
        return Request(models.prompt("cues", query), quoted.MAX_NEW, constraint=constraint)

    return make


def _acted(models: Models, query: str) -> Make:
    """An agent's first call: the words that it searches for."""
    text = llm_mind.PROMPT.replace("{query}", query) + "search: "
    ids = tuple(models.llm_tokenizer.encode(text, add_special_tokens=False).ids)

    def make() -> Request:
        grammar = Grammar().span_of([query], optional=False).literal("\n").done()
        return Request(ids, llm_mind.MAX_NEW, constraint=Constraint(grammar, models.llm_vocabulary))

    return make


def _said(models: Models) -> Make:
    ids = Chat(models).ids([Message("system", SYSTEM), Message("user", TURNS[0])])
    return lambda: Request(ids, CONTINUED)


def _timed(models: Models, name: str, makes: Sequence[Make], passes: int) -> TaskSteps:
    pairs: list[tuple[Generation, Generation]] = []
    for step in range(passes + 1):  # the first pass warms up and is not counted
        for make in makes:
            fast = models.language_model.generate(make())
            request = make()
            plain = models.language_model.generate(
                Request(
                    request.ids, request.max_new, stop=request.stop, constraint=request.constraint, plain=True
                )
            )
            pairs += [(fast, plain)] if step else []
    guessed, right = (sum(getattr(fast, what) for fast, _ in pairs) for what in ("drafted", "right"))
    fast_tps, plain_tps = (
        round(float(np.median([_tps(generation) for generation in side])), 1)
        for side in zip(*pairs, strict=True)
    )
    return TaskSteps(
        name,
        len(makes),
        sum(len(fast.ids) for fast, _ in pairs),
        guessed,
        round(right / guessed, 3) if guessed else 0.0,
        fast_tps,
        plain_tps,
        all(fast.ids == plain.ids for fast, plain in pairs),
    )


def _tps(generation: Generation) -> float:
    return max(0, len(generation.ids) - 1) * 1e9 / max(1, generation.decode_ns)


def tables(steps: Sequence[TaskSteps], dialogue: Sequence[Turn]) -> list[Sheet]:
    by_task: dict[str, Callable[[TaskSteps], str]] = {
        "task": lambda row: row.task,
        "guesses taken": lambda row: f"{row.accepted:.0%} of {row.guessed}",
        "tokens/s": lambda row: f"{row.drafted_tps:.1f}",
        "one a step": lambda row: f"{row.plain_tps:.1f}",
        "same tokens": lambda row: "yes" if row.same else "NO",
    }
    by_turn: dict[str, Callable[[Turn], str]] = {
        "turn": lambda row: str(row.turn),
        "prompt": lambda row: str(row.prompt_tokens),
        "computed": lambda row: str(row.computed),
        "first token, ms": lambda row: f"{row.first_ms:.0f}",
        "anew, ms": lambda row: f"{row.plain_ms:.0f}",
        "ratio": lambda row: f"{row.first_ms / row.plain_ms:.2f}",
    }
    out = [sheet("Several tokens a step", steps, by_task)]
    return [*out, sheet("A dialogue's turns", dialogue, by_turn)] if dialogue else out
