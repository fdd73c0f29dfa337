"""Sentence encoders that transformers saved, opened by us: the vectors are those of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
transformers = pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.checkpoints.catalogue import SENTENCE_TYPES
from gamer.export.checkpoints.checkpoint import Checkpoint, open_checkpoint
from gamer.export.checkpoints.weights import NoWeights
from gamer.export.components import sentence
from gamer.export.errors import ExportError
from gamer.export.onnx import to_onnx
from gamer.export.settings import recipe_for
from gamer.runtime.bundle.manifest import Language
from tests.export import tiny_encoders

LENGTHS = (1, 5, 13, 40)


def pooled(states: Any, mask: Any, how: str) -> Any:
    """What sentence-transformers does with the states, written plainly: one text at a time."""
    rows = [row[: int(count)] for row, count in zip(states, mask.sum(1), strict=True)]
    made = [row.mean(0) if how == "mean" else row[0 if how == "cls" else -1] for row in rows]
    return torch.nn.functional.normalize(torch.stack(made), dim=-1)


def texts() -> tuple[Any, Any]:
    """Random ids of each of LENGTHS, padded at the right, and their mask."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, tiny_encoders.LEAST_WORDS, (len(LENGTHS), max(LENGTHS)), generator=generator)
    mask = (torch.arange(max(LENGTHS))[None] < torch.tensor(LENGTHS)[:, None]).to(torch.int64)
    return torch.where(mask == 1, ids, 1), mask


def vectors(folder: Path) -> Any:
    return sentence.text_tower(open_checkpoint(None, str(folder)), 64).module(*texts())


def change(file: Path, **values: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | values), encoding="utf-8")


@pytest.mark.parametrize("kind", tiny_encoders.TINY)
def test_the_vectors_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    folder = tiny_encoders.TINY[kind](tmp_path / kind)
    theirs = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids, mask = texts()
    with torch.no_grad():
        states = theirs(input_ids=ids, attention_mask=mask).last_hidden_state
    for how in tiny_encoders.POOLING:
        tiny_encoders.write_pooling(folder, how)
        tower = sentence.text_tower(open_checkpoint(None, str(folder)), 64)
        want = pooled(states, mask, how)
        with torch.no_grad():
            got = tower.module(ids, mask)
            alone = [tower.module(ids[n : n + 1, :k], mask[n : n + 1, :k]) for n, k in enumerate(LENGTHS)]
        assert (got - want).abs().max() < 2e-6
        assert (torch.cat(alone) - want).abs().max() < 2e-6  # padding does not change the vector of a text
        assert (want[0] - want[1]).abs().max() > 1e-2  # and texts have different vectors
        assert how in tower.architecture
        assert tower.trained
        assert tower.outputs[0].shape == ("batch", 32)


