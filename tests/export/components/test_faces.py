"""The part faces: exported only if it is asked for, in floats; here with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gamer.export.bundle.beside import together
from gamer.export.components import components, faces
from gamer.export.components.export_module import ExportModule
from gamer.export.recipe import FACE_ROLES
from gamer.export.settings import Settings, parse_parts
from gamer.runtime.models import landmarks

ASKED = Settings("pocket", parts=("faces",), sources=(("faces", "random:1"),))


def item(role: str) -> ExportModule:
    return components.build(ASKED, role, "fp32")


def test_faces_are_a_part_that_must_be_asked_for() -> None:
    assert "faces" not in Settings("pocket").chosen.parts()
    assert ASKED.chosen.parts() == ("faces",)
    assert components.roles(ASKED) == FACE_ROLES
    assert parse_parts("faces,text") == ("text", "faces")


def test_they_are_added_to_the_parts_that_a_bundle_has() -> None:
    usual = ("image", "text", "dpe", "llm")
    assert together("pocket", ("faces",), ()) == (*usual, "faces")
    assert together("pocket", (), ("faces",)) == (*usual, "faces")
    assert together("pocket", ("faces",), ("text",)) == ("text", "faces")
    assert together("pocket", ("text",), ()) == ()


def test_no_quantization_touches_them() -> None:
    for quant in ("int8", "int4", "pal4"):
        settings = Settings("pocket", quant=quant, parts=("faces",))
        assert {settings.quant_of(role, "onnx") for role in FACE_ROLES} == {"fp32"}


def test_their_shapes_are_those_that_the_runtime_gives() -> None:
    for role in FACE_ROLES:
        made = item(role)
        assert not made.trained
        side = made.example[0].shape[1]
        pictures = faces.pictures(role, (np.zeros((30, 50, 3), np.uint8),))
        assert pictures.shape == (1, side, side, 3)
    (scores,) = components.reference(item("face_detector").module, (np.zeros((1, 80, 120, 3), np.float32),))
    assert scores.shape == (1, 10, 15)  # a window every eight pixels
    (vectors,) = components.reference(item("face_encoder").module, (np.zeros((2, 150, 150, 3), np.float32),))
    assert vectors.shape == (2, 128)


def test_the_landmarks_are_written_as_arrays(tmp_path: Path) -> None:
    assert faces.write_landmarks("random:1", tmp_path) == list(landmarks.FILES)
    assert len(landmarks.load(tmp_path).shape) == 5
