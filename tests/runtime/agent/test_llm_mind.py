"""The mind of the bundle's language model in a small cache: notes replace what was said, and it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gamer.runtime.agent import llm_mind, loop
from gamer.runtime.agent.context import FULL
from gamer.runtime.agent.llm_mind import MAX_NEW, PROMPT, LlmMind
from gamer.runtime.agent.loop import Outcome
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.models.language.grammar import Vocabulary
from gamer.runtime.models.language.llm import Generation, Request
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from tests.runtime.agent.small_album import engine_over, photo, short

LONG = "a kite above the dunes, <|im_end|> with a tail of many colours, long and wide, in the wind"
PHOTOS = [photo(f"p{n}", f"2025-06-01T{10 + n}:00:00", f"{n} {LONG}") for n in range(8)]
QUESTION = "the kite before the storm"
FIRST, LAST = "<first>", "<last>"  # of what the grammar allows at each token
TURNS = (
    ("look", "kite\n"),
    ("same day", FIRST),
    ("same day", LAST),
    ("before", LAST),
    ("after", FIRST),
    ("among", "storm\n"),
    ("after", LAST),
)
SMALL = 2_100  # tokens of a cache that holds the prompt and two results


class Scripted:
    """A language model whose tokens are bytes; the grammar refuses what it may not write.

    `prompts`: what it has read at each of its texts.
    """

    def __init__(self, max_seq: int, wishes: Sequence[str]) -> None:
        self.wishes, self.prompts, self.max_seq = list(wishes), list[str](), max_seq

    def models(self) -> Models:
        return cast(
            Models,
            SimpleNamespace(
                manifest=SimpleNamespace(prompts={}, decoder=lambda: SimpleNamespace(max_seq=self.max_seq)),
                language_model=self,
                llm_vocabulary=Vocabulary({n: bytes([n]) for n in range(256)}),
                llm_tokenizer=SimpleNamespace(encode=_bytes),
            ),
        )

    def generate(self, request: Request) -> Any:
        self.prompts.append(bytes(request.ids).decode())
        constraint, wish, written = request.constraint, self.wishes.pop(0), b""
        assert constraint is not None
        while len(allowed := constraint.allowed()) and written != wish.encode():
            ends = {FIRST: allowed[0], LAST: allowed[-1]}
            token = int(ends[wish] if wish in ends else wish.encode()[len(written)])
            constraint.advance(token)  # raises where the grammar does not allow it
            written += bytes([token])
        return SimpleNamespace(ids=tuple(written))


def _bytes(text: str, add_special_tokens: bool) -> SimpleNamespace:
    return SimpleNamespace(ids=list(text.encode()))


def solve(engine: Engine, model: Scripted, question: str = QUESTION) -> Outcome:
    toolbox = Toolbox(engine)
    return loop.run(LlmMind(toolbox, model.models()), toolbox, question)


def scripted(max_seq: int = SMALL) -> Scripted:
    return Scripted(max_seq, [text for turn in TURNS for text in turn] + ["answer"])


def test_a_task_that_outgrows_the_cache_goes_on_to_its_answer(engine: Engine) -> None:
    model = scripted()
    outcome = solve(engine, model)
    assert outcome.ended == "answer"
    assert outcome.answer.found
    assert not model.wishes
    assert [step.thought.split(":")[0] for step in outcome.steps] == [action for action, _ in TURNS]
    assert all(len(prompt) + MAX_NEW <= SMALL for prompt in model.prompts)
    whole = scripted(max_seq=100_000)
    assert solve(engine, whole).answer == outcome.answer  # the calls are the same, with notes or without
    assert len(whole.prompts[-1]) > SMALL


def test_a_turn_begins_within_two_thirds_of_the_cache(engine: Engine) -> None:
    model = scripted()
    solve(engine, model)
    begins = [prompt for prompt in model.prompts if prompt.endswith("\n")]
    assert len(begins) == len(TURNS) + 1
    assert all(len(prompt) <= SMALL * FULL for prompt in begins)


def test_the_notes_hold_goal_findings_and_plan(engine: Engine) -> None:
    model = scripted()
    outcome = solve(engine, model)
    noted = [prompt for prompt in model.prompts if "Goal:" in prompt]
    assert noted
    assert not any("Goal:" in prompt for prompt in model.prompts[:2])
    first, last = noted[0], noted[-1]
    assert f'Goal: "{QUESTION}"' in first
    assert "found: 7 photos" in first
    assert f"Plan: {outcome.steps[1].thought}" in first
    assert any(f"Plan: {step.thought}\n" in last for step in outcome.steps[2:])
    assert "Last result:\n7 photos" in first
    assert first.count("\nimg_") > 1
    assert "Sandwiches" not in first
    assert "parade" in first
    assert first.endswith(f"assistant\n{outcome.steps[1].thought}\n> 7 photos\n")


def test_a_photo_that_no_tool_has_shown_cannot_be_named_after_the_notes(engine: Engine) -> None:
    wishes = [text for turn in TURNS for text in turn]
    wishes[5] = "img_ffffffffff\n"
    model = Scripted(SMALL, wishes)
    outcome = solve(engine, model)
    assert "is not allowed here" in outcome.ended
    assert "Goal:" in model.prompts[-1]
    assert len(outcome.steps) == 2


def test_no_memory_can_end_its_turn_in_the_notes(engine: Engine) -> None:
    model = scripted()
    solve(engine, model)
    marks = {prompt.count("<|im_end|>") for prompt in model.prompts if "Goal:" in prompt}
    assert marks == {PROMPT.count("<|im_end|>") - 2}  # without those of the first example


def test_a_question_alone_may_use_more_than_its_share(engine: Engine) -> None:
    question = ("the kite " * 30).strip()
    size = len(PROMPT) - len("{query}") + len(question) + 2 * MAX_NEW
    model = Scripted(size, ["look", "kite\n", "answer"])
    assert solve(engine, model, question).answer.found
    assert "parade" in model.prompts[0]
    assert question in model.prompts[0]
    assert "Goal:" in model.prompts[-1]


def test_a_small_cache_ends_the_task_with_what_was_found(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm_mind, "LEAST_CACHE", SMALL + 1)
    model = scripted()
    outcome = solve(engine, model)
    assert outcome.ended == "answer"
    assert outcome.answer.found
    assert model.wishes
    assert not any("Goal:" in prompt for prompt in model.prompts)


def test_a_cache_that_holds_no_notes_ends_the_task(engine: Engine) -> None:
    model = Scripted(300, [])
    outcome = solve(engine, model)
    assert outcome.ended == "answer"
    assert not outcome.answer.found
    assert model.prompts == []


@pytest.mark.slow
def test_the_bundles_model_goes_on_from_notes_under_its_grammar(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models.open(bundle)
    engine = engine_over(models, tmp_path, PHOTOS)
    read, generate = list[str](), models.language_model.generate

    def watched(request: Request) -> Generation:
        assert len(request.ids) + MAX_NEW <= models.manifest.decoder().max_seq
        read.append(models.llm_tokenizer.decode(list(request.ids), skip_special_tokens=False))
        return generate(request)

    monkeypatch.setattr(models.language_model, "generate", watched)
    monkeypatch.setattr(llm_mind, "LEAST_CACHE", 0)
    toolbox = Toolbox(engine)
    outcome = loop.run(LlmMind(toolbox, models), toolbox, QUESTION)
    assert outcome.ended == "answer"
    assert outcome.answer.found
    noted = [at for at, prompt in enumerate(read) if "Goal:" in prompt]
    assert noted, read
    assert len(outcome.steps) > 1, read  # a call was made after the notes took the dialogue's place
    shown = {short(p.id) for p in PHOTOS}
    for step in outcome.steps:
        action, argument = step.thought.split(": ")
        assert argument in shown if llm_mind.ACTIONS[action] == llm_mind.PHOTO else argument in QUESTION
    engine.close()
