"""Layers of torch and an artifact are matched by module; a spoiled matrix is named as where parity fell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
import onnx
from onnx import numpy_helper

from gamer.export import cli
from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.parity import layers, measure
from gamer.export.parity.values import Graph, Makers
from gamer.export.recipe import Threshold
from gamer.export.settings import Settings
from gamer.runtime.bundle.manifest import Artifact, Manifest
from tests.export import tiny, tiny_encoders
from tests.export.conftest import Export

BAR = Threshold(0.999)


def _spoil(path: Path, part: str) -> None:
    """Replaces the first matrix whose name has `part` by its negative."""
    model = onnx.load(str(path))
    tensor = next(t for t in model.graph.initializer if part in t.name and len(t.dims) == 2)
    tensor.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, str(path))


def _compared(bundle: Path, settings: Settings, artifact: Artifact) -> layers.Layers:
    item = components.build(settings, artifact.role, "fp32")
    return layers.compare(settings, item, artifact, bundle / artifact.path, BAR)


def _export(
    export: Export, folder: Path, recipe: str, part: str, source: Path, quant: str
) -> tuple[Settings, Manifest]:
    settings = Settings(recipe, quant, sources=((part, str(source)),))
    return settings, export(settings, folder)


def test_the_spoiled_matrix_of_a_text_tower_is_where_parity_fell(export: Export, tmp_path: Path) -> None:
    source = tiny_encoders.bert(tmp_path / "model")
    settings, manifest = _export(export, tmp_path / "out", "sentence", "text", source, "fp32")
    artifact, path = manifest.artifacts[0], tmp_path / "out" / manifest.artifacts[0].path
    whole = _compared(tmp_path / "out", settings, artifact)
    assert {"layers.0.attention.query", "layers.1.down", "layers.1.norm", "embedding"} <= {
        r.name for r in whole.rows
    }
    assert whole.first is None
    assert min(row.cosine for row in whole.rows) > 0.99999
    _spoil(path, "layers.1.down")
    spoiled = _compared(tmp_path / "out", settings, artifact)
    assert spoiled.first is not None
    assert spoiled.most is not None
    assert spoiled.first.name == spoiled.most.name == "layers.1.down"
    assert spoiled.first.operator == "MatMul"
    item = components.build(settings, "text_tower", "fp32")
    with pytest.raises(
        ExportError, match=r"layers\.1\.down \(MatMul, cosine -?[0-9.]+\) is the first layer below"
    ):
        measure.measure(settings, item, artifact, path, BAR)


def test_a_decoder_written_node_by_node_is_matched_too_and_the_command_shows_it(
    export: Export, tmp_path: Path
) -> None:
    source, out = tiny.qwen2(tmp_path / "model"), tmp_path / "out"
    settings, manifest = _export(export, out, "llm", "llm", source, "int4")
    decoder = next(a for a in manifest.artifacts if a.role == "llm_decoder")
    names = {row.name: row for row in _compared(out, settings, decoder).rows}
    assert {"layers.0.qkv", "layers.1.down", "norm", "logits"} <= set(names)
    assert names["layers.0.qkv"].operator == "MatMulNBits"
    done = CliRunner().invoke(cli.verify, [str(out), "--layers", "llm_decoder", "--json"])
    (shown,) = json.loads(done.output)["layers"]
    assert [row["name"] for row in shown["rows"]] == list(names)
    assert shown["most"] in names
    assert "layers.0.gate_up" in CliRunner().invoke(cli.verify, [str(out), "--layers"]).output
    for words, line in (
        ((str(out), "--layers", "image_tower"), "llm_decoder"),
        (("--layers", str(out)), "write BUNDLE first"),
        ((str(out), "--layers", "--hashes-only"), "leave one out"),
    ):
        refused = CliRunner().invoke(cli.verify, words)
        assert refused.exit_code
        assert line in refused.stderr


def test_a_value_that_is_no_number_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    row = layers.Layer("norm", "MatMul", float("nan"), float("inf"), 0.5)
    cli.print_layers((layers.Layers("text_tower", "onnx", "int8", 0.9, (row,)),), True)
    (shown,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["layers"]
    assert shown["rows"] == [
        {"name": "norm", "operator": "MatMul", "cosine": None, "lost": None, "error": 0.5}
    ]


def test_a_core_ml_program_is_matched_by_the_parameters_that_its_operations_take(
    workers_here: None, tmp_path: Path
) -> None:
    pytest.importorskip("coremltools", reason="needs the export extra")
    from gamer.export.bundle import write

    settings = Settings("sentence", "int8", sources=(("text", str(tiny_encoders.bert(tmp_path / "model"))),))
    manifest = write.export(settings, ("coreml",), tmp_path / "out", 1, lambda text, artifact: None)
    rows = {row.name: row for row in _compared(tmp_path / "out", settings, manifest.artifacts[0]).rows}
    assert {f"layers.{n}.{name}" for n in (0, 1) for name in ("up", "down", "attention.query")} <= set(rows)
    assert rows["layers.0.up"].operator == "linear"
    assert 0.99 < rows["layers.1.norm"].cosine < 1


def test_of_a_program_with_functions_the_one_that_takes_a_token_is_matched(
    export: Export, tmp_path: Path
) -> None:
    pytest.importorskip("coremltools", reason="needs the export extra")
    source, out = str(tiny.qwen2(tmp_path / "model")), tmp_path / "out"
    settings = Settings("llm", "int8", sources=(("llm", source),), coreml_cache="state")
    manifest = export(settings, out, ("coreml",))
    decoder = next(a for a in manifest.artifacts if a.role == "llm_decoder")
    rows = {row.name: row for row in _compared(out, settings, decoder).rows}
    assert {f"layers.{n}.{name}" for n in (0, 1) for name in ("qkv", "out", "gate_up", "down")} <= set(rows)
    assert rows["layers.1.down"].operator == "linear"
    assert 0.99 < rows["layers.1.down"].cosine < 1


def test_graphs_for_npus_and_programs_with_channels_first_are_matched_too(
    export: Export, tmp_path: Path
) -> None:
    pytest.importorskip("coremltools", reason="needs the export extra")
    source, out = str(tiny.clip(tmp_path / "model")), tmp_path / "out"
    settings = Settings("towers", "a8w8", sources=(("image", source),), parts=("image",), coreml_layout="ane")
    manifest = export(settings, out, ("onnx", "coreml"))
    kinds = {"onnx": ("Gemm", "LayerNormalization"), "coreml": ("conv", "layer_norm")}
    for artifact in manifest.artifacts:
        rows = {row.name: row for row in _compared(out, settings, artifact).rows}
        for name in ("qkv", "out", "mlp.up", "mlp.down"):
            assert rows[f"encoder.layers.1.{name}"].operator == kinds[artifact.target][0]
        assert rows["post_norm"].operator == kinds[artifact.target][1]
        assert min(row.cosine for row in rows.values()) > 0.99
    artifact = next(a for a in manifest.artifacts if a.target == "onnx")
    path = out / artifact.path
    model = onnx.load(str(path))
    makers = {name: node for node in model.graph.node for name in node.output}
    product = next(n for n in model.graph.node if "layers.1/mlp/down" in n.name and n.op_type == "Gemm")
    name = makers[product.input[1]].input[0]
    codes = next(t for t in model.graph.initializer if t.name == name)
    codes.CopyFrom(numpy_helper.from_array(-np.maximum(numpy_helper.to_array(codes), -127), name))
    onnx.save(model, str(path))
    spoiled = _compared(out, settings, artifact)
    assert spoiled.most is not None
    assert spoiled.most.name == "encoder.layers.1.mlp.down"
    assert spoiled.most.operator == "Gemm"
    assert spoiled.most.cosine < 0


def test_a_value_is_read_as_those_behind_it_get_it() -> None:
    makers: Makers = {
        "x": ("MatMul", ("given", "weight")),
        "codes": ("QuantizeLinear", ("x", "scale")),
        "rounded": ("DequantizeLinear", ("codes", "scale")),
        "y": ("Relu", ("rounded",)),
    }
    graph = Graph(makers, {"product": "x", "act": "y"})
    assert graph.read == {"product": "rounded", "act": "y"}
    assert graph.operator("act") == "Relu"
    assert graph.before("act") == ("product",)


def test_every_output_has_a_figure(export: Export, tmp_path: Path) -> None:
    settings = Settings(
        "towers", "int8", sources=tuple((p, str(tiny.clip(tmp_path / p))) for p in ("image", "text"))
    )
    manifest = export(settings, tmp_path / "out")
    tower = manifest.artifact("image_tower", "onnx").parity
    assert set(tower.outputs) == {"embedding", "patches"}
    assert tower.outputs["embedding"] == tower.minimum
    assert np.isfinite(list(tower.outputs.values())).all()
    assert min(tower.outputs.values()) > 0.9
