"""The text encoder: the words that a tower gets before queries, and before memories and names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

tokenizers = pytest.importorskip("tokenizers")

from gamer.runtime.bundle.manifest import TextPrompts
from gamer.runtime.models.text import TextEncoder

WORDS = {word: n for n, word in enumerate(("[UNK]", "query", "passage", ":", "dog", "sea"))}


class Tower:
    """Keeps the tokens of each run; the vector is their count by id."""

    artifact = SimpleNamespace(
        inputs=(SimpleNamespace(name="input_ids", shape=(1, "tokens")),),
        outputs=(SimpleNamespace(shape=(1, len(WORDS))),),
    )

    def __init__(self) -> None:
        self.seen: list[list[int]] = []

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        self.seen.append(inputs["input_ids"][0].tolist())
        return {"embedding": np.bincount(self.seen[-1], minlength=len(WORDS))[None]}


def encoder(tmp_path: Path, prompts: TextPrompts | None) -> tuple[TextEncoder, Tower]:
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(WORDS, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    tower = Tower()
    return TextEncoder(tower, path, 4, prompts), tower  # type: ignore[arg-type]


def test_queries_and_memories_get_the_words_that_the_tower_was_trained_with(tmp_path: Path) -> None:
    text, tower = encoder(tmp_path, TextPrompts("query: ", "passage: "))
    text.encode_query("dog")
    text.encode(["dog", "dog sea dog"])
    assert tower.seen == [[1, 3, 4], [2, 3, 4], [2, 3, 4, 5]]  # cut at four tokens, the words included
    assert text.ids("dog") == [1, 3, 4]


def test_a_tower_without_such_words_gets_texts_as_they_are(tmp_path: Path) -> None:
    text, tower = encoder(tmp_path, None)
    assert np.array_equal(text.encode_query("dog"), text.encode(["dog"])[0])
    assert tower.seen == [[4], [4]]
