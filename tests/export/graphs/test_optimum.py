"""Directories in optimum's layout as sources: made here by torch.onnx, and optimum's own, where they are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
import onnx
import torch
import transformers

from gamer.export.budget.choose import choose
from gamer.export.bundle import write
from gamer.export.bundle.limits import Limits
from gamer.export.components import components, fixtures
from gamer.export.errors import ExportError
from gamer.export.parity.reference import cosines
from gamer.export.planning import limits
from gamer.export.recipe import Threshold
from gamer.export.settings import Settings
from gamer.runtime.models.models import Models
from tests.export import tiny, tiny_encoders
from tests.export.conftest import Export
from tests.paths import ROOT

TOKENS, TEXT = {0: "batch_size", 1: "sequence_length"}, ["input_ids", "attention_mask"]
# Where `make optimum-peer` and the study of exports leave what optimum wrote.
WRITTEN = Path(os.environ.get("GAMER_OPTIMUM", ROOT / ".optimum")) / "exports"


class _Named(torch.nn.Module):  # type: ignore[misc]
    """A model of Hugging Face that takes its inputs by position and gives the outputs of these names."""

    def __init__(self, model: Any, inputs: list[str], outputs: list[str]) -> None:
        super().__init__()
        self.model, self.inputs, self.outputs = model.eval(), inputs, outputs

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        out = self.model(**dict(zip(self.inputs, values, strict=True)))
        return tuple(out[name] for name in self.outputs)


class _Half(torch.nn.Module):  # type: ignore[misc]
    """One tower of CLIP with its projection."""

    def __init__(self, tower: Any, projection: Any) -> None:
        super().__init__()
        self.tower, self.projection = tower, projection

    def forward(self, **inputs: torch.Tensor) -> dict[str, torch.Tensor]:
        out = self.tower(**inputs)
        return {"embeds": self.projection(out.pooler_output), "last_hidden_state": out.last_hidden_state}


def _graph(
    model: Any,
    path: Path,
    example: tuple[torch.Tensor, ...],
    inputs: list[str],
    outputs: list[str],
    before: str = "",
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    names = [f"{before}{name}" if name == "embeds" else name for name in outputs]
    axes = {name: TOKENS if name in (*TEXT, "token_type_ids") else {0: "batch_size"} for name in inputs}
    with torch.no_grad():
        torch.onnx.export(
            _Named(model, inputs, outputs),
            example,
            str(path),
            dynamo=False,
            opset_version=18,
            input_names=inputs,
            output_names=names,
            dynamic_axes=axes | {name: {0: "batch_size"} for name in names},
        )


def bert(folder: Path, source: Path) -> Path:
    """model.onnx with the tokens' states, beside config.json and tokenizer.json."""
    ids = torch.ones(2, 7, dtype=torch.int64)
    inputs = [*TEXT, "token_type_ids"]
    model = transformers.BertModel.from_pretrained(source, attn_implementation="eager")
    _graph(model, folder / "model.onnx", (ids, ids, ids * 0), inputs, ["last_hidden_state"])
    return _beside(folder, source)


def clip(folder: Path, source: Path) -> Path:
    """onnx/vision_model.onnx and onnx/text_model.onnx, as on model hubs."""
    ids, pixels = torch.full((2, 9), 257), torch.zeros(2, 3, 32, 32)
    model = transformers.CLIPModel.from_pretrained(source, attn_implementation="eager")
    text, image = (
        _Half(model.text_model, model.text_projection),
        _Half(model.vision_model, model.visual_projection),
    )
    inner = folder / "onnx"
    both = ["embeds", "last_hidden_state"]
    _graph(text, inner / "text_model.onnx", (ids, torch.ones_like(ids)), TEXT, both, "text_")
    _graph(image, inner / "vision_model.onnx", (pixels,), ["pixel_values"], both, "image_")
    return _beside(folder, source)


def _beside(folder: Path, source: Path) -> Path:
    for name in ("config.json", "tokenizer.json", "preprocessor_config.json"):
        if (source / name).is_file():
            shutil.copy2(source / name, folder / name)
    return folder


def _worst(settings: Settings, plain: Settings, role: str) -> list[float]:
    """The worst cosine of each output of a component with the one that is made of the tensors."""
    ours, theirs = (components.build(s, role, "fp32") for s in (plain, settings))
    rows = []
    for sample in fixtures.samples(plain, ours, False):
        pairs = zip(*(components.reference(item.module, sample) for item in (theirs, ours)), strict=True)
        rows.append([float(cosines(a, b).min()) for a, b in pairs])
    return [min(column) for column in zip(*rows, strict=True)]


def _settings(folder: Path, *parts: str, quant: str = "fp32") -> Settings:
    recipe = "towers" if "image" in parts else "sentence"
    return Settings(recipe, quant, sources=tuple((part, str(folder)) for part in parts))


@pytest.mark.parametrize("how", ["mean", "cls", "lasttoken"])
def test_states_of_tokens_are_pooled_as_torch_pools_them(how: str, tmp_path: Path) -> None:
    source = tiny_encoders.bert(tmp_path / "bert")
    tiny_encoders.write_pooling(source, how)
    graph = bert(tmp_path / "onnx", source)
    shutil.copytree(source / "1_Pooling", graph / "1_Pooling")
    assert _worst(_settings(graph, "text"), _settings(source, "text"), "text_tower")[0] > 0.999999


