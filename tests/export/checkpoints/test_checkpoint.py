"""Checkpoints of every kind behind one interface, and the errors for those that cannot be read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.checkpoints import catalogue
from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.checkpoints.weights import RandomWeights
from gamer.export.errors import ExportError
from tests.export import tiny

Q = "model.layers.0.self_attn.q_proj.weight"


@pytest.fixture(scope="module")
def qwen2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.qwen2(tmp_path_factory.mktemp("hf") / "qwen2")


def test_a_directory_gives_tensors_by_name_and_shape(qwen2: Path) -> None:
    checkpoint = open_checkpoint(None, str(qwen2))
    assert checkpoint.config["model_type"] == "qwen2"
    assert checkpoint.weights.source == "local:qwen2"
    assert checkpoint.weights.trained
    assert checkpoint.weights.get(Q, 64, 64).dtype == torch.float32
    assert not checkpoint.weights.has("lm_head.weight")
    assert checkpoint.tokenizer is not None
    assert "<|im_start|>" in checkpoint.tokenizer()
    with pytest.raises(ExportError, match=r"local:qwen2: no tensor model\.layers\.7"):
        checkpoint.weights.get("model.layers.7.self_attn.q_proj.weight", 64, 64)
    with pytest.raises(
        ExportError, match=r"q_proj\.weight has shape \[64, 64\], the architecture wants \[32, 64\]"
    ):
        checkpoint.weights.get(Q, 32, 64)


def test_random_weights_depend_on_seed_and_name_and_are_scaled_by_architecture() -> None:
    one, two, other = RandomWeights(7), RandomWeights(7), RandomWeights(8)
    assert torch.equal(one.get(Q, 64, 32), two.get(Q, 64, 32))
    assert not torch.equal(one.get(Q, 64, 32), other.get(Q, 64, 32))
    assert not torch.equal(one.get(Q, 64, 32), one.get(Q.replace("q_proj", "k_proj"), 64, 32))
    assert (one.get("model.norm.weight", 8) == 1).all()
    into = Q.replace("q_proj", "o_proj")
    assert one.get(Q, 256, 256).std() == pytest.approx(1 / 16, rel=0.02)
    assert RandomWeights(7, depth=8).get(into, 256, 256).std() == pytest.approx(1 / 64, rel=0.02)
    assert RandomWeights(7, depth=8).get(Q, 256, 256).std() == pytest.approx(1 / 16, rel=0.02)
    table, queries = "model.embed_tokens.weight", "decoder.block.0.layer.1.EncDecAttention.q.weight"
    assert one.get(table, 256, 256).std() == pytest.approx(1, rel=0.02)
    assert one.get("pooler.weight", 8).std() < 0.1
    assert RandomWeights(7, table=0.5).get(table, 256, 256).std() == pytest.approx(0.5, rel=0.02)
    assert RandomWeights(7, head=64).get(queries, 256, 256).std() == pytest.approx(1 / 128, rel=0.02)
    qwen2 = open_checkpoint("qwen2-1.5b", "random:7")
    assert isinstance(qwen2.weights, RandomWeights)
    assert (
        qwen2.weights.depth,
        qwen2.weights.head,
        qwen2.weights.table,
    ) == (28, 1, 1.0)
    gemma, t5 = (open_checkpoint(name, "random:7").weights for name in ("gemma3-1b", "flan-t5-xl"))
    assert isinstance(gemma, RandomWeights)
    assert (gemma.table, gemma.depth, gemma.sandwich) == (
        1152**-0.5,
        26,
        True,
    )
    for norm, scale in (
        ("input_layernorm", 1),
        ("post_attention_layernorm", 52**-0.5),
        ("post_feedforward_layernorm", 52**-0.5),
    ):
        assert 1 + float(gemma.get(f"model.layers.0.{norm}.weight", 4)[0]) == pytest.approx(scale)
    assert isinstance(t5, RandomWeights)
    assert t5.head == 64
    assert qwen2.config["num_hidden_layers"] == 28
    assert qwen2.weights.source == "random:7"
    assert not qwen2.weights.trained


@pytest.mark.parametrize(
    "name", sorted(catalogue.MODELS.keys() - {"dlib-faces", "pp-ocr"})
)  # their files have the sizes
def test_every_model_has_a_configuration(name: str) -> None:
    assert catalogue.config(name)["model_type"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("random:x", "the seed is a whole number"),
        ("/nowhere/at/all", "must be a directory, a file, or a hub id"),
        ("missing.gguf", "must be a directory, a file, or a hub id"),
        ("a/b/c", "or a hub id"),
        (
            "nobody/nothing",
            "cannot be fetched from the hub .* check the id and the network, or give a local directory",
        ),
    ],
)
def test_a_missing_checkpoint_is_reported_in_one_line(
    source: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ExportError, match=message) as error:
        open_checkpoint("qwen2-1.5b", source)
    assert "\n" not in str(error.value)


def test_random_weights_need_a_recipe() -> None:
    with pytest.raises(ExportError, match="name a recipe"):
        open_checkpoint(None, "random")


def test_a_pickled_checkpoint_is_refused_unless_trusted(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "qwen2"}')
    torch.save({Q: torch.ones(2, 2)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ExportError, match=r"only pickled weights \(pytorch_model\.bin\), which can run code"):
        open_checkpoint(None, str(tmp_path))
    assert open_checkpoint(None, str(tmp_path), trust_pickle=True).weights.get(Q, 2, 2).sum() == 4


def test_safetensors_are_preferred_and_the_pickle_beside_them_is_never_opened(
    qwen2: Path, tmp_path: Path
) -> None:
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / file).write_bytes((qwen2 / file).read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(print))
    assert open_checkpoint(None, str(tmp_path), trust_pickle=True).weights.get(Q, 64, 64).shape == (64, 64)


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"model_type": NaN'])
def test_a_malformed_config_is_named_in_the_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ExportError, match=r"config\.json: must be"):
        open_checkpoint(None, str(tmp_path))


def test_a_directory_without_a_config_or_weights_is_refused_by_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"no config\.json"):
        open_checkpoint(None, str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ExportError, match=r"no \.safetensors file"):
        open_checkpoint(None, str(tmp_path))


@pytest.mark.parametrize("cut", [0, 4, 100, 5000])
def test_a_cut_safetensors_file_is_refused(qwen2: Path, tmp_path: Path, cut: int) -> None:
    (tmp_path / "config.json").write_bytes((qwen2 / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes((qwen2 / "model.safetensors").read_bytes()[:cut])
    with pytest.raises(ExportError, match="not a whole safetensors file"):
        open_checkpoint(None, str(tmp_path))


@pytest.mark.parametrize("data", [b"", b"GGUF", b"GGUF" + b"\xff" * 200, b"not at all"])
def test_a_file_that_is_no_whole_gguf_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.gguf").write_bytes(data)
    with pytest.raises(ExportError, match="not a whole GGUF file"):
        open_checkpoint("smollm2-135m", str(tmp_path / "x.gguf"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("block_count", 2**31),
        ("block_count", 0),
        ("block_count", 2.0**40),
        ("block_count", 2.5),
        ("attention.head_count", 0),
        ("attention.head_count", float("nan")),
        ("attention.head_count", 0.5),
        ("embedding_length", float("inf")),
        ("token_embd", (80,)),
    ],
)
def test_a_gguf_of_impossible_sizes_is_refused_before_anything_is_built(
    tmp_path: Path, field: str, value: float | tuple[int, ...]
) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "llama")
    sizes = {
        "embedding_length": 64,
        "feed_forward_length": 128,
        "block_count": 2,
        "attention.head_count": 4,
        "context_length": 64,
    }
    shape = value if isinstance(value, tuple) else (80, 64)
    for name, number in (sizes | ({} if isinstance(value, tuple) else {field: value})).items():
        (writer.add_float32 if isinstance(number, float) else writer.add_uint32)(f"llama.{name}", number)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_tensor("token_embd.weight", np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ExportError, match="the file is damaged"):
        open_checkpoint("smollm2-135m", str(tmp_path / "x.gguf"))


def test_a_gguf_gives_hugging_faces_names_and_keys() -> None:
    checkpoint = open_checkpoint("smollm2-135m")
    packaged = catalogue.config("smollm2-135m")
    assert {key: checkpoint.config[key] for key in packaged if key != "rms_norm_eps"} == {
        k: v for k, v in packaged.items() if k != "rms_norm_eps"
    }
    assert checkpoint.weights.get(Q, 576, 576).std() > 0
    assert json.loads(checkpoint.tokenizer() if checkpoint.tokenizer else "")["model"]["type"] == "BPE"
