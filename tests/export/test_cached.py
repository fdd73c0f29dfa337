"""`gamer generate CHECKPOINT`: one command from a directory or a GGUF file to text, exported once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from click.testing import CliRunner, Result

import gamer.main
from gamer.export import cached
from gamer.runtime.bundle import manifest as mf
from tests.export import tiny


@pytest.fixture
def generate(workers_here: None) -> Any:
    """Runs `gamer generate …` with the work of a worker done here, and an own cache."""

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(gamer.main.main, ["generate", *map(str, arguments)])

    return run


def gguf_of(folder: Path, path: Path) -> Path:
    """A GGUF file of the Qwen2 checkpoint in `folder`, as llama.cpp's converter writes it."""
    gguf = pytest.importorskip("gguf")
    from safetensors.numpy import load_file

    from gamer.export.checked import read_object

    config, writer = read_object(folder / "config.json") or {}, gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_context_length(config["max_position_embeddings"])
    letters = tiny.tokenizer(None, "<|endoftext|>", ("<|im_start|>", "<|im_end|>"))
    vocabulary = json.loads(letters)["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    tokens += [f"<unused{n}>" for n in range(tiny.VOCAB - len(tokens))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([1 if n < 256 else 3 for n in range(len(tokens))])
    writer.add_token_merges([])
    writer.add_eos_token_id(256)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config["num_hidden_layers"])
    for name, tensor in load_file(folder / "model.safetensors").items():
        stem, _, kind = name.rpartition(".")
        writer.add_tensor(f"{names.get_name(stem)}.{kind}", np.asarray(tensor, np.float32))
    for step in ("header", "kv_data", "tensors"):
        getattr(writer, f"write_{step}_to_file")()
    writer.close()
    return path


def test_a_directory_gives_text_and_is_exported_once(generate: Any, tmp_path: Path) -> None:
    model = tiny.TINY["qwen2"](tmp_path / "mine")
    asked = (model, "hello", "--max-new", "4", "--json")
    first, again = generate(*asked), generate(*asked)
    assert first.exit_code == again.exit_code == 0, first.output
    assert "exported once in int8" in first.stderr
    assert again.stderr == ""
    assert first.stdout.partition('"ended"')[0] == again.stdout.partition('"ended"')[0]
    out = cached.folder(model, "int8")
    assert out.is_relative_to(tmp_path / "cache")
    assert {a.target for a in mf.read(out).artifacts} == {"onnx"}
    config = model / "config.json"
    config.write_text(config.read_text() + "\n")  # changed: another folder, and the earlier one goes
    assert cached.folder(model, "int8") != out != cached.folder(model, "int4")
    assert "exported once" in generate(*asked).stderr
    assert not out.exists()


def test_a_gguf_file_gives_text(generate: Any, tmp_path: Path) -> None:
    model = gguf_of(tiny.TINY["qwen2"](tmp_path / "mine"), tmp_path / "mine.gguf")
    done = generate(model, "hello", "--raw", "--max-new", "2", "--quant", "int4", "--json")
    assert done.exit_code == 0, done.output
    assert '"new_tokens": 2' in done.stdout
    assert "exported once in int4" in done.stderr
    assert mf.read(cached.folder(model, "int4")).quant == "int4"


def test_without_the_extra_it_says_what_to_install(generate: Any, tmp_path: Path, monkeypatch: Any) -> None:
    model = tiny.TINY["qwen2"](tmp_path / "mine")
    monkeypatch.setitem(sys.modules, "gamer.export.checkpoints.checkpoint", None)
    done = generate(model, "hello")
    assert done.exit_code == 1
    assert "-m pip install -e" in done.stderr
    assert "[export]'" in done.stderr
    assert not list((tmp_path / "cache").rglob("manifest.json"))


def test_what_is_no_language_model_is_refused_in_one_line(generate: Any, tmp_path: Path) -> None:
    clip, bundle, text = tiny.TINY["clip"](tmp_path / "clip"), tmp_path / "bundle", tmp_path / "notes.txt"
    bundle.mkdir()
    text.write_text("hello")
    for asked, words in (
        ((clip,), "no language model"),
        ((text,), "not a whole GGUF file"),
        ((bundle, "--quant", "int4"), "--quant is for checkpoints"),
        ((tmp_path / "absent",), "absent"),
    ):
        done = generate(asked[0], "hello", *asked[1:])
        assert done.exit_code == 1
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1
