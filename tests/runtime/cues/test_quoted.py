"""Cues by the language model: whatever it says, each value is a substring of the query."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.runtime.cues.quoted import cues_by_llm, grammar, pieces
from gamer.runtime.errors import BundleError
from gamer.runtime.models.grammar import Constraint, Vocabulary
from gamer.runtime.models.llm import Generation, Request
from gamer.runtime.models.models import Models

BYTES = Vocabulary({i: bytes([i]) for i in range(256)})


def models(seed: int, most: int = 10_000) -> tuple[Models, list[str]]:
    """A model that says any allowed byte at random, and the queries that it was asked."""
    asked: list[str] = []

    def prompt(name: str, query: str) -> tuple[tuple[int, ...], None]:
        assert name == "cues"
        asked.append(query)
        return (1, 2, 3), None

    def generate(request: Request) -> Generation:
        random, out = np.random.default_rng(seed), list[int]()
        constraint = cast(Constraint, request.constraint)
        while len(allowed := constraint.allowed()) and len(out) < most:
            out.append(int(random.choice(allowed)))
            constraint.advance(out[-1])
        return Generation(tuple(out), "", "grammar", 3, 3, 0, 0)

    manifest = SimpleNamespace(decoder=lambda: SimpleNamespace(max_seq=512))
    lm = SimpleNamespace(generate=generate)
    return cast(
        Models, SimpleNamespace(prompt=prompt, manifest=manifest, language_model=lm, llm_vocabulary=BYTES)
    ), asked


@settings(max_examples=200)
@given(st.text(max_size=60) | st.text('ab"\\<>{}\n é犬', max_size=40), st.integers(0, 100))
def test_nothing_is_invented(query: str, seed: int) -> None:
    double, asked = models(seed)
    found = cues_by_llm(double, query)
    if found is None:
        assert not pieces(query)
        return
    assert all(value in query for value in (found.time, found.place, found.text))
    assert not found.text or not any(
        v and (v in found.text or found.text in v) for v in (found.time, found.place)
    )
    assert not set('"\\<>{}\n') & set(asked[0])


def test_the_usual_reading_is_in_the_grammar() -> None:
    built = grammar('my dog in Paris, "last" summer')
    said = '{"time":"summer","place":"Paris","text":"my dog"}'
    assert built.accepts(built.step(built.start(), said.encode()))
    assert not built.step(built.start(), b'{"time":"winter')
    assert not built.step(built.start(), b'{"place"')


def test_half_an_answer_is_none() -> None:
    assert cues_by_llm(models(0, most=9)[0], "my dog in Paris") is None


@pytest.mark.slow
def test_the_bundles_model_quotes(bundle: object) -> None:
    from pathlib import Path

    opened = Models.open(Path(str(bundle)))
    query = "the picnic by the old mill when grandma visited"
    try:
        found = cues_by_llm(opened, query)
    except BundleError as error:
        pytest.skip(str(error))
    assert found is not None and all(value in query for value in (found.time, found.place, found.text))
