"""A checkpoint whose tokenizer is missing, or belongs to another model, is refused before it is exported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.planning import limits
from gamer.export.settings import Settings
from tests.export import tiny, tiny_encoders

MODELS: dict[str, tuple[Callable[[Path], Path], str, tuple[str, ...]]] = {
    "bert": (tiny_encoders.bert, "sentence", ("text",)),
    "xlm-roberta": (tiny_encoders.xlm_roberta, "sentence", ("text",)),
    "clip": (tiny.clip, "towers", ("image", "text")),
    "qwen2": (tiny.qwen2, "llm", ("llm",)),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Settings]:
    make, recipe, parts = MODELS[request.param]
    folder = make(tmp_path / request.param)
    components.checkpoint.cache_clear()
    components.llm_tokenizer.cache_clear()
    return folder, Settings(recipe, "int8", tuple((part, str(folder)) for part in parts))


def test_a_checkpoint_with_its_tokenizer_passes(model: tuple[Path, Settings]) -> None:
    limits.check(model[1], ("onnx",))


def test_a_checkpoint_without_a_tokenizer_is_refused(model: tuple[Path, Settings]) -> None:
    folder, settings = model
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(ExportError, match=r"no tokenizer: copy the checkpoint's tokenizer.json"):
        limits.check(settings, ("onnx",))


def test_a_tokenizer_that_knows_five_words_is_refused(model: tuple[Path, Settings]) -> None:
    folder, settings = model
    five = {"<unk>": 0, "the": 1, "cat": 2, "on": 3, "sofa": 4}
    Tokenizer(WordLevel(five, unk_token="<unk>")).save(str(folder / "tokenizer.json"))
    with pytest.raises(ExportError, match=r"does not know \d+ of \d+ common English words"):
        limits.check(settings, ("onnx",))


def test_half_a_vocabulary_is_refused_though_bytes_spell_every_word(model: tuple[Path, Settings]) -> None:
    folder, settings = model
    path = folder / "tokenizer.json"
    raw = json.loads(path.read_text())
    vocabulary = raw["model"]["vocab"]
    half = len(vocabulary) // 2
    raw["model"]["vocab"] = (
        {token: at for token, at in vocabulary.items() if at < half}
        if isinstance(vocabulary, dict)
        else vocabulary[:half]
    )
    path.write_text(json.dumps(raw))
    with pytest.raises(ExportError, match=r"has \d+ tokens, and the model|does not know \d+ of"):
        limits.check(settings, ("onnx",))


def test_a_tokenizer_that_a_bundle_may_not_have_is_refused(model: tuple[Path, Settings]) -> None:
    folder, settings = model
    path = folder / "tokenizer.json"
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    path.write_text(json.dumps({**json.loads(path.read_text()), "pre_tokenizer": pattern}))
    with pytest.raises(ExportError, match="a bundle may not have its tokenizer: regular expression"):
        limits.check(settings, ("onnx",))


@pytest.mark.parametrize("text", ["", "{}", "\0" * 100, "[" * 200_000], ids=lambda text: repr(text)[:9])
def test_a_file_that_is_no_tokenizer_is_refused_in_one_line(model: tuple[Path, Settings], text: str) -> None:
    (model[0] / "tokenizer.json").write_text(text)
    with pytest.raises(ExportError, match=r"a bundle may not have its tokenizer: .*; copy") as refusal:
        limits.check(model[1], ("onnx",))
    assert "\n" not in str(refusal.value)


def test_a_tokenizer_of_a_larger_model_is_refused(model: tuple[Path, Settings]) -> None:
    folder, settings = model
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config.get("text_config", config)["vocab_size"] = 20
    path.write_text(json.dumps(config))
    with pytest.raises(ExportError, match=r"gives the id \d+, and the model has 20 tokens"):
        limits.check(settings, ("onnx",))


def test_an_id_for_which_a_list_of_billions_would_be_written_is_refused(model: tuple[Path, Settings]) -> None:
    folder, settings = model
    path = folder / "tokenizer.json"
    raw = json.loads(path.read_text())
    if raw["model"]["type"] == "Unigram":
        pytest.skip("its tokens are numbered by their order")
    raw["model"]["vocab"]["zzzz"] = (1 << 31) - 5
    path.write_text(json.dumps(raw))
    with pytest.raises(ExportError, match=r"the id 2147483643 is above"):
        limits.check(settings, ("onnx",))


@pytest.mark.parametrize("wrong", ["many", 1.5, [], {"of": 1}, float("nan")], ids=repr)
def test_a_number_of_tokens_that_is_none_is_refused_in_one_line(
    model: tuple[Path, Settings], wrong: object
) -> None:
    path = model[0] / "config.json"
    config = json.loads(path.read_text())
    config.get("text_config", config)["vocab_size"] = wrong
    path.write_text(json.dumps(config))
    with pytest.raises(ExportError, match="vocab_size") as refusal:
        limits.check(model[1], ("onnx",))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("wrong", ["</s>", float("nan"), {"id": 2}, [[2]], [True], -1], ids=repr)
def test_ends_that_are_no_ids_are_refused_in_one_line(tmp_path: Path, wrong: object) -> None:
    folder = tiny.qwen2(tmp_path / "qwen2")
    path = folder / "generation_config.json"  # it goes before config.json
    path.write_text(json.dumps({**json.loads(path.read_text()), "eos_token_id": wrong}))
    components.checkpoint.cache_clear()
    components.llm_tokenizer.cache_clear()
    settings = Settings("llm", "int8", (("llm", str(folder)),))
    with pytest.raises(ExportError, match="eos_token_id"):
        components.language(settings)
    with pytest.raises(ExportError, match="eos_token_id"):
        components.llm_tokenizer(settings)
