"""Towers through ONNX Runtime in every quantization, compared with the torch module: cosine, bytes,
operators, mixtures, any batch, unsupported requests.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
onnx = pytest.importorskip("onnx")
import onnxruntime as ort
from numpy.typing import NDArray
from torch import nn

from gamer.export.checkpoints.preprocessing import preprocessing
from gamer.export.checkpoints.weights import RandomWeights
from gamer.export.components.export_module import ExportModule
from gamer.export.components.photographs import PHOTOS, photo_path
from gamer.export.components.towers import image_tower, text_tower
from gamer.export.errors import ExportError
from gamer.export.onnx.fusion import fuse_attention
from gamer.export.onnx.to_onnx import write
from gamer.export.parity.measure import cosines
from gamer.export.target_options import TargetOptions
from gamer.index import load_pixels
from gamer.runtime.backends.onnx_backend import session_options
from gamer.runtime.bundle.manifest import Language, Preprocessing, TensorSpec
from gamer.runtime.models.image import prepare

VISION = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "image_size": 48,
    "patch_size": 16,
}
TEXT = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 500,
}
CLIP: dict[str, Any] = {
    "model_type": "clip",
    "projection_dim": 64,
    "vision_config": VISION,
    "text_config": {**TEXT, "max_position_embeddings": 20, "eos_token_id": 499},
}
SIGLIP: dict[str, Any] = {
    "model_type": "siglip",
    "vision_config": VISION,
    "text_config": {**TEXT, "max_position_embeddings": 20},
}
NO_LANGUAGE = Language(1, 1, 1, 1, 1, 1.0, ())
TOWERS = [(CLIP, "image"), (CLIP, "text"), (SIGLIP, "image"), (SIGLIP, "text")]
NAMES = ["clip-image", "clip-text", "siglip-image", "siglip-text"]
# Worst cosine of an embedding, and most bytes of the fp32 file's. The towers are narrow and random: trained
# wide ones lose less.
LIMITS = {"fp32": (0.999999, 1.0), "fp16": (0.9999, 0.56), "int8": (0.998, 0.40), "int4": (0.95, 0.34)}


def tower(config: dict[str, Any], kind: str) -> ExportModule:
    return (image_tower if kind == "image" else text_tower)(config, RandomWeights(5))


def inputs(item: ExportModule, rows: int) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(6)
    if item.role == "image_tower":
        return {"pixels": rng.integers(0, 256, (rows, 48, 48, 3)).astype(np.float32)}
    ids, mask = rng.integers(3, 499, (rows, 20)), np.ones((rows, 20), np.int64)
    for row in range(rows):
        ids[row, 9 + row :] = 499
        mask[row, 10 + row :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def run(path: Path, given: dict[str, NDArray[Any]], plain: bool = False) -> list[NDArray[np.float32]]:
    """With the runtime's own options, or ONNX Runtime's, whose byte products saturate on some processors."""
    file = path / "model.onnx" if path.is_dir() else path
    options = ort.SessionOptions() if plain else session_options(1)
    return list(ort.InferenceSession(str(file), options, providers=["CPUExecutionProvider"]).run(None, given))


def reference(item: ExportModule, given: dict[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
    with torch.no_grad():
        out = item.module(*(torch.from_numpy(x) for x in given.values()))
    return [x.numpy() for x in (out if isinstance(out, tuple) else (out,))]


def operators(path: Path) -> Counter[str]:
    return Counter(node.op_type for node in onnx.load(str(path)).graph.node)


@pytest.mark.parametrize("quant", LIMITS)
@pytest.mark.parametrize(("config", "kind"), TOWERS, ids=NAMES)
def test_a_tower_in_every_quantization_stays_close_to_torch_and_within_its_size(
    config: dict[str, Any], kind: str, quant: str, tmp_path: Path
) -> None:
    item, path = tower(config, kind), tmp_path / "tower.onnx"
    specs = write(item, quant, NO_LANGUAGE, [], path)
    assert specs == (item.inputs, item.outputs)
    assert [p.name for p in tmp_path.iterdir()] == ["tower.onnx"]
    onnx.checker.check_model(str(path))
    cosine, share = LIMITS[quant]
    for rows in (1, 3):
        given = inputs(item, rows)
        for spec, got, want in zip(item.outputs, run(path, given), reference(item, given), strict=True):
            assert got.shape == want.shape
            assert got.dtype == spec.dtype
            assert cosines(got, want).min() >= cosine, spec.name
    # A share of the weights' bytes: the graph itself is a third of so small a file.
    weights = sum(p.numel() * 4 for p in item.module.parameters())
    assert path.stat().st_size <= share * weights + 60_000
    assert operators(path)["MultiHeadAttention"] == (3 if kind == "image" else 2) + (
        config is SIGLIP and kind == "image"
    )
    assert operators(path)["Softmax"] == 0


@pytest.mark.parametrize(("quant", "counts"), [("int8", (3 * 4 + 1, 0, 1)), ("int4", (1, 3 * 4, 1))])
def test_every_matrix_but_the_first_is_quantized_and_the_last_never_below_8_bits(
    quant: str, counts: tuple[int, int, int], tmp_path: Path
) -> None:
    item = tower(CLIP, "image")
    write(item, quant, NO_LANGUAGE, [], tmp_path / "tower.onnx")
    by_operator = operators(tmp_path / "tower.onnx")
    assert (by_operator["MatMulInteger"], by_operator["MatMulNBits"], by_operator["MatMul"]) == counts


def test_keep_rules_choose_the_quantization_of_each_matrix(tmp_path: Path) -> None:
    item, path = tower(CLIP, "text"), tmp_path / "tower.onnx"
    write(
        item,
        "int4",
        NO_LANGUAGE,
        [],
        path,
        TargetOptions(
            keep=(("project", "int8"), ("mlp", "fp16"), ("embed", "fp32"), ("qkv", "fp32")), group=64
        ),
    )
    by_operator = operators(path)
    assert (by_operator["MatMulInteger"], by_operator["MatMulNBits"], by_operator["MatMul"]) == (1, 2, 6)
    given = inputs(item, 2)
    assert cosines(run(path, given)[0], reference(item, given)[0]).min() > 0.98
    sizes = {t.name: (t.data_type, list(t.dims)) for t in onnx.load(str(path)).graph.initializer}
    assert sizes["embed.weight"] == (onnx.TensorProto.FLOAT, [500, 128])
    assert sizes["encoder.layers.0.out.weight/codes"] == (onnx.TensorProto.UINT8, [128, 2, 32])
    assert sizes["encoder.layers.1.mlp.up.weight/half"] == (onnx.TensorProto.FLOAT16, [128, 256])


def test_a_half_precision_graph_can_hold_quantized_matrices(tmp_path: Path) -> None:
    item, path = tower(CLIP, "text"), tmp_path / "tower.onnx"
    write(
        item,
        "fp16",
        NO_LANGUAGE,
        [],
        path,
        TargetOptions(keep=(("mlp", "int8"), ("project", "int4"), ("embed", "int8"))),
    )
    given = inputs(item, 2)
    assert cosines(run(path, given)[0], reference(item, given)[0]).min() > 0.995
    assert operators(path)["MatMulInteger"] == 4


def test_an_unsupported_quantization_or_group_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    item = tower(CLIP, "image")
    with pytest.raises(ExportError, match="128 columns must be a multiple of group size 96"):
        write(
            item,
            "int4",
            NO_LANGUAGE,
            [],
            tmp_path / "a.onnx",
            TargetOptions(group=96, keep=(("encoder", "int8"), ("project", "int4"))),
        )
    with pytest.raises(ExportError, match="no quantization 'int3'"):
        write(item, "int3", NO_LANGUAGE, [], tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())


def test_weights_too_large_for_one_file_are_written_beside_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gamer.export.onnx.graph.MAX_EMBEDDED_BYTES", 1000)
    item, path = tower(CLIP, "image"), tmp_path / "tower.onnx"
    write(item, "int8", NO_LANGUAGE, [], path)
    assert sorted(p.name for p in path.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert (path / "model.onnx").stat().st_size < 0.2 * (path / "model.onnx.data").stat().st_size
    given = inputs(item, 1)
    assert cosines(run(path, given)[0], reference(item, given)[0]).min() > 0.998


def test_nodes_that_are_no_attention_are_not_fused(tmp_path: Path) -> None:
    class Softmaxes(nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.softmax(x @ x.transpose(-1, -2) * 0.5, dim=-1) @ x

    torch.onnx.export(
        Softmaxes(), (torch.randn(1, 2, 3, 4),), str(tmp_path / "m.onnx"), dynamo=False, opset_version=20
    )
    model = onnx.load(str(tmp_path / "m.onnx"))
    before = [n.op_type for n in model.graph.node]
    assert fuse_attention(model) == 0
    assert [n.op_type for n in model.graph.node] == before


# Sizes of photos: wide, tall, square, smaller than the tower, a line.
SIZES = ((90, 150), (150, 90), (48, 48), (20, 31), (1, 1), (3, 300))


@pytest.mark.parametrize("config", [CLIP, SIGLIP], ids=["crop", "squash"])
@pytest.mark.parametrize("quant", ["fp32", "fp16", "int8"])
def test_a_tower_takes_bytes_of_any_size(config: dict[str, Any], quant: str, tmp_path: Path) -> None:
    item, spec, path = tower(config, "image"), preprocessing(config), tmp_path / "tower.onnx"
    inputs, outputs = write(item, quant, NO_LANGUAGE, [], path, TargetOptions(resize=spec))
    assert [(t.name, t.shape, t.dtype) for t in inputs] == [("image", ("height", "width", 3), "uint8")]
    assert [t.shape[0] for t in outputs] == [1, 1]
    y, x = np.mgrid[:150, :300]
    scene = np.stack([128 + 90 * np.sin(x / 9), 128 + 90 * np.cos(y / 7), (x + y) % 256], axis=-1).astype(
        np.uint8
    )
    for height, width in SIZES:
        photo = np.ascontiguousarray(scene[:height, :width])
        got = run(path, {"image": photo})
        want = reference(item, {"pixels": prepare(photo, spec)})
        # A line of 100:1 is cropped to its middle first, which shifts its few pixels.
        least = 0.95 if width / height > 16 else LIMITS[quant][0] - 2e-4
        assert [g.shape for g in got] == [w.shape for w in want]
        assert cosines(got[0], want[0]).min() >= least, (height, width)


def test_photographs_are_prepared_in_the_graph_as_by_pillow(tmp_path: Path) -> None:
    class Bare(nn.Module):  # type: ignore[misc]
        def forward(self, pixels: Any) -> Any:
            return pixels * 1.0

    spec = preprocessing({"model_type": "clip"})
    shape: tuple[int | str, ...] = ("batch", 224, 224, 3)
    item = replace(tower(CLIP, "image"), module=Bare(), example=(torch.zeros(1, 224, 224, 3),))
    item = replace(
        item,
        inputs=(TensorSpec("pixels", shape, "float32"),),
        outputs=(TensorSpec("prepared", shape, "float32"),),
    )
    write(item, "fp32", NO_LANGUAGE, [], tmp_path / "m.onnx", TargetOptions(resize=spec))
    session = ort.InferenceSession(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])
    for package, (_, names) in PHOTOS.items():
        for name in names[:6]:
            photo = load_pixels(photo_path(package, name))
            off = np.abs(session.run(None, {"image": photo})[0] - prepare(photo, spec))
            assert off.mean() < 0.02, (name, off.mean(), off.max())
            assert off.max() <= 12, (name, off.mean(), off.max())


def test_an_extreme_panorama_gives_finite_vectors_and_a_cut_fit_is_refused(tmp_path: Path) -> None:
    item = tower(CLIP, "image")
    write(item, "fp32", NO_LANGUAGE, [], tmp_path / "m.onnx", TargetOptions(resize=preprocessing(CLIP)))
    embedding, _ = run(tmp_path / "m.onnx", {"image": np.zeros((2, 60_000, 3), np.uint8)})
    assert np.isfinite(embedding).all()
    with pytest.raises(ExportError, match="fitted by 'cut'"):
        write(
            item,
            "fp32",
            NO_LANGUAGE,
            [],
            tmp_path / "n.onnx",
            TargetOptions(resize=Preprocessing(64, 48, "bicubic", 0.0, 1.0)),
        )
