"""Tokens a step by task: both ways are asked the same, and the figures are those of the generations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from gamer.bench.llm_tasks import steps
from gamer.runtime.models.language.llm import Generation, Request
from gamer.runtime.models.models import Models


def test_the_share_and_the_speeds_are_those_of_the_generations() -> None:
    asked: list[Request] = []

    def generate(request: Request) -> Generation:
        asked.append(request)
        spent = 2_000_000_000 if request.plain else 500_000_000
        drafts = (0, 0) if request.plain else (8, 6)
        return Generation((1, 2, 3, 4, 5), "", "length", 3, 3, 1, spent, *drafts)

    models = cast(Models, SimpleNamespace(language_model=SimpleNamespace(generate=generate)))
    row = steps._timed(models, "prose", [lambda: Request((1, 2, 3), 5, stop=("x",))], 2)
    assert row == steps.TaskSteps("prose", 1, 10, 16, 0.75, 8.0, 2.0, True)
    assert [request.plain for request in asked] == [False, True] * 3
    assert {(request.ids, request.max_new, request.stop) for request in asked} == {((1, 2, 3), 5, ("x",))}


@pytest.mark.slow
def test_every_task_of_the_bundle_gives_the_same_tokens_both_ways(chat_bundle: Path) -> None:
    models = Models.open(chat_bundle)
    prose: Sequence[int] = models.llm_tokenizer.encode("The ferry left the harbour at noon. " * 20).ids
    rows = steps.measure(models, ("coffee I photographed last spring",), prose, 1, lambda text: None)
    assert [row.task for row in rows] == ["refine", "quote", "extract", "agent", "chat", "prose"]
    assert all(row.same and row.tokens for row in rows)
    dialogue = steps.turns(models, 1)
    assert [turn.turn for turn in dialogue] == [1, 2, 3, 4, 5]
    assert all(turn.computed < turn.prompt_tokens for turn in dialogue[1:])
