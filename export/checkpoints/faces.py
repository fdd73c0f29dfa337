"""Fills the face networks from dlib's files, which come in a package, and makes the landmarks' arrays.

`source`: None for the package's files, a folder with files of the same names, or "random" or "random:SEED".
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from gamer.runtime.models.faces import WINDOW
from gamer.runtime.models.landmarks import Forest

from ..errors import ExportError
from ..networks.faces import MEANS, FaceDetector, FaceEncoder
from . import catalogue
from .checkpoint import random_seed
from .dlib_file import Layer, Network, read_forest, read_network

FACES = catalogue.MODELS["dlib-faces"]
FILES = {
    "face_detector": "mmod_human_face_detector.dat",
    "face_encoder": "dlib_face_recognition_resnet_model_v1.dat",
    "landmarks": "shape_predictor_5_face_landmarks.dat",
}
Model = TypeVar("Model", bound=nn.Module)
LANDMARKS = 5  # the outer and inner corners of both eyes, and below the nose


def detector(source: str | None = None) -> FaceDetector:
    """The detector in eval mode. Raises ExportError for a file that is missing, damaged or does not fit."""
    model = _made(FaceDetector, source)
    if not _random(source):
        path = _path(source, "face_detector")
        network = read_network(path)
        if network.windows != ((WINDOW, WINDOW),):
            raise ExportError(f"{path.name}: windows {network.windows}, the architecture has one of {WINDOW}")
        _fill(list(model.convolutions), network, path)
    return model


def encoder(source: str | None = None) -> FaceEncoder:
    """The encoder in eval mode. Raises ExportError as `detector` does."""
    model = _made(FaceEncoder, source)
    if not _random(source):
        path = _path(source, "face_encoder")
        halves = [part for block in model.blocks for part in block.children()]
        _fill([model.stem, *halves, model.project], read_network(path), path)
    return model


def landmarks(source: str | None = None) -> Forest:
    """The forest that finds LANDMARKS in the box of a face. Raises ExportError as `detector` does."""
    if _random(source):
        return _random_forest(random_seed(str(source)))
    path = _path(source, "landmarks")
    forest = read_forest(path)
    if len(forest.shape) != LANDMARKS:
        raise ExportError(f"{path.name}: must have {LANDMARKS} landmarks, not {len(forest.shape)}")
    return forest


def _random(source: str | None) -> bool:
    return source is not None and catalogue.is_random(source)


def _path(source: str | None, what: str) -> Path:
    folder = catalogue.package_dir(FACES) / "models" if source is None else Path(source)
    path = folder / FILES[what]
    if not path.is_file():
        raise ExportError(f"{path}: no such file; give a folder with {', '.join(FILES.values())}")
    return path


def _made(kind: type[Model], source: str | None) -> Model:
    """A model with torch's initial weights: the same in every process that asks for a seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(random_seed(str(source)) if _random(source) else 0)
        model: Model = kind()
        model.eval()
        return model


def _fill(parts: list[nn.Module], network: Network, path: Path) -> None:
    """Fills convolutions and the matrix at the end, in the order of the file."""
    if not np.allclose(network.means, MEANS, atol=1e-3):
        raise ExportError(f"{path.name}: means {network.means}, the architecture has {MEANS}")
    layers = network.layers
    weights = [
        _folded(layer, layers[n + 1 : n + 2])
        for n, layer in enumerate(layers)
        if layer.sizes and layer.kind in ("con", "fc")
    ]
    if len(weights) != len(parts):
        raise ExportError(
            f"{path.name}: {len(weights)} layers with weights, the architecture has {len(parts)}"
        )
    for n, (part, tensors) in enumerate(zip(parts, weights, strict=True)):
        wanted = part.state_dict()
        if [t.numel() for t in tensors] != [t.numel() for t in wanted.values()]:
            raise ExportError(
                f"{path.name}: layer {n} with weights is of another shape than the architecture's"
            )
        part.load_state_dict({k: t.reshape(wanted[k].shape) for k, t in zip(wanted, tensors, strict=True)})


def _folded(layer: Layer, following: tuple[Layer, ...]) -> list[Tensor]:
    """Weights and offsets of a convolution, times the scales that follow; the matrix of an fc, transposed."""
    params = torch.from_numpy(layer.params)
    if layer.kind == "fc":
        outputs, inputs = layer.sizes
        # A shape that does not fit stays as it is, and is refused by its number of elements.
        return [params.reshape(inputs, outputs).T if params.numel() == inputs * outputs else params]
    filters = layer.sizes[0]
    weights, offsets = params[:-filters].reshape(filters, -1), params[-filters:]
    if following and following[0].kind == "affine" and following[0].params.size == 2 * filters:
        scales, shifts = torch.from_numpy(following[0].params).split(filters)
        weights, offsets = weights * scales[:, None], offsets * scales + shifts
    return [weights, offsets]


def _random_forest(seed: int) -> Forest:
    """A small forest that moves the landmarks a little, for bundles without weights."""
    rng = np.random.default_rng(seed)
    cascades, trees, pixels = 2, 3, 8
    shape = np.array([[0.78, 0.35], [0.62, 0.35], [0.23, 0.35], [0.38, 0.35], [0.5, 0.66]], np.float32)
    return Forest(
        shape,
        rng.integers(0, LANDMARKS, (cascades, pixels)).astype(np.uint8),
        rng.normal(0, 0.1, (cascades, pixels, 2)).astype(np.float32),
        rng.integers(0, pixels, (cascades, trees, 3, 2)).astype(np.uint16),
        rng.normal(0, 10, (cascades, trees, 3)).astype(np.float32),
        rng.normal(0, 0.002, (cascades, trees, 4, LANDMARKS, 2)).astype(np.float32),
    )
