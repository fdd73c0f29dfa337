"""The bench of language models: each engine gets the same tokens, the loss is the textbook's, and a missing
peer is named.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from gamer.bench import llm
from gamer.bench.retrieval.datasets import DatasetError
from gamer.export.errors import ExportError
from gamer.export.settings import Settings
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.models import Models
from tests.paths import GOLDEN


class Counter:
    """An engine that answers each token with the next number and records what it was given."""

    name, weights = "counter", "none"

    def __init__(self) -> None:
        self.given: list[list[int]] = []

    def prefill(self, ids: Sequence[int]) -> int:
        self.given.append(list(ids))
        return 100

    def step(self, token: int) -> int:
        self.given[-1].append(token)
        return token + 1


def test_every_engine_gets_the_same_tokens() -> None:
    runners = [Counter(), Counter()]
    speeds = llm._speeds(runners, [7, 8], 3, 2, lambda text: None)
    assert all(r.given == [[7, 8, 100, 101, 102]] * 3 for r in runners)  # one pass warms up
    assert [len(s.prefill_samples) for s in speeds] == [2, 2] and all(s.decode_tps > 0 for s in speeds)


def test_the_loss_is_the_negative_logarithm_of_the_softmax() -> None:
    scores = np.log(np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])) + np.array([[500.0], [-500.0]])
    np.testing.assert_allclose(llm._loss(scores, np.array([0, 1])), -np.log([0.7, 0.1]))


def test_the_prose_is_longer_than_five_prompts(bundle: Path) -> None:
    from gamer.runtime.models.models import Models

    assert len(Models.open(bundle).llm_tokenizer.encode(llm.prose()).ids) > 5 * llm.PROMPT


def test_the_bundle_does_not_choose_the_weights_that_it_is_compared_with() -> None:
    golden = mf.from_json((GOLDEN / "manifest_v2.json").read_text(encoding="utf-8"), "golden")
    settings = {**Settings("pocket").to_strings(), "sources": "llm=evil/repo", "trust_pickle": "True"}
    models = cast(Models, SimpleNamespace(manifest=replace(golden, settings=settings)))
    with pytest.raises(ExportError, match="the weights of llm came from evil/repo: say where they are"):
        llm._quality(models, [1, 2, 3], ())


def test_a_missing_peer_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(DatasetError, match="pip install llama-cpp-python"):
        llm.LlamaRunner(tmp_path / "none.gguf", 1, 64)