@pytest.mark.parametrize(
    ("kind", "how"), [("xlm-roberta", "cls"), ("mpnet", "mean"), ("modernbert", "lasttoken")]
)
def test_onnx_runtime_gives_the_same_vectors_for_any_length_and_batch(
    kind: str, how: str, tmp_path: Path
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    folder = tiny_encoders.TINY[kind](tmp_path / kind)
    tiny_encoders.write_pooling(folder, how)
    tower = sentence.text_tower(open_checkpoint(None, str(folder)), 64)
    to_onnx.write(tower, "fp32", Language(1, 1, 1, 1, 1, 1.0, ()), [], tmp_path / "x.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "x.onnx")
    ids, mask = texts()
    for rows, length in ((slice(0, 4), 40), (slice(2, 3), 13), (slice(0, 1), 1)):
        given = ids[rows, :length], mask[rows, :length]
        names = ("input_ids", "attention_mask")
        (got,) = session.run(None, {n: x.numpy() for n, x in zip(names, given, strict=True)})
        with torch.no_grad():
            assert (torch.from_numpy(got) - tower.module(*given)).abs().max() < 1e-5


@pytest.mark.parametrize("path", ["", "..", "/etc/1_Pooling", "a/1_Pooling"])
def test_a_path_in_modules_json_never_leads_out_of_the_directory(path: str, tmp_path: Path) -> None:
    folder = tiny_encoders.xlm_roberta(tmp_path / "m")
    tiny_encoders.write_pooling(folder, "cls")
    (tmp_path / "config.json").write_text('{"pooling_mode_lasttoken": true}')
    module = {"type": "sentence_transformers.models.Pooling", "path": path}
    (folder / "modules.json").write_text(json.dumps([module]))
    want = "cls" if path.endswith("1_Pooling") else "mean"
    assert open_checkpoint(None, str(folder)).sentence.pooling == want


def test_every_sentence_encoder_is_recognised_by_its_config() -> None:
    assert set(tiny_encoders.TINY) == set(SENTENCE_TYPES)
    assert {recipe_for({"model_type": kind}) for kind in SENTENCE_TYPES} == {"sentence"}
    assert recipe_for({"model_type": "mamba"}) == "llm"


def test_weights_of_a_model_for_masked_tokens_are_found_under_its_prefix(tmp_path: Path) -> None:
    folder = tiny_encoders.xlm_roberta(tmp_path / "m")
    want = vectors(folder)
    base = transformers.AutoModel.from_pretrained(folder)
    head = transformers.XLMRobertaForMaskedLM(base.config)
    head.roberta.load_state_dict(base.state_dict(), strict=False)
    head.save_pretrained(folder)
    assert torch.equal(vectors(folder), want)


@pytest.mark.parametrize("kind", tiny_encoders.TINY)
def test_a_dry_run_builds_a_network_of_the_same_size_without_weights(kind: str, tmp_path: Path) -> None:
    opened = open_checkpoint(None, str(tiny_encoders.TINY[kind](tmp_path / kind)))
    empty = sentence.network(opened.config, NoWeights(), opened.sentence, 64)
    full = sentence.text_tower(opened, 64).module
    assert {n: t.shape for n, t in empty.state_dict().items()} == {
        n: t.shape for n, t in full.state_dict().items()
    }
    assert all(t.is_meta for t in empty.state_dict().values())


def test_an_older_config_of_modernbert_gives_the_same_vectors(tmp_path: Path) -> None:
    folder = tiny_encoders.modernbert(tmp_path / "m")
    want = vectors(folder)
    config = json.loads((folder / "config.json").read_text())
    del config["layer_types"], config["rope_parameters"]
    old = {"global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "local_rope_theta": 10000.0}
    (folder / "config.json").write_text(json.dumps(config | old))
    assert torch.equal(vectors(folder), want)
    change(folder / "config.json", local_rope_theta=None)  # the base of the other layers
    assert not torch.equal(vectors(folder), want)


@pytest.mark.parametrize(
    "wrong",
    [
        {"layer_types": ["full_attention"]},
        {"layer_types": ["chunked_attention"] * 4},
        {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
        {"rope_scaling": {"type": "linear"}},
        {"hidden_activation": "tanhshrink"},
        {"attention_bias": True},  # the checkpoint has none
    ],
    ids=str,
)
def test_a_modernbert_that_is_not_supported_is_refused_in_one_line(
    wrong: dict[str, Any], tmp_path: Path
) -> None:
    folder = tiny_encoders.modernbert(tmp_path / "m")
    change(folder / "config.json", **wrong)
    with pytest.raises(ExportError, match=r"modernbert: |no tensor layers\.0\.attn\.Wqkv\.bias") as caught:
        vectors(folder)
    assert "\n" not in str(caught.value)


def test_the_longest_text_is_the_smallest_of_the_limits(tmp_path: Path) -> None:
    folder = tiny_encoders.xlm_roberta(tmp_path / "x")
    assert sentence.text_tower(open_checkpoint(None, str(folder))).example[0].shape == (1, 64)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 48}')
    assert sentence.text_tower(open_checkpoint(None, str(folder))).example[0].shape == (1, 48)
    assert sentence.text_tower(open_checkpoint(None, str(folder)), 32).example[0].shape == (1, 32)


def test_weights_that_do_not_fit_are_named(tmp_path: Path) -> None:
    folder = tiny_encoders.mpnet(tmp_path / "m")
    change(folder / "config.json", intermediate_size=48)
    with pytest.raises(ExportError, match=r"local:m: encoder\.layer\.0\.\S+ has shape .*disagree"):
        sentence.text_tower(open_checkpoint(None, str(folder)))
    change(folder / "config.json", intermediate_size=64, model_type="xlm-roberta", type_vocab_size=1)
    with pytest.raises(ExportError, match=r"no tensor embeddings\.token_type_embeddings\.weight"):
        sentence.text_tower(open_checkpoint(None, str(folder)))


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}', "1_Pooling/config.json: pooling max"),
        (
            "1_Pooling/config.json",
            '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}',
            "cls_token with mean_tokens is not supported",
        ),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense"}]', "module of type 'Dense'"),
        ("modules.json", "{}", r"modules\.json: must be a list, not an object"),
        ("modules.json", "[", r"modules\.json: must be JSON"),
        (
            "sentence_bert_config.json",
            '{"max_seq_length": "long"}',
            "max_seq_length: .* from 0, not 'long'",
        ),
    ],
)
def test_modules_that_are_not_supported_are_refused_in_one_line(
    file: str, text: str, said: str, tmp_path: Path
) -> None:
    folder = tiny_encoders.xlm_roberta(tmp_path / "m")
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(ExportError, match=said) as caught:
        open_checkpoint(None, str(folder))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"num_hidden_layers": 10**7},
        {"num_hidden_layers": None},
        {"num_hidden_layers": "two"},
        {"num_attention_heads": 0},
        {"num_attention_heads": 3},
        {"vocab_size": 10**13},
        {"layer_norm_eps": float("nan")},
        {"hidden_act": "tanhshrink"},
        {"position_embedding_type": "relative_key"},
    ],
    ids=str,
)
def test_a_sentence_encoder_of_impossible_sizes_is_refused_before_it_is_built(wrong: dict[str, Any]) -> None:
    class NotRead(NoWeights):
        def get(self, name: str, *shape: int) -> Any:
            raise AssertionError("the network was built")

    sizes = {
        "vocab_size": 100,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 16,
        "layer_norm_eps": 1e-12,
    }
    with pytest.raises(ExportError, match="bert: ") as caught:
        sentence.text_tower(Checkpoint({"model_type": "bert"} | sizes | wrong, NotRead(), None, None, ""))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"pad_token_id": -1}, {"max_position_embeddings": 2}], ids=str)