def test_towers_of_two_graphs_make_a_bundle_for_onnx_alone_that_searches_use(
    export: Export, tmp_path: Path
) -> None:
    source = tiny.clip(tmp_path / "clip")
    graph = _settings(clip(tmp_path / "hub", source), "image", "text", quant="int8")
    plain = _settings(source, "image", "text")
    for role in ("image_tower", "text_tower"):
        assert min(_worst(graph, plain, role)) > 0.99999
    (line, _) = limits.check(graph, ("onnx", "coreml"))
    assert line.startswith("text: local:hub is ONNX, by optimum: coreml left out")
    manifest = export(graph, tmp_path / "out", ("onnx", "coreml", "executorch"))
    assert {a.target for a in manifest.artifacts} == {"onnx"}
    assert all("ONNX, by optimum" in c.architecture and c.source == "local:hub" for c in manifest.components)
    assert all(
        a.parity.status == "passed" and a.parity.minimum < 1 for a in manifest.artifacts if a.parity.minimum
    )
    vector = Models.open(tmp_path / "out").text.encode(["a red boat"])[0]
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_variant_is_taken_as_it_is_and_refused_if_it_is_not_the_fp32_graph(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bert(tmp_path / "onnx", tiny_encoders.bert(tmp_path / "bert"))
    shutil.copy2(folder / "model.onnx", folder / "model_quantized.onnx")
    manifest = export(_settings(folder, "text", quant="int8"), tmp_path / "out")
    assert manifest.artifacts[0].parity.minimum == 1.0  # quantized here, it would be less
    model = onnx.load(str(folder / "model.onnx"))
    for tensor in model.graph.initializer:
        if len(tensor.dims) == 2:
            tensor.CopyFrom(onnx.numpy_helper.from_array(-onnx.numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, str(folder / "model_quantized.onnx"))
    with pytest.raises(ExportError, match="try moving its quantized graph away"):
        export(_settings(folder, "text", quant="int8"), tmp_path / "other")


@pytest.mark.parametrize("quant", ["fp16", "int8", "int4"])
def test_a_graph_is_quantized_here(quant: str, export: Export, tmp_path: Path) -> None:
    source = tiny.clip(tmp_path / "clip")
    folder = clip(tmp_path / "hub", source)
    artifacts = export(_settings(folder, "image", "text", quant=quant), tmp_path / "out").artifacts
    for artifact, name in zip(artifacts, ("vision_model", "text_model"), strict=True):
        assert artifact.bytes < (folder / "onnx" / f"{name}.onnx").stat().st_size
        assert (artifact.parity.minimum or 0) > 0.95


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (
            lambda f: (f / "model.onnx").rename(f / "model_quantized.onnx"),
            r"no text_model\.onnx or model\.onnx in fp32",
        ),
        (lambda f: (f / "config.json").write_text('{"model_type": "qwen2"}'), "config"),
    ],
)
def test_a_directory_that_is_not_whole_is_refused_in_a_line(
    change: Callable[[Path], object], match: str, tmp_path: Path
) -> None:
    folder = bert(tmp_path / "onnx", tiny_encoders.bert(tmp_path / "bert"))
    change(folder)
    with pytest.raises(ExportError, match=match) as caught:
        components.build(_settings(folder, "text"), "text_tower", "fp32")
    assert "\n" not in str(caught.value)


def test_a_language_model_and_other_targets_alone_are_refused(tmp_path: Path) -> None:
    folder = bert(tmp_path / "onnx", tiny_encoders.bert(tmp_path / "bert"))
    with pytest.raises(ExportError, match="add onnx to --targets"):
        limits.check(_settings(folder, "text"), ("coreml",))
    with pytest.raises(ExportError, match="--opset: not with local:onnx"):
        limits.check(replace(_settings(folder, "text"), opset=21), ("onnx",))
    with pytest.raises(ExportError, match="--max-size, --min-parity: not with local:onnx"):
        choose(_settings(folder, "text"), ("onnx",), Limits(parity=Threshold(0.9)), 1, print)
    shutil.copy2(tiny.qwen2(tmp_path / "qwen2") / "config.json", folder)
    with pytest.raises(ExportError, match="give its safetensors"):
        limits.check(Settings("llm", "int8", sources=(("llm", str(folder)),)), ("onnx",))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parts"), [("minilm-l6", ("text",)), ("clip-vit-b32", ("image", "text"))])
def test_what_optimum_itself_wrote_gives_the_vectors_of_torch(name: str, parts: tuple[str, ...]) -> None:
    folder, source = WRITTEN / name, WRITTEN.parent / "checkpoints" / name
    if not (folder / "model.onnx").is_file() or not (source / "config.json").is_file():
        pytest.skip(
            f"{folder}: not there: make optimum-peer, then gamer bench study exports --set peer=optimum"
        )
    settings = _settings(folder, *parts)
    for part in parts:
        assert min(_worst(settings, _settings(source, *parts), f"{part}_tower")) > 0.9999
    assert {t.target for t in write.tasks(settings, ("onnx", "coreml"), "")} == {"onnx"}
