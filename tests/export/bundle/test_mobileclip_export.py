"""MobileCLIP through the whole exporter: a published directory as it is; shallow towers for every target, in
more quantizations.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
import torch

from gamer.export.bundle import write
from gamer.export.checkpoints import catalogue
from gamer.export.components.export_module import ExportModule
from gamer.export.executorch import to_executorch
from gamer.export.networks.fastvit import ConvMlp
from gamer.export.settings import Settings
from gamer.runtime.bundle.manifest import TensorSpec
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export

pytestmark = pytest.mark.slow
SHALLOW: dict[str, Any] = {
    "model_type": "mobileclip",
    "projection_dim": 32,
    "vision_config": {
        "image_size": 64,
        "depths": [1, 1, 1, 1],
        "hidden_sizes": [16, 32, 64, 64],
        "mlp_ratio": 3,
    },
    "text_config": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "vocab_size": 258,
        "max_position_embeddings": 40,
        "eos_token_id": 257,
        "pad_token_id": 0,
        "mixers": True,
    },
}


def test_a_published_mobileclip_directory_exports_and_matches_its_golden_vectors(
    mobileclip_reference: Path, tmp_path: Path, export: Export
) -> None:
    source = tmp_path / "MobileCLIP-OpenCLIP"
    shutil.copytree(mobileclip_reference / "branched", source)
    # Smaller photos, because convolutions take any size, and a vocabulary as small as the text tower here.
    (source / "tokenizer.json").write_text(tiny.tokenizer("<begin>", "<end>"), encoding="utf-8")
    config = source / "open_clip_config.json"
    config.write_text(config.read_text().replace('"image_size": 256', '"image_size": 128'))
    sources = ("image", str(source)), ("text", str(source))
    manifest = export(Settings("mobileclip", "int8", sources), tmp_path / "out")
    assert {a.quant for a in manifest.artifacts} == {"int8"}
    assert all(c.trained for c in manifest.components)
    spec = manifest.preprocessing
    assert spec is not None
    assert (spec.resize, spec.crop, spec.interpolation, spec.channel_std) == (
        128,
        128,
        "bilinear",
        (255.0,) * 3,
    )
    models = Models.open(tmp_path / "out")
    golden = np.load(tmp_path / "out" / "fixtures" / "image_tower.want.npy")
    pixels = np.load(tmp_path / "out" / "fixtures" / "image_tower.pixels.npy").astype(np.float32)
    close = (
        golden
        @ np.concatenate(
            [models.session("image_tower").run({"pixels": x[None]})["embedding"] for x in pixels]
        ).T
    )
    # Each photo's vector is nearest to its own golden vector.
    assert (close.argmax(1) == np.arange(len(golden))).all()
    assert close.diagonal().min() > 0.98


@pytest.mark.parametrize(
    ("quant", "target"), [("fp16", "onnx"), ("int4", "onnx"), ("int4", "coreml"), ("fp32", "executorch")]
)
def test_shallow_towers_export_for_each_target_in_its_quantization(
    quant: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "config", lambda name: json.loads(json.dumps(SHALLOW)))
    settings = Settings("mobileclip-s0", quant, (("image", "random:1"), ("text", "random:1")))
    (tmp_path / "records").mkdir()
    artifacts = [write.run_task(task).artifact for task in write.tasks(settings, (target,), str(tmp_path))]
    assert {a.role: a.quant for a in artifacts} == dict.fromkeys(
        ("image_tower", "text_tower"), "int8" if quant == "int4" else quant
    )
    assert all(a.parity.status == "passed" and a.parity.minimum is not None for a in artifacts)


def test_convolutions_of_single_channels_stay_in_floats_on_executorch() -> None:
    torch.manual_seed(0)
    spec, x = (TensorSpec("x", (1, 8, 6, 6), "float32"),), torch.randn(1, 8, 6, 6)
    item = ExportModule("image_tower", ConvMlp(8, 2).eval(), (x,), spec, spec, {}, "", "", False, "image")
    graph = to_executorch._static_int8(item, [(x.numpy(),)]).graph
    # For each convolution: whether it works on single channels, and whether its input was quantized.
    kinds = [
        (bool(n.args[6:] and n.args[6] > 1), "dequantize" in str(n.args[0].target))
        for n in graph.nodes
        if "conv2d" in str(n.target)
    ]
    assert kinds == [(True, False), (False, True), (False, True)]
