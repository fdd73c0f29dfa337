"""GPTQ keeps products on its inputs better than rounding, on each target's grids; writers take its codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
import onnx
import torch
from onnx import numpy_helper

from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.planning import limits
from gamer.export.quantize import calibrated, gptq
from gamer.export.quantize.block_codes import Blocks4, affine_blocks
from gamer.export.recipe import TARGETS, Threshold
from gamer.export.settings import Settings
from tests.export import tiny, tiny_encoders
from tests.export.conftest import Export

GRIDS = [
    gptq.Grid("affine"),
    gptq.Grid("integer", torch.float16),
    gptq.Grid("symmetric", torch.bfloat16),
]


def _matrix_and_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    mixed = torch.randn(64, 64, generator=generator) * torch.logspace(-1, 1, 64)
    return torch.randn(24, 64, generator=generator), torch.randn(512, 64, generator=generator) @ mixed


def _error(blocks: Blocks4, matrix: torch.Tensor, inputs: torch.Tensor) -> float:
    return float(((inputs @ (torch.from_numpy(blocks.dequantize()) - matrix).T) ** 2).mean())


@pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: grid.kind)
def test_products_on_the_inputs_are_kept_better_than_by_rounding(grid: gptq.Grid) -> None:
    matrix, inputs = _matrix_and_inputs()
    moments = inputs.T @ inputs
    plain = gptq.nearest(matrix, torch.ones(64), grid, 16)
    weighted = gptq.nearest(matrix, moments.diagonal(), grid, 16)
    calibrated_blocks = gptq.quantize(matrix, moments, grid, 16)
    rounded, searched, kept = (_error(b, matrix, inputs) for b in (plain, weighted, calibrated_blocks))
    assert kept < 0.5 * searched
    assert searched < rounded
    scales = torch.from_numpy(calibrated_blocks.scales)
    assert torch.equal(scales, scales.to(grid.scales).float())
    assert calibrated_blocks.codes.max() <= 15
    if grid.kind == "symmetric":
        assert (calibrated_blocks.zeros == 8).all()
        assert (calibrated_blocks.rest == 0).all()
    if grid.kind == "integer":
        assert (calibrated_blocks.rest == 0).all()


def test_a_matrix_that_lies_on_a_grid_stays_as_it_is() -> None:
    matrix, inputs = _matrix_and_inputs()
    on_grid = affine_blocks(matrix.numpy(), 16).dequantize()
    again = gptq.quantize(torch.from_numpy(on_grid), inputs.T @ inputs, gptq.Grid("affine"), 16)
    np.testing.assert_allclose(again.dequantize(), on_grid, atol=1e-5)


def test_inputs_that_are_never_used_do_no_harm() -> None:
    matrix, inputs = _matrix_and_inputs()
    inputs[:, 3:20] = 0
    blocks = gptq.quantize(matrix, inputs.T @ inputs, gptq.Grid("integer"), 16)
    assert np.abs(blocks.dequantize() - matrix.numpy()).max() < float(matrix.abs().max()) / 2
    nothing = gptq.quantize(matrix, torch.zeros(64, 64), gptq.Grid("integer"), 16)
    assert np.isfinite(nothing.dequantize()).all()


def test_grids_and_sizes_that_do_not_fit_are_refused() -> None:
    matrix, _ = _matrix_and_inputs()
    with pytest.raises(ValueError, match="64 columns in blocks of 48"):
        gptq.nearest(matrix, torch.ones(64), GRIDS[0], 48)
    with pytest.raises(ValueError, match="grid 'cubic': choose one of: affine, integer, symmetric"):
        gptq.Grid("cubic")


def _calibrated(settings: Settings, role: str, target: str) -> tuple[dict[str, Blocks4], torch.nn.Module]:
    quant = settings.quant_of(role, target)
    item = components.build(settings, role, quant)
    return calibrated.codes(settings, item, target, quant), item.module


def test_a_text_encoder_stays_in_8_bits(tmp_path: Path) -> None:
    source = tiny_encoders.bert(tmp_path / "model")
    settings = Settings("sentence", "gptq", sources=(("text", str(source)),))
    assert {settings.quant_of("text_tower", target) for target in TARGETS} == {"int8"}


def test_the_graph_holds_the_codes_and_a_head_in_4_bits_is_rounded(export: Export, tmp_path: Path) -> None:
    source, bars = tiny.qwen2(tmp_path / "model"), (("llm_decoder", Threshold(0.5, 0.0)),)
    settings = Settings("llm", "gptq", sources=(("llm", str(source)),), keep=(("head", "int4"),), bars=bars)
    manifest = export(settings, tmp_path / "out", ("onnx",))
    given, module = _calibrated(settings, "llm_decoder", "onnx")
    assert given
    assert "head.weight" not in given
    name, blocks = next(iter(given.items()))
    np.testing.assert_array_equal(module.get_parameter(name).numpy(), blocks.dequantize())
    graph = onnx.load(str(tmp_path / "out" / manifest.artifact("llm_decoder", "onnx").path)).graph
    arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    packed = arrays[f"{name}_q"][:, : blocks.codes.shape[1]]  # behind them stand what integer zeros leave
    np.testing.assert_array_equal(packed & 15, blocks.codes[..., 0::2])
    np.testing.assert_array_equal(packed >> 4, blocks.codes[..., 1::2])
    assert "head.weight_q" in arrays


@pytest.mark.parametrize("target", ["onnx", "executorch", "coreml"])
def test_decoders_are_calibrated_for_every_target(export: Export, tmp_path: Path, target: str) -> None:
    source = tiny.qwen2(tmp_path / "model")
    bars = (("llm_decoder", Threshold(0.9)),)
    settings = Settings("llm", "gptq", sources=(("llm", str(source)),), bars=bars)
    manifest = export(settings, tmp_path / "out", (target,))
    decoder = manifest.artifact("llm_decoder", target)
    assert decoder.quant == ("8da4w" if target == "executorch" else "int4")
    given, _ = _calibrated(settings, "llm_decoder", target)
    assert given
    assert "head.weight" not in given
    assert decoder.placement is not None
    kinds = {o.kernel for o in decoder.placement.operations}
    assert {"onnx": "quantized", "executorch": "qbint4", "coreml": "uint4 weights"}[target] in kinds


def test_of_bits_by_matrix_those_in_4_bits_are_calibrated(tmp_path: Path) -> None:
    source, keep = tiny.qwen2(tmp_path / "model"), (("qkv", "int4/32"), ("", "int8"))
    settings = Settings("llm", "gptq", sources=(("llm", str(source)),), keep=keep)
    given, _ = _calibrated(settings, "llm_decoder", "onnx")
    assert {name.partition("layers.")[2][1:] for name in given} == {".qkv.weight"}


def test_an_encoder_decoder_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    settings = Settings("llm", "gptq", sources=(("llm", str(tiny.t5(tmp_path / "model"))),))
    with pytest.raises(ExportError, match=r"^--quant gptq is for decoder-only language models"):
        limits.check(settings, ("onnx",))


def test_without_gptq_nothing_is_calibrated(tmp_path: Path) -> None:
    source = tiny.qwen2(tmp_path / "model")
    assert (
        _calibrated(Settings("llm", "int4", sources=(("llm", str(source)),)), "llm_decoder", "onnx")[0] == {}
    )