def test_positions_that_leave_no_room_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    folder = tiny_encoders.xlm_roberta(tmp_path / "m")
    change(folder / "config.json", **wrong)
    with pytest.raises(ExportError, match="xlm-roberta: "):
        sentence.text_tower(open_checkpoint(None, str(folder)))


@pytest.mark.parametrize("kind", ["bert", "mpnet"])
def test_an_adapter_of_zeros_changes_nothing_and_another_one_all_but_the_memories(
    kind: str, tmp_path: Path
) -> None:
    folder = tiny_encoders.TINY[kind](tmp_path / kind)
    plain = sentence.text_tower(open_checkpoint(None, str(folder)), 64)
    width = plain.outputs[0].shape[-1]
    layers = len(plain.module.layers)
    shape = (layers, 2, 3, int(width))
    tower = sentence.text_tower(open_checkpoint(None, str(folder)), 64, shape)
    assert [spec.name for spec in tower.inputs] == ["input_ids", "attention_mask", "adapter"]
    ids, mask = texts()
    other = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        want = plain.module(ids, mask)
        assert torch.equal(tower.module(ids, mask, torch.zeros(shape)), want)
        changed = tower.module(ids, mask, other)
    assert not torch.allclose(changed, want, atol=1e-3)

    path = tmp_path / "tower.onnx"
    to_onnx.write(tower, "int8", Language(1, 1, 1, 1, 1, 1.0, ()), [], path)
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    row = {"input_ids": ids[3:, :40].numpy(), "attention_mask": mask[3:, :40].numpy()}
    adapted = session.run(None, row | {"adapter": other.numpy()})[0]
    assert float((adapted * changed[3:].numpy()).sum()) > 0.97
