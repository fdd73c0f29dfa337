"""Checkpoints in 4-bit groups are read as they were written, and their codes go to the writers unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.torch import load_file, save_file
from torch import Tensor

from gamer.export.checkpoints.checkpoint import open_checkpoint
from gamer.export.checkpoints.packed_weights import PackedWeights
from gamer.export.components import components
from gamer.export.errors import ExportError
from gamer.export.quantize import calibrated
from gamer.export.settings import Settings
from tests.export import tiny
from tests.export.conftest import Export

GROUP = 32
Tensors = dict[str, Tensor]
Pack = Callable[[str, NDArray[np.int64], NDArray[np.int64], Tensor], Tensors]


def _words(codes: NDArray[np.int64], order: tuple[int, ...] = tuple(range(8))) -> Tensor:
    """[R, 8 n] in 0..15 → int32 [R, n]; `order`: the column that each nibble holds, the lowest first."""
    eights = codes.reshape(len(codes), -1, 8)[:, :, order]
    words = sum(eights[:, :, n] << (4 * n) for n in range(8))
    return torch.from_numpy(np.asarray(words, np.uint32).view(np.int32).copy())


def _gptq(stem: str, codes: NDArray[np.int64], zeros: NDArray[np.int64], scales: Tensor) -> Tensors:
    return {
        f"{stem}.qweight": _words(codes).T.contiguous(),
        f"{stem}.qzeros": _words(zeros.T) - 0x11111111,
        f"{stem}.scales": scales.T.contiguous(),
        f"{stem}.g_idx": torch.arange(codes.shape[1], dtype=torch.int32)
        // (codes.shape[1] // scales.shape[1]),
    }


def _awq(stem: str, codes: NDArray[np.int64], zeros: NDArray[np.int64], scales: Tensor) -> Tensors:
    order = (0, 2, 4, 6, 1, 3, 5, 7)
    return {
        f"{stem}.qweight": _words(codes.T, order),
        f"{stem}.qzeros": _words(zeros.T, order),
        f"{stem}.scales": scales.T.contiguous(),
    }


def _compressed(stem: str, codes: NDArray[np.int64], zeros: NDArray[np.int64], scales: Tensor) -> Tensors:
    return {
        f"{stem}.weight_packed": _words(codes),
        f"{stem}.weight_zero_point": _words(zeros.T).T.contiguous(),
        f"{stem}.weight_scale": scales,
        f"{stem}.weight_shape": torch.tensor(codes.shape),
    }


LAYOUTS: dict[str, tuple[Pack, dict[str, Any]]] = {
    "gptq": (_gptq, {"quant_method": "gptq", "bits": 4, "group_size": GROUP, "desc_act": False}),
    "awq": (_awq, {"quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "gemm"}),
    "compressed-tensors": (
        _compressed,
        {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "config_groups": {
                "group_0": {"weights": {"num_bits": 4, "group_size": GROUP, "symmetric": False}}
            },
        },
    ),
}


def _packed(folder: Path, layout: str) -> tuple[Path, Tensors]:
    """A small language model in this layout, and its matrices' values."""
    source = tiny.qwen2(folder)
    tensors, values = load_file(source / "model.safetensors"), Tensors()
    pack, quantization = LAYOUTS[layout]
    generator = np.random.default_rng(3)
    for name in [n for n in tensors if n.endswith("_proj.weight")]:
        rows, columns = tensors.pop(name).shape
        codes = generator.integers(0, 16, (rows, columns))
        zeros = generator.integers(0, 16, (rows, columns // GROUP))
        scales = torch.from_numpy(generator.uniform(0.001, 0.01, zeros.shape)).half()
        tensors |= pack(name.removesuffix(".weight"), codes, zeros, scales)
        steps = torch.from_numpy(codes - zeros.repeat(GROUP, 1)).float()
        values[name] = steps * scales.float().repeat_interleave(GROUP, 1)
    save_file(tensors, source / "model.safetensors")
    _configure(source, quantization)
    return source, values


def _configure(source: Path, quantization: object) -> None:
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps({**config, "quantization_config": quantization}))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matrices_have_the_values_that_were_packed(tmp_path: Path, layout: str) -> None:
    source, values = _packed(tmp_path / "model", layout)
    weights = open_checkpoint(None, str(source)).weights
    assert values
    for name, matrix in values.items():
        assert weights.has(name)
        assert torch.equal(weights.get(name, *matrix.shape), matrix), name
    with pytest.raises(ExportError, match=r"has shape \[.*\], the architecture wants \[7, 7\]"):
        weights.get(name, 7, 7)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_graph_holds_the_codes_of_the_checkpoint(export: Export, tmp_path: Path, layout: str) -> None:
    source, _ = _packed(tmp_path / "model", layout)
    settings = Settings("llm", "int4", sources=(("llm", str(source)),))
    manifest = export(settings, tmp_path / "out", ("onnx",))
    item = components.build(settings, "llm_decoder", "int4")
    given = calibrated.codes(settings, item, "onnx", "int4")
    assert {name.split(".", 2)[2] for name in given} == {
        "qkv.weight",
        "out.weight",
        "gate_up.weight",
        "down.weight",
    }
    graph = onnx.load(str(tmp_path / "out" / manifest.artifact("llm_decoder", "onnx").path)).graph
    arrays = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    for name, blocks in given.items():
        packed = arrays[f"{name}_q"][:, : blocks.codes.shape[1]]
        np.testing.assert_array_equal(packed & 15, blocks.codes[..., 0::2])
        np.testing.assert_array_equal(packed >> 4, blocks.codes[..., 1::2])


def test_columns_in_another_order_are_read_and_quantized_anew(tmp_path: Path) -> None:
    source, values = _packed(tmp_path / "model", "gptq")
    tensors = load_file(source / "model.safetensors")
    name, matrix = next(iter(values.items()))
    order = torch.randperm(matrix.shape[1], generator=torch.Generator().manual_seed(1)).int() % (
        matrix.shape[1] // GROUP
    )
    tensors[name.replace(".weight", ".g_idx")] = order
    save_file(tensors, source / "model.safetensors")
    weights = open_checkpoint(None, str(source)).weights
    assert isinstance(weights, PackedWeights)
    read = weights.get(name, *matrix.shape)
    first = torch.nonzero(order == torch.arange(len(order)) // GROUP).flatten()
    assert torch.equal(read[:, first], matrix[:, first])
    assert not torch.equal(read, matrix)
    assert weights.groups(name, GROUP) is None


@pytest.mark.parametrize("layout", LAYOUTS)
def test_groups_are_cut_into_smaller_ones_of_the_same_values(tmp_path: Path, layout: str) -> None:
    source, values = _packed(tmp_path / "model", layout)
    weights = open_checkpoint(None, str(source)).weights
    assert isinstance(weights, PackedWeights)
    name, matrix = next(iter(values.items()))
    groups = weights.groups(name, GROUP // 2)
    assert groups is not None
    steps = groups.codes.astype(np.float32) - groups.zeros[..., None]
    np.testing.assert_array_equal((steps * groups.scales[..., None]).reshape(matrix.shape), matrix.numpy())
    assert weights.groups(name, 2 * GROUP) is None
    assert weights.groups("model.norm.weight", GROUP) is None


@pytest.mark.parametrize(
    "quantization",
    [
        "gptq",
        {"quant_method": "fp8"},
        {"quant_method": "gptq", "bits": 8},
        {"quant_method": "awq", "bits": 4, "version": "gemv"},
        {"quant_method": "compressed-tensors", "format": "int-quantized", "config_groups": {}},
        {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "config_groups": {"a": {}, "b": 3},
        },
        {"bits": 4},
    ],
    ids=str,
)
def test_another_quantization_is_refused_in_one_line(tmp_path: Path, quantization: object) -> None:
    source, _ = _packed(tmp_path / "model", "gptq")
    _configure(source, quantization)
    with pytest.raises(
        ExportError, match=r"^local:model: weights quantized by .* read are gptq, awq"
    ) as raised:
        open_checkpoint(None, str(source))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("end", "broken", "line"),
    [
        (".scales", None, "must be a matrix of scales"),
        (".scales", torch.ones(2, 2), "do not fit each other"),
        (".scales", torch.ones(2, 2, dtype=torch.int32), "must be a matrix of scales"),
        (".qzeros", torch.ones(3, 3, dtype=torch.int32), "do not fit each other"),
        (".qzeros", torch.ones(3, 3), "must be a matrix of int32"),
        (".qweight", torch.ones(5, dtype=torch.int32), "must be a matrix of int32"),
        (".g_idx", torch.full((64,), 99), "do not fit each other"),
        (".g_idx", torch.full((64,), -1), "do not fit each other"),
        (".g_idx", torch.zeros(3), "do not fit each other"),
    ],
    ids=str,
)
def test_a_damaged_matrix_is_refused_in_one_line(
    tmp_path: Path, end: str, broken: Tensor | None, line: str
) -> None:
    source, values = _packed(tmp_path / "model", "gptq")
    tensors = load_file(source / "model.safetensors")
    name, matrix = next(iter(values.items()))
    del tensors[name.replace(".weight", end)]
    if broken is not None:
        tensors[name.replace(".weight", end)] = broken
    save_file(tensors, source / "model.safetensors")
    with pytest.raises(ExportError, match=line) as raised:
        open_checkpoint(None, str(source)).weights.get(name, *matrix.shape)
    assert "\n" not in str(raised.value)
