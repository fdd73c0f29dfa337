"""The bench of language models: each engine gets the same tokens, the loss is the textbook's, and a missing
peer is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from gamer.bench import llama_cpp, llm, stats
from gamer.bench.retrieval.datasets import DatasetError
from gamer.export.errors import ExportError
from gamer.export.settings import Settings
from gamer.index.records import FloatArray
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.models import Models
from tests.paths import GOLDEN


class Counter:
    """An engine that answers each token with the next number and records what it was given."""

    name, weights, megabytes = "counter", "none", 10.0

    def __init__(self) -> None:
        self.given: list[list[int]] = []

    def prefill(self, ids: Sequence[int]) -> int:
        self.given.append(list(ids))
        return 100

    def step(self, token: int) -> int:
        self.given[-1].append(token)
        return token + 1

    def scores(self, ids: Sequence[int]) -> FloatArray | None:
        return np.zeros((len(ids), 16), np.float32)


def test_every_engine_gets_the_same_tokens() -> None:
    runners = [Counter(), Counter()]
    speeds = llm._speeds(runners, [7, 8, 9], 3, 2, 5.0, lambda text: None, 2)
    assert all(r.given == [[7, 8, 100, 101, 102]] * 3 for r in runners)  # one pass warms up
    assert all(s.perplexity == 16.0 and s.bandwidth_share == round(s.decode_tps / 500, 3) for s in speeds)
    assert [len(s.prefill_samples) for s in speeds] == [2, 2]
    assert all(s.decode_tps > 0 for s in speeds)


def test_the_loss_is_the_negative_logarithm_of_the_softmax() -> None:
    scores = np.log(np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]])) + np.array([[500.0], [-500.0]])
    np.testing.assert_allclose(stats.cross_entropy(scores, np.array([0, 1])), -np.log([0.7, 0.1]))


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
    with pytest.raises(DatasetError, match="no such file"):
        llama_cpp.LlamaRunner(tmp_path / "none.gguf", 1)
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(llama_cpp, "find_spec", lambda name: None)
    with pytest.raises(DatasetError, match="pip install xllamacpp"):
        llama_cpp.LlamaRunner(tmp_path / "some.gguf", 1)


def write_gguf(path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="needs the export extra")
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    kinds = gguf.GGMLQuantizationType
    for name, kind in (("token_embd.weight", kinds.Q8_0), ("blk.0.ffn_up.weight", kinds.Q4_1)):
        values = random.standard_normal((4, 64)).astype(np.float32)
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.add_tensor("output_norm.weight", np.ones(64, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_only_the_layers_get_llama_cpps_fastest_format(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="needs the export extra")
    write_gguf(tmp_path / "q4_1.gguf")
    llama_cpp.write_q4_0(tmp_path / "q4_1.gguf", tmp_path / "q4_0.gguf")
    before, after = (gguf.GGUFReader(tmp_path / name) for name in ("q4_1.gguf", "q4_0.gguf"))
    kinds = {tensor.name: tensor.tensor_type.name for tensor in after.tensors}
    assert kinds == {"token_embd.weight": "Q8_0", "blk.0.ffn_up.weight": "Q4_0", "output_norm.weight": "F32"}
    for old, new in zip(before.tensors, after.tensors, strict=True):
        was, now = (gguf.quants.dequantize(t.data, t.tensor_type) for t in (old, new))
        assert np.abs(was - now).max() <= (0.35 if old.tensor_type.name == "Q4_1" else 0.0)
    assert after.fields["tokenizer.ggml.tokens"].contents() == ["a", "b"]
    assert after.fields["llama.block_count"].contents() == 1


@pytest.mark.slow
def test_llama_cpp_gives_the_losses_of_the_same_weights(bundle: Path) -> None:
    pytest.importorskip("xllamacpp", reason="the peer is not installed")
    models = Models.open(bundle)
    gguf = llm._packaged(models, ())
    assert gguf is not None
    ids = models.llm_tokenizer.encode(llm.prose()).ids[:100]
    peer, ours = llama_cpp.LlamaRunner(gguf, 1), llm.OurRunner(models)
    scores = peer.scores(ids)
    assert [peer.prefill(ids[:9]), peer.step(ids[9])] == scores[8:10].argmax(1).tolist()
    theirs, own = llm._perplexity(peer, ids), llm._perplexity(ours, ids)
    assert theirs is not None
    assert own is not None
    assert abs(theirs / own - 1) < 0.1
    peer.close()
