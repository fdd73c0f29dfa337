"""Cues by the language model: whatever it answers, each value is a substring of the query."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.runtime.cues.quoted import cues_by_llm, grammar, pieces
from gamer.runtime.errors import BundleError
from gamer.runtime.models.language.grammar import Constraint, Vocabulary
from gamer.runtime.models.language.llm import Generation, Request
from gamer.runtime.models.models import Models

BYTES = Vocabulary({i: bytes([i]) for i in range(256)})


def models(seed: int, most: int = 10_000) -> tuple[Models, list[str]]:
    """A model that answers with random allowed bytes, and the queries that it was asked."""
    asked: list[str] = []

    def prompt(name: str, query: str) -> tuple[int, ...]:
        assert name == "cues"
        asked.append(query)
        return 1, 2, 3

    def generate(request: Request) -> Generation:
        random, out = np.random.default_rng(seed), list[int]()
        constraint = cast(Constraint, request.constraint)
        while len(allowed := constraint.allowed()) and len(out) < most:
            out.append(int(random.choice(allowed)))
            constraint.advance(out[-1])
        return Generation(tuple(out), "", "grammar", 3, 3, 0, 0)

    manifest = SimpleNamespace(decoder=lambda: SimpleNamespace(max_seq=512))
    parts = {
        "prompt": prompt,
        "manifest": manifest,
        "language_model": SimpleNamespace(generate=generate),
        "llm_vocabulary": BYTES,
        "can_be_held": True,
    }
    return cast(Models, SimpleNamespace(**parts)), asked


@settings(max_examples=200)
@given(st.text(max_size=60) | st.text('ab"\\<>{}\n é犬', max_size=40), st.integers(0, 100))
def test_every_value_is_a_substring_of_the_query(query: str, seed: int) -> None:
    double, asked = models(seed)
    cues = cues_by_llm(double, query)
    if cues is None:
        assert not pieces(query)
        return
    assert all(value in query for value in (cues.time, cues.place, cues.text))
    assert not cues.text or not any(v and (v in cues.text or cues.text in v) for v in (cues.time, cues.place))
    assert not set('"\\<>{}\n') & set(asked[0])


def test_the_grammar_accepts_the_usual_reading_and_no_other_words() -> None:
    built = grammar('my dog in Paris, "last" summer')
    answer = '{"time":"summer","place":"Paris","text":"my dog"}'
    assert built.accepts(built.step(built.start(), answer.encode()))
    assert not built.step(built.start(), b'{"time":"winter')
    assert not built.step(built.start(), b'{"place"')


def test_an_incomplete_answer_gives_no_cues() -> None:
    assert cues_by_llm(models(0, most=9)[0], "my dog in Paris") is None


def test_a_model_that_no_grammar_can_hold_is_not_asked() -> None:
    made, asked = models(0)
    made.can_be_held = False
    assert cues_by_llm(made, "my dog in Paris") is None
    assert asked == []


def test_a_model_is_held_if_its_tokens_are_bytes(tmp_path: Path) -> None:
    bytewise = {"decoder": {"type": "ByteLevel"}, "added_tokens": [], "model": {"vocab": {"a": 0}}}
    pieces = bytewise | {"decoder": {"type": "Metaspace"}}
    for tokenizer, holds in ((bytewise, True), (pieces, False)):
        (tmp_path / "llm_tokenizer.json").write_text(json.dumps(tokenizer))
        made = Models.__new__(Models)
        made.data = lambda name: tmp_path / name  # type: ignore[method-assign]
        assert made.can_be_held is holds


@pytest.mark.slow
def test_the_bundles_model_quotes_words_of_the_query(bundle: object) -> None:
    from pathlib import Path

    opened = Models.open(Path(str(bundle)))
    query = "the picnic by the old mill when grandma visited"
    try:
        cues = cues_by_llm(opened, query)
    except BundleError as error:
        pytest.skip(str(error))
    assert cues is not None
    assert all(value in query for value in (cues.time, cues.place, cues.text))
