"""Tokenizers that a stranger wrote: refused in one line, before a text goes through them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gamer.runtime.errors import BundleError
from gamer.runtime.models.tokenizers import open_tokenizer
from tests.paths import GOLDEN

OWN = sorted((GOLDEN / "conformance" / "tokenizers").glob("*.json"))
ANY = json.loads(OWN[0].read_text(encoding="utf-8"))

TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[ELSE]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}


def replacing(content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": "a"}, "content": content}


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_tokenizers_of_models_open(path: Path) -> None:
    if "type" in json.loads(path.read_text(encoding="utf-8")).get("model", {}):
        assert open_tokenizer(path).encode("a cat").ids


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "\0" * 100,
        "[" * 200_000,
        '{"a":' * 50_000,
        json.dumps({**ANY, "model": {}}),
        json.dumps({**ANY, "model": {"type": "WordPiece", "vocab": {}, "unk_token": "[UNK]"}}),
        json.dumps({**ANY, "normalizer": {"type": "Unheard"}}),
        json.dumps({**ANY, "post_processor": TEMPLATE}),
        json.dumps({**ANY, "post_processor": {"type": "Sequence", "processors": [TEMPLATE]}}),
        json.dumps({**ANY, "normalizer": replacing("a" * 10_000)}),
        json.dumps({**ANY, "normalizer": {"type": "Prepend", "prepend": "a" * 10_000}}),
        json.dumps(
            {**ANY, "normalizer": {"type": "Sequence", "normalizers": [replacing("aaaa") for _ in range(9)]}}
        ),
    ],
    ids=lambda text: text[:20],
)
def test_a_hostile_tokenizer_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "text_tokenizer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BundleError, match=r"text_tokenizer\.json: must be a tokenizer") as refusal:
        open_tokenizer(path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("strategy", ["BatchLongest", {"Fixed": 1 << 28}], ids=str)
def test_a_tokenizer_pads_no_text_to_what_its_file_asks_for(tmp_path: Path, strategy: object) -> None:
    path = tmp_path / "text_tokenizer.json"
    padding = {"direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    asked = {**padding, "strategy": strategy, "pad_to_multiple_of": 1 << 28}
    path.write_text(json.dumps({**ANY, "padding": asked}), encoding="utf-8")
    assert len(open_tokenizer(path).encode("a cat").ids) < 100
