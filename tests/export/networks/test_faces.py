"""The face networks and the landmarks beside dlib, whose files they are read from (package dlib-bin)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from gamer.export.checkpoints import catalogue, faces
from gamer.export.components.components import reference
from gamer.export.components.photographs import photo_path
from gamer.index import load_pixels
from gamer.runtime.backends import Session
from gamer.runtime.models.faces import FaceReader, chip

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder() -> Path:
    if importlib.util.find_spec(faces.FACES.module) is None:
        pytest.skip("no weights of the face networks: run `make weights-faces`")
    return catalogue.package_dir(faces.FACES) / "models"


@pytest.fixture(scope="module")
def astronaut() -> NDArray[np.uint8]:
    return load_pixels(photo_path("skimage", "astronaut.png"))


class _Torch(Session):
    def __init__(self, module: Any, shape: tuple[int | str, ...]) -> None:
        tensor = SimpleNamespace(name="pixels", shape=shape)
        self.artifact = cast(Any, SimpleNamespace(inputs=(tensor,), outputs=(SimpleNamespace(name="out"),)))
        self._module = module

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        return {"out": reference(self._module, (inputs["pixels"],))[0]}


def test_a_face_has_the_vector_that_dlib_gives_it(folder: Path, astronaut: NDArray[np.uint8]) -> None:
    dlib = pytest.importorskip("dlib", reason="dlib is not installed: pip install dlib-bin")
    detector = dlib.cnn_face_detection_model_v1(str(folder / faces.FILES["face_detector"]))
    predictor = dlib.shape_predictor(str(folder / faces.FILES["landmarks"]))
    recogniser = dlib.face_recognition_model_v1(str(folder / faces.FILES["face_encoder"]))
    seen = detector(astronaut, 0)[0]
    shape = predictor(astronaut, seen.rect)
    upright = dlib.get_face_chip(astronaut, shape, 150, 0.25)

    # the network alone, on dlib's own picture of the face
    vector = reference(faces.encoder(), (upright[None].astype(np.float32),))[0][0]
    assert np.allclose(vector, recogniser.compute_face_descriptor(upright), atol=1e-5)
    # the landmarks, of which dlib rounds the positions
    forest, box = faces.landmarks(), seen.rect
    points = np.array([(point.x, point.y) for point in shape.parts()])
    found = forest.find(
        astronaut.mean(2).astype(np.uint8), (box.left(), box.top(), box.width() - 1, box.height() - 1)
    )
    assert np.abs(found - points).max() < 1
    assert np.abs(chip(astronaut, points.astype(np.float32)).astype(int) - upright).mean() < 5
    # everything, from the photo: another pyramid, other filters; a person's own photos are 0.4 apart
    reader = FaceReader(
        _Torch(faces.detector(), (1, "height", "width", 3)),
        _Torch(faces.encoder(), ("batch", 150, 150, 3)),
        forest,
    )
    (face,) = reader.read(astronaut)
    assert face.quality == pytest.approx(seen.confidence, abs=0.1)
    assert np.linalg.norm(face.vector - recogniser.compute_face_descriptor(astronaut, shape)) < 0.15
