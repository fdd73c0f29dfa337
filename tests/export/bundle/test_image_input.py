"""`--image-input any` and `--keep` through the whole exporter: a tower that takes bytes is compared on
photographs and gives the vector of one that takes prepared pixels.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
onnx = pytest.importorskip("onnx")
from gamer.export.settings import Settings
from gamer.runtime.models.models import Models
from tests.export import tiny
from tests.export.conftest import Export

pytestmark = pytest.mark.slow


def test_a_tower_on_bytes_gives_the_vector_of_a_tower_on_prepared_pixels(
    tmp_path: Path, export: Export
) -> None:
    source = str(tiny.TINY["clip"](tmp_path / "clip"))
    asked = {
        form: Settings("towers", "fp32", (("image", source), ("text", source)), image_input=form)
        for form in ("any", "prepared")
    }
    asked["mixed"] = Settings(
        "towers", "int8", (("image", source), ("text", source)), keep=(("mlp", "fp32"),)
    )
    photo = np.kron(np.random.default_rng(0).integers(0, 255, (8, 11, 3)), np.ones((12, 12, 1))).astype(
        np.uint8
    )
    seen = {}
    for form, settings in asked.items():
        manifest = export(settings, tmp_path / form)
        tower = manifest.artifact("image_tower", "onnx")
        assert tower.inputs[0].dtype == ("uint8" if form == "any" else "float32")
        assert tower.parity.status == "passed"
        seen[form] = Models.open(tmp_path / form).encode_image(photo)
    assert seen["any"].embedding @ seen["prepared"].embedding > 0.9995
    assert seen["any"].patches.shape == seen["prepared"].patches.shape
    mixed = {
        t.name for t in onnx.load(str(tmp_path / "mixed" / "onnx" / "image_tower.onnx")).graph.initializer
    }
    assert {"encoder.layers.0.mlp.up.weight", "encoder.layers.0.qkv.weight/codes"} <= mixed
