"""--kv-cache fp16, int8: half or a quarter of the cache, the same perplexity, one reading of a text."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")

from gamer.bench import llm as bench
from gamer.bench.stats import cross_entropy
from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.onnx import small_cache
from gamer.export.planning import limits
from gamer.export.quantize import cache_scales
from gamer.export.recipe import Threshold
from gamer.export.settings import Settings
from gamer.index.records import FloatArray
from gamer.runtime.backends import open_session
from gamer.runtime.bundle.manifest import Manifest
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.decoder import open_decoder
from gamer.runtime.models.language.kv_cache import cache_type
from gamer.runtime.models.language.llm import Request
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export


@pytest.mark.parametrize("kind", ["fp16", "int8"])
@pytest.mark.parametrize("family", ["qwen2", "gemma3", "gpt2"])
def test_a_bundle_with_a_small_cache_passes_parity_and_answers(
    export: Export, tmp_path: Path, family: str, kind: str
) -> None:
    source = tiny.TINY[family](tmp_path / family)
    settings = Settings("llm", "int8", sources=(("llm", str(source)),), kv_cache=kind)
    manifest = export(settings, tmp_path / "out")
    artifact = manifest.artifact("llm_decoder", "onnx")
    held = {"fp16": "float16", "int8": "int8"}[kind]
    assert cache_type(artifact) == held
    assert manifest.settings is not None
    assert manifest.settings["kv_cache"] == kind
    assert artifact.parity.minimum is not None
    assert artifact.parity.minimum > 0.99
    assert artifact.parity.outputs is not None
    assert ("keys" in artifact.parity.outputs) == (kind == "fp16")
    assert kind == "int8" or artifact.parity.outputs["keys"] > 0.99
    model = Models.open(tmp_path / "out", threads=1).language_model
    plain = model.generate(Request((5, 6, 7, 8), 6, plain=True)).ids
    assert model.generate(Request((5, 6, 7, 8), 6)).ids == plain
    for file in (tmp_path / "out" / "prefixes").glob("*.npy"):
        assert np.load(file).dtype == held


@pytest.fixture(scope="module")
def coded(
    shared_export: Export, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Manifest]]:
    """A family's bundle with an 8-bit cache for ONNX and for ExecuTorch."""

    @cache
    def make(family: str) -> tuple[Path, Manifest]:
        folder = tmp_path_factory.mktemp(family)
        source = tiny.TINY[family](folder / family)
        settings = Settings("llm", "fp32", sources=(("llm", str(source)),), kv_cache="int8")
        if family != "qwen2":
            # Random weights' likeliest tokens are near ties: with codes fewer are equal than fp32 wants.
            settings = replace(settings, bars=(("llm_decoder", Threshold(0.99, 0.95)),))
        return folder / "out", shared_export(settings, folder / "out", ("onnx", "executorch"))

    return make


@pytest.mark.parametrize("family", ["qwen2", "gemma3", "gpt2"])
def test_executorch_keeps_codes_by_the_same_scales(
    coded: Callable[[str], tuple[Path, Manifest]], family: str
) -> None:
    """What the two engines keep in the first layer differs by a code where they round otherwise; behind it
    more, because ExecuTorch's attention reads the token itself as it was before it is rounded."""
    out, manifest = coded(family)
    artifact = manifest.artifact("llm_decoder", "executorch")
    assert artifact.parity.minimum is not None
    assert artifact.parity.minimum > 0.99
    assert {t.dtype for t in artifact.inputs if t.name.startswith("past_")} == {"int8"}
    assert {t.dtype for t in artifact.outputs} == {"float32", "int8"}
    kept = []
    for backend in ("onnx", "executorch"):
        model = Models.open(out, backend=backend, threads=1).language_model
        model.decoder.forward(model.embed(tuple(range(5, 25))))
        kept.append(model.decoder.keep().astype(np.int32))
    apart = np.abs(kept[0] - kept[1])
    assert np.abs(kept[0]).max() > 100
    assert apart[0].max() <= 1
    assert apart.mean() < 1


@pytest.mark.parametrize("target", ["onnx", "executorch"])
def test_a_kept_cache_is_restored_and_one_of_another_type_is_refused(
    coded: Callable[[str], tuple[Path, Manifest]], target: str
) -> None:
    model = Models.open(coded("qwen2")[0], backend=target, threads=1).language_model
    rows = model.embed((5, 6, 7, 8, 9))
    whole = model.decoder.forward(rows)[0].copy()
    kept = model.decoder.keep()
    model.decoder.reset()
    model.decoder.restore(kept[..., :4, :])
    assert np.allclose(model.decoder.forward(rows[4:])[0], whole, atol=1e-5)
    with pytest.raises(RuntimeFailure, match="does not fit the decoder"):
        model.decoder.restore(kept.astype(np.float32))


def loss(models: Models, decoder: Any, passage: list[int]) -> float:
    decoder.reset()
    logits: FloatArray = decoder.rows(models.language_model.embed(passage), None, len(passage))
    return float(cross_entropy(logits[:-1].astype(np.float64), np.array(passage[1:])).mean())


@pytest.fixture(scope="module")
def measured(bundle: Path) -> tuple[Models, list[tuple[list[int], float]]]:
    """Pocket's models, and two passages with their losses: of one, a small cache's differs by 0.3 % between
    exports that round otherwise.
    """
    models = Models.open(bundle, threads=1)
    ids = models.llm_tokenizer.encode(bench.prose()).ids
    slots = models.manifest.decoder().max_seq
    decoder = models.language_model.decoder
    return models, [(part, loss(models, decoder, part)) for part in (ids[:slots], ids[-slots:])]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "most"), [("fp16", 0.003), ("int8", 0.01)])
def test_perplexity_with_pocket_s_model_stays_as_it_was(
    bundle: Path,
    measured: tuple[Models, list[tuple[list[int], float]]],
    tmp_path: Path,
    kind: str,
    most: float,
) -> None:
    models, passages = measured
    artifact = models.manifest.artifact("llm_decoder", "onnx")
    settings = Settings("pocket", parts=("llm",), kv_cache=kind)
    path = tmp_path / "llm_decoder.onnx"
    shutil.copyfile(bundle / artifact.path, path)
    scales = cache_scales.scales(settings, components.build(settings, "llm_decoder", "fp32"), "onnx")
    inputs, outputs = small_cache.write(path, artifact.inputs, artifact.outputs, scales)
    small = replace(artifact, inputs=inputs, outputs=outputs)
    rounded = open_decoder(open_session("onnx", path, small, threads=1), models.manifest.decoder())
    lost = [loss(models, rounded, part) - exact for part, exact in passages]
    assert abs(float(np.mean(lost))) < most
    assert all(lost)


def test_without_a_decoder_for_onnx_an_8_bit_cache_is_refused(tmp_path: Path) -> None:
    source = tiny.TINY["qwen2"](tmp_path / "qwen2")
    settings = Settings("llm", "fp32", sources=(("llm", str(source)),), kv_cache="int8")
    with pytest.raises(ExportError, match="--kv-cache int8 is for a language model as ONNX"):
        limits.check(settings, ("coreml",))
    half = replace(settings, kv_cache="fp16")
    with pytest.raises(ExportError, match="--kv-cache fp16 is for a language model as ONNX"):
        limits.check(half, ("executorch",))
    with pytest.raises(ExportError, match="choose one of: fp32, fp16, int8"):
        replace(settings, kv_cache="int3")
